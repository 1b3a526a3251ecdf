# A connection: one psql that stays, so that a statement can be given now and its answer read later.
package Bench::Session;

use strict;
use warnings;
use IPC::Open2;

# What psql prints after an answer; no query answers with it.
my $end = '-- end of answer --';

sub new
{
    my ($class, @psql) = @_;
    my $pid = open2(my $from, my $to, @psql, qw(-X -q -A -t -v ON_ERROR_STOP=1 -F), ' ');
    my $self = bless {pid => $pid, from => $from, to => $to}, $class;
    # Compiling a query at run time costs each new session 20 ms once, for loading LLVM. That is not
    # what is measured here, and too much beside a second.
    $self->ask('SET jit = off');
    # All numbers are per backend; a parallel plan would put several behind one.
    $self->ask('SET max_parallel_workers_per_gather = 0');
    return $self;
}

# Gives a statement to psql, which runs it once it is done with those before.
sub submit
{
    my ($self, $sql) = @_;
    print {$self->{to}} "$sql;\n\\echo $end\n";
    $self->{to}->flush;
    return;
}

# The lines of the answer to the oldest statement submitted and not yet received.
sub receive
{
    my ($self) = @_;
    my $from = $self->{from};
    my @lines;
    while (defined(my $line = <$from>)) {
        chomp $line;
        return @lines if $line eq $end;
        push @lines, $line if $line ne '';
    }
    die "a session has ended; see above for its error\n";
}

# Submits a statement and waits for its answer: all lines, or the last one.
sub ask
{
    my ($self, $sql) = @_;
    $self->submit($sql);
    my @lines = $self->receive;
    return wantarray ? @lines : $lines[-1];
}

# Ends the session, and waits until its psql has ended.
sub quit
{
    my ($self) = @_;
    close $self->{to};
    close $self->{from};
    waitpid $self->{pid}, 0;
    return;
}

1;
