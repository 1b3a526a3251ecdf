# A throw-away cluster, on a socket of its own, that preloads the extension and the benchmark's
# module.
package Bench::Server;

use strict;
use warnings;
use Bench::Session;
use File::Path 'rmtree';
use List::Util qw(max sum0);
use Time::HiRes 'sleep';

# Both sides of each comparison get the same, of course. Nothing but the work itself shall take
# time: no checkpoint in a run (the benchmark makes them between runs), no vacuum, no waiting for
# the disk. Without fsync, writing less WAL gains less: if anything, that favours bigserial.
our %settings = (
    shared_buffers => '1GB',
    max_wal_size => '16GB',
    min_wal_size => '2GB', # files of WAL are used again, rather than made anew
    checkpoint_timeout => '1d',
    autovacuum => 'off',
    fsync => 'off',
);

# Makes a cluster with these settings and starts it. `bindir` has PostgreSQL's programs; `dir` gets
# the cluster (data), its socket and its log.
sub start
{
    my ($class, $bindir, $dir, %settings) = @_;
    my $self = bless {bindir => $bindir, dir => $dir, data => "$dir/data"}, $class;
    rmtree($self->{data});
    $self->program('initdb', qw(--no-sync -A trust -U bench --no-locale -E UTF8 -D), $self->{data});
    $self->configure(
        listen_addresses => '',
        unix_socket_directories => $dir,
        shared_preload_libraries => 'snowflake, snowflake_bench',
        %settings);
    $self->program('pg_ctl', qw(-s -w -D), $self->{data}, '-l', "$dir/server.log", 'start');
    my $session = $self->session;
    $session->ask("CREATE EXTENSION $_") for qw(snowflake snowflake_bench);
    $session->quit;
    return $self;
}

sub configure
{
    my ($self, %settings) = @_;
    open my $conf, '>>', "$self->{data}/postgresql.conf" or die "postgresql.conf: $!\n";
    print {$conf} "$_ = '$settings{$_}'\n" for sort keys %settings;
    close $conf or die "postgresql.conf: $!\n";
    return;
}

sub stop
{
    my ($self) = @_;
    $self->program('pg_ctl', qw(-s -w -m fast -D), $self->{data}, 'stop');
    rmtree($self->{data});
    return;
}

# Runs one of PostgreSQL's programs; its output goes to the log.
sub program
{
    my ($self, $name, @arguments) = @_;
    my $log = "$self->{dir}/server.log";
    my $pid = fork // die "fork: $!\n";
    if ($pid == 0) {
        open STDOUT, '>>', $log or die "$log: $!\n";
        open STDERR, '>&', \*STDOUT or die "$log: $!\n";
        exec "$self->{bindir}/$name", @arguments or die "$name: $!\n";
    }
    waitpid $pid, 0;
    return if $? == 0;
    system "tail -n 20 '$log' >&2";
    die "$name failed\n";
}

sub session
{
    my ($self) = @_;
    return Bench::Session->new("$self->{bindir}/psql", '-h', $self->{dir}, qw(-U bench postgres));
}

# The process ids of the postmaster's children, by their names as ps shows them. (A background
# worker without a database connection is not in pg_stat_activity.)
sub processes
{
    my ($self) = @_;
    my ($postmaster) = first_line("$self->{data}/postmaster.pid");
    my %pid_of;
    for my $pid (map { m{/(\d+)$} } glob '/proc/[0-9]*') {
        # The parent is the second field after the name, which is in parentheses.
        next unless (first_line("/proc/$pid/stat") // '') =~ /.*\) \S (\d+)/ && $1 == $postmaster;
        my ($name) = (first_line("/proc/$pid/cmdline") // '') =~ /^postgres: (.*?)[\s\0]*$/;
        $pid_of{$name} = $pid if defined $name;
    }
    return %pid_of;
}

# Undefined if the file is not there (any more).
sub first_line
{
    my ($path) = @_;
    open my $file, '<', $path or return undef;
    my $line = <$file>;
    return $line;
}

# Lets `backends` new sessions do the same statement at the same time. Each does `warm_up` first;
# then all wait at a barrier, an advisory lock that the controller holds. Answers a hash: the
# seconds from the barrier's opening to the last session's end, the CPU seconds of all sessions
# together, and how many cores that keeps busy. If `expected` is defined, each session's answer must
# be that.
sub race
{
    my ($self, $backends, $warm_up, $statement, $expected) = @_;
    my $clock = 'extract(epoch FROM clock_timestamp()), bench_cpu_time()';
    my $controller = $self->session;
    $controller->ask('SELECT pg_advisory_lock(1)');
    my @sessions = map { $self->session } 1 .. $backends;
    for my $session (@sessions) {
        $session->ask($_) for $warm_up, "SELECT $clock";
        $session->submit('SELECT pg_advisory_lock_shared(1)');
    }
    wait_for_waiters($controller, $backends);
    for my $session (@sessions) {
        $session->submit($_) for "SELECT $clock", $statement, "SELECT $clock";
    }
    my ($start) = split ' ', $controller->ask("SELECT $clock, pg_advisory_unlock(1)");
    my @results = map { result($_, $expected) } @sessions;
    $_->quit for @sessions, $controller;
    my $seconds = max(map { $_->{end} } @results) - $start;
    my $cpu = sum0(map { $_->{cpu} } @results);
    return (seconds => $seconds, cpu => $cpu, cores => $cpu / $seconds);
}

# What a racing session answered: when it ended, and the CPU time that it used.
sub result
{
    my ($session, $expected) = @_;
    $session->receive; # the barrier
    my (undef, $cpu_before) = split ' ', ($session->receive)[0];
    my ($answer) = $session->receive;
    die "expected the answer $expected, got $answer\n"
        if defined $expected && $answer ne $expected;
    my ($end, $cpu_after) = split ' ', ($session->receive)[0];
    return {end => $end, cpu => $cpu_after - $cpu_before};
}

sub wait_for_waiters
{
    my ($controller, $count) = @_;
    my $waiters = q(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted);
    sleep 0.01 while $controller->ask($waiters) < $count;
    return;
}

1;
