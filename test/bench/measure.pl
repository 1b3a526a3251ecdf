# The benchmarks, and the report on standard output. Called by `run`, which has built all:
#
#   measure.pl BINDIR DIR ROUNDS [BENCHMARK…]
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/perl";
use Bench::Report qw(bar decimal percent table thousands);
use Bench::Rounds qw(interleave median_of ratio spread);
use Bench::Server;
use Bench::Within qw(conditions fill_by_time plan_and_run);

use constant {
    ids => 4_000_000,
    many_ids => 16_000_000, # where they come fast: nearly a second of them
    few_ids => 2_000_000,   # where they come slowly
    most_ids_per_second => 4_096_000, # of one machine id
    rows => 1_000_000,
    many_rows => 10_000_000,
    short_queries => 300, # a round
    idle_seconds => 60,
};

my @some_backends = (1, 2, 8);
my ($bindir, $dir, $rounds, @names) = @ARGV;

my @benchmarks = (
    ['tick-limit', \&tick_limit],
    ['block', \&block],
    ['insert', \&insert],
    ['cpu', \&cpu],
    ['within', \&within],
    ['idle', \&idle],
);

sub start_server
{
    my (%settings) = @_;
    return Bench::Server->start($bindir, $dir, %Bench::Server::settings, %settings);
}

# --- Contestants ------------------------------------------------------------------------------

# Calls an expression `total` times, shared out among `backends`.
sub caller_of
{
    my ($server, $expression, $backends, $total) = @_;
    my $each = int($total / $backends);
    # A set in the select list streams; in the FROM clause it would be stored first, which takes
    # longer than what is measured here.
    my $calls = "SELECT count($expression) FROM (SELECT generate_series(1, $each)) s";
    my $run = sub {
        my %numbers = $server->race($backends, "SELECT $expression", $calls, $each);
        return (%numbers, rate => $each * $backends / $numbers{seconds});
    };
    return {name => $expression, backends => $backends, run => $run};
}

# Inserts `rows` rows into a new table, shared out among `backends`.
sub inserter
{
    my ($server, $name, $id_column, $backends) = @_;
    my $each = int(rows / $backends);
    my $payload = 'as much text as a short line may have it';
    my $warm_up = "INSERT INTO bench_table (payload) SELECT '$payload'";
    my $insert = "$warm_up FROM (SELECT generate_series(1, $each)) s";
    my $run = sub {
        my $session = $server->session;
        $session->ask("CREATE TABLE bench_table (id $id_column, payload text)");
        $session->ask('CHECKPOINT'); # so that all write equally many full-page images
        my $lsn = $session->ask('SELECT pg_current_wal_insert_lsn()');
        my %numbers = $server->race($backends, $warm_up, $insert);
        my $wal = $session->ask("SELECT pg_current_wal_insert_lsn() - '$lsn'");
        my $count = $session->ask('SELECT count(*) FROM bench_table');
        my $index = $session->ask(q(SELECT pg_relation_size('bench_table_pkey')));
        $session->ask('DROP TABLE bench_table');
        $session->quit;
        die "the table has $count rows\n" if $count != ($each + 1) * $backends;
        return (%numbers, rate => $each * $backends / $numbers{seconds},
            wal => $wal / $count, index => $index / $count);
    };
    return {name => $name, backends => $backends, run => $run};
}

# --- Benchmarks -------------------------------------------------------------------------------

sub tick_limit
{
    my $server = start_server('snowflake.machine_id' => 1);
    my @contestants = map { caller_of($server, 'snowflake_next()', $_, ids) } @some_backends;
    interleave('tick-limit', $rounds, @contestants);
    $server->stop;

    print "## Tick limit: one machine id\n\n";
    printf "%s calls of `snowflake_next()` in total; the layout's limit is %s ids/s.\n\n",
        thousands(ids), thousands(most_ids_per_second);
    table(['backends', 'ids/s', 'min – max', 'of the limit', 'bar', ''],
        map {
            my $part = median_of($_, 'rate') / most_ids_per_second;
            [$_->{backends}, thousands(median_of($_, 'rate')), spread($_, 'rate'),
                percent($part), bar($part >= 0.99, '≥ 99 %')]
        } @contestants);
    return;
}

sub block
{
    my $server = start_server('snowflake.machine_id' => '16-31');
    print "## Block: 16 machine ids, far from their limit\n\n";
    block_time($server);
    block_rate($server);
    $server->stop;
    return;
}

sub block_time
{
    my ($server) = @_;
    my ($clock, $next) =
        map { caller_of($server, $_, 1, ids) } 'clock_timestamp()', 'snowflake_next()';
    my $more_rounds = 5 * $rounds; # these are short, and close to each other
    interleave('block, time', $more_rounds, $clock, $next);
    my ($ratio, $per_round) = ratio($next, $clock, 'seconds');

    printf "Time of %s calls, one backend; %d rounds.\n\n", thousands(ids), $more_rounds;
    table(['', 'seconds', 'min – max', 'ratio', 'of each round', 'bar', ''],
        ['`clock_timestamp()`', decimal(median_of($clock, 'seconds')), spread($clock, 'seconds'),
            decimal(1), decimal(1), '', ''],
        ['`snowflake_next()`', decimal(median_of($next, 'seconds')), spread($next, 'seconds'),
            decimal($ratio), decimal($per_round), bar($ratio <= 1.2, '≤ 1.2')]);
    return;
}

sub block_rate
{
    my ($server) = @_;
    my $session = $server->session;
    $session->ask('CREATE SEQUENCE bench_sequence');
    $session->quit;

    my (@pairs, @others);
    for my $backends (@some_backends) {
        push @pairs, map { caller_of($server, $_, $backends, many_ids) }
            'bench_limit()', 'snowflake_next()';
        push @others, map { caller_of($server, $_, $backends, few_ids) }
            q(nextval('bench_sequence')), 'gen_random_uuid()';
    }
    my $more_rounds = 2 * $rounds;
    interleave('block, rate', $more_rounds, @pairs);
    interleave('block, others', $rounds, @others);

    printf "Rate of %s calls in total; `bench_limit()` is a clock read and an addition to a\n"
        . "shared counter, and nothing else; %d rounds. For information, of %s calls:\n"
        . "nextval without a cache, and `gen_random_uuid()`; %d rounds. \"Cores\" is how many the\n"
        . "backends kept busy.\n\n",
        thousands(many_ids), $more_rounds, thousands(few_ids), $rounds;
    table(['', 'backends', 'calls/s', 'min – max', 'cores', 'of the limit', 'of each round', 'bar',
            ''], map { rate_rows(splice(@pairs, 0, 2), splice(@others, 0, 2)) } @some_backends);
    return;
}

sub rate_rows
{
    my ($limit, $next, @others) = @_;
    my ($ratio, $per_round) = ratio($next, $limit, 'rate');
    my %compared = ($next => [percent($ratio), percent($per_round), bar($ratio >= 0.9, '≥ 90 %')]);
    return map {
        [
            "`$_->{name}`", $_->{backends}, thousands(median_of($_, 'rate')), spread($_, 'rate'),
            sprintf('%.2f', median_of($_, 'cores')), @{$compared{$_} // [('') x 4]}
        ]
    } $limit, $next, @others;
}

sub insert
{
    my $server = start_server('snowflake.machine_id' => 1);
    my @tables = (
        [bigserial => 'bigserial PRIMARY KEY'],
        [snowflake => 'bigint PRIMARY KEY DEFAULT snowflake_next()'],
        [uuid => 'uuid PRIMARY KEY DEFAULT gen_random_uuid()'],
    );
    my @alone = map { inserter($server, @$_, 1) } @tables;
    my @eight = map { inserter($server, @$_, 8) } @tables;
    interleave('insert', $rounds, @alone, @eight);
    $server->stop;

    printf "## Insert: %s rows\n\n", thousands(rows);
    print "Into a new, logged table `(id … PRIMARY KEY DEFAULT …, payload text)`, 40 characters\n"
        . "of text a row. The ratios are to bigserial.\n\n";
    insert_alone(@alone);
    insert_together(@eight);
    return;
}

sub insert_alone
{
    my ($serial, $snowflake) = @_;
    my ($time) = ratio($snowflake, $serial, 'seconds');
    my ($wal) = ratio($snowflake, $serial, 'wal');
    print "### One session\n\n";
    insert_table('seconds', 'seconds', \&decimal, [bar($time <= 0.95, '≤ 0.95')], @_);
    insert_table('cpu', 'CPU seconds', \&decimal, undef, @_);
    insert_table('wal', 'WAL bytes a row', \&tenths, [bar($wal < 1, '< 1')], @_);
    insert_table('index', 'index bytes a row', \&tenths, undef, @_);
    return;
}

sub insert_together
{
    my ($serial, $snowflake, $uuid) = @_;
    my ($rate) = ratio($snowflake, $serial, 'rate');
    print "### Eight sessions\n\n";
    insert_table('rate', 'rows/s', \&thousands, [bar($rate >= 1.05, '≥ 1.05')], @_);
    insert_table('index', 'index bytes a row', \&tenths, undef, @_);
    printf "snowflake to uuid: %s times the rows/s (of each round: %s).\n\n",
        map { decimal($_) } ratio($snowflake, $uuid, 'rate');
    return;
}

# A table of one number of each contestant, by the first one's; the bar is for the second one.
sub insert_table
{
    my ($number, $title, $format, $bar, $serial, $snowflake, $uuid) = @_;
    table(['', $title, 'min – max', 'ratio', 'of each round', 'bar', ''],
        map {
            [
                $_->{name}, $format->(median_of($_, $number)), spread($_, $number),
                (map { decimal($_) } ratio($_, $serial, $number)),
                @{$_ == $snowflake && $bar ? $bar : ['', '']}
            ]
        } $serial, $snowflake, $uuid);
    return;
}

sub tenths { return sprintf '%.1f', shift; }

sub cpu
{
    my $server = start_server('snowflake.machine_id' => 1);
    my @most = ([1, 0.35], [8, 0.55]);
    my @pairs;
    for my $backends (map { $_->[0] } @most) {
        push @pairs, map { caller_of($server, $_, $backends, ids) }
            'bench_spin_next()', 'snowflake_next()';
    }
    interleave('cpu', $rounds, @pairs);
    $server->stop;

    print "## CPU time at the tick limit\n\n";
    printf "User and system time of all backends for %s ids of one machine id.\n"
        . "`bench_spin_next()` is the same generator, but spins where the other sleeps.\n\n",
        thousands(ids);
    table(['', 'backends', 'ids/s', 'CPU seconds', 'min – max', 'ratio', 'of each round', 'bar',
            ''], map { cpu_rows(splice(@pairs, 0, 2), $_->[1]) } @most);
    return;
}

sub cpu_rows
{
    my ($spin, $next, $most) = @_;
    my ($ratio, $per_round) = ratio($next, $spin, 'cpu');
    my $bar = sprintf '≤ %.0f %%', 100 * $most;
    my %compared = (
        $spin => [percent(1), percent(1), '', ''],
        $next => [percent($ratio), percent($per_round), bar($ratio <= $most, $bar)]);
    return map {
        [
            "`$_->{name}`", $_->{backends}, thousands(median_of($_, 'rate')),
            decimal(median_of($_, 'cpu')), spread($_, 'cpu'), @{$compared{$_}}
        ]
    } $spin, $next;
}

sub within
{
    my $server = start_server('snowflake.machine_id' => 1);
    fill_by_time($server, many_rows);
    printf "## Queries by time: %s rows\n\n", thousands(many_rows);
    within_month($server);
    print "### 365 daily partitions\n\n";
    printf "Medians of %d short queries a round, in turns, in one session: what EXPLAIN (ANALYZE,\n"
        . "TIMING OFF) says of planning and execution, in microseconds, and for information the whole\n"
        . "statement, with the parsing of its literals.\n\n", short_queries;
    within_partitions($server, 'a day', '2025-06-15 00:00+00', '2025-06-16 00:00+00');
    within_partitions($server, 'an hour', '2025-06-15 12:00+00', '2025-06-15 13:00+00');
    $server->stop;
    return;
}

# A long query of the one table: what the comparisons cost.
sub within_month
{
    my ($server) = @_;
    my @contestants;
    for (conditions($server, '2025-06-01 00:00+00', '2025-07-01 00:00+00')) {
        my ($name, $condition) = @$_;
        my $query = "SELECT count(value) FROM event WHERE $condition";
        my $rows = many_rows * 30 / 365;
        my $run = sub { $server->race(1, $query, $query, sprintf '%.0f', $rows) };
        push @contestants, {name => $name, run => $run};
    }
    my $more_rounds = 3 * $rounds; # these are short
    interleave('within, one table', $more_rounds, @contestants);
    print "### One table\n\n";
    printf "`count(value)` of a month; %d rounds.\n\n", $more_rounds;
    table(['', 'seconds', 'min – max', 'ratio', 'of each round', 'bar', ''],
        map { [$_->{name}, decimal(median_of($_, 'seconds')), compared($_, $contestants[0], 'seconds')] }
            @contestants);
    return;
}

sub within_partitions
{
    my ($server, $span, $from, $to) = @_;
    my @contestants = map {
        {name => $_->[0], query => "SELECT count(value) FROM event_by_day WHERE $_->[1]"}
    } conditions($server, $from, $to);
    for my $round (0 .. $rounds) {
        print STDERR "within, $span: ", $round == 0 ? 'warming up' : "round $round of $rounds", "\n";
        my @medians = plan_and_run($server, short_queries, map { $_->{query} } @contestants);
        next if $round == 0;
        for my $contestant (@contestants) {
            my $numbers = shift @medians;
            push @{$contestant->{samples}{$_}}, $numbers->{$_} for keys %$numbers;
        }
    }
    my @numbers = qw(planning execution whole both);
    table(["`count(value)` of $span", @numbers[0 .. 2], 'planning and execution', 'min – max', 'ratio',
            'of each round', 'bar', ''],
        map {
            my $contestant = $_;
            [
                $_->{name}, (map { sprintf '%.0f', median_of($contestant, $_) } @numbers),
                compared($_, $contestants[0], 'both')
            ]
        } @contestants);
    return;
}

# The last fields of a row of a query by time: its ratio to the one with literals, and the bar.
sub compared
{
    my ($this, $literals, $number) = @_;
    my ($ratio, $per_round) = ratio($this, $literals, $number);
    return (spread($this, $number), decimal($ratio), decimal($per_round),
        $this == $literals ? ('', '') : bar($ratio <= 1.05, '≤ 1.05'));
}

# With PostgreSQL's own settings, for this is about a server as it is.
sub idle
{
    my $server = Bench::Server->start($bindir, $dir, 'snowflake.machine_id' => 1);
    my $session = $server->session;
    $session->ask('SELECT snowflake_next()');
    $session->quit;

    print STDERR 'idle: ', idle_seconds, " seconds\n";
    sleep 30; # the worker looks after the ceiling for 20 seconds after the last id
    my %pid_of = $server->processes;
    die "no process named snowflake\n" unless $pid_of{snowflake};
    my %before = map { $_ => wake_ups($pid_of{$_}) } keys %pid_of;
    sleep idle_seconds;
    my %woken = map { $_ => wake_ups($pid_of{$_}) - $before{$_} } keys %pid_of;
    $server->stop;

    print "## Idle\n\n";
    printf "Wake-ups (voluntary context switches) of a server's processes in %d seconds without\n"
        . "any client, with PostgreSQL's default settings. The bar is for ours.\n\n", idle_seconds;
    table(['process', 'wake-ups', 'bar', ''],
        map { [$_, $woken{$_}, $_ eq 'snowflake' ? bar($woken{$_} == 0, '0') : ('', '')] }
            sort keys %woken);
    return;
}

sub wake_ups
{
    my ($pid) = @_;
    open my $status, '<', "/proc/$pid/status" or die "process $pid: $!\n";
    my ($count) = map { /^voluntary_ctxt_switches:\s*(\d+)/ } <$status>;
    return $count;
}

# --- All together -----------------------------------------------------------------------------

$| = 1;
my %known = map { @$_ } @benchmarks;
@names = map { $_->[0] } @benchmarks unless @names;
$known{$_}->() for @names;
