# Tables in Markdown, and numbers as a reader wants them.
package Bench::Report;

use strict;
use warnings;
use Exporter 'import';

our @EXPORT_OK = qw(bar decimal percent table thousands);

# The first column is text, the others are numbers.
sub table
{
    my ($titles, @rows) = @_;
    print '| ', join(' | ', @$titles), " |\n";
    print '|', join('|', ' --- ', (' ---: ') x $#$titles), "|\n";
    print '| ', join(' | ', @$_), " |\n" for @rows;
    print "\n";
    return;
}

# A bar and whether it was met: the last two fields of a table's row.
sub bar
{
    my ($passed, $text) = @_;
    return ($text, $passed ? '**PASS**' : '**FAIL**');
}

sub thousands
{
    my $text = sprintf '%.0f', shift;
    1 while $text =~ s/^(\d+)(\d{3})/$1,$2/;
    return $text;
}

sub percent { return sprintf '%.1f %%', 100 * shift; }
sub decimal { return sprintf '%.3f', shift; }

1;
