# Interleaved rounds, and what is made of their samples.
package Bench::Rounds;

use strict;
use warnings;
use Exporter 'import';
use List::Util qw(max min);

our @EXPORT_OK = qw(interleave median median_of ratio spread);

# Runs each contestant once per round, in an order that rotates, so that whatever changes on the
# machine meanwhile meets all of them. The first round warms up and does not count. A contestant is
# a hash with a `run`, which answers a hash of numbers; the lists of its `samples` get them.
sub interleave
{
    my ($name, $rounds, @contestants) = @_;
    for my $round (0 .. $rounds) {
        print STDERR "$name: ", $round == 0 ? 'warming up' : "round $round of $rounds", "\n";
        for my $turn (0 .. $#contestants) {
            my $contestant = $contestants[($round + $turn) % @contestants];
            my %numbers = $contestant->{run}->();
            next if $round == 0;
            push @{$contestant->{samples}{$_}}, $numbers{$_} for keys %numbers;
        }
    }
    return;
}

sub median
{
    my @sorted = sort { $a <=> $b } @_;
    my $middle = int(@sorted / 2);
    return $sorted[$middle] if @sorted % 2;
    return ($sorted[$middle - 1] + $sorted[$middle]) / 2;
}

sub median_of
{
    my ($contestant, $number) = @_;
    return median(@{$contestant->{samples}{$number}});
}

# The smallest and the largest sample, as parts of the median: how noisy it was.
sub spread
{
    my ($contestant, $number) = @_;
    my $samples = $contestant->{samples}{$number};
    my $median = median(@$samples) || 1;
    return sprintf '%.2f – %.2f', min(@$samples) / $median, max(@$samples) / $median;
}

# One contestant's number by another's: the ratio of their medians, and the median of their ratios
# in each round.
sub ratio
{
    my ($this, $that, $number) = @_;
    my ($these, $those) = map { $_->{samples}{$number} } $this, $that;
    return (median(@$these) / median(@$those),
        median(map { $these->[$_] / $those->[$_] } 0 .. $#$these));
}

1;
