# Queries by time over many rows: what the benchmark `within` asks, and of what tables.
package Bench::Within;

use strict;
use warnings;
use Exporter 'import';

our @EXPORT_OK = qw(fill_by_time conditions plan_and_run);

my $plan_and_run = <<'END';
CREATE FUNCTION pg_temp.plan_and_run(statements text[], repetitions int)
RETURNS TABLE (planning float8, execution float8, "both" float8, whole float8) LANGUAGE plpgsql AS $$
DECLARE
    number int;
    began timestamptz;
    took interval;
    plan json;
BEGIN
    CREATE TEMP TABLE sample (number int, planning float8, execution float8, whole float8);
    FOR turn IN 1 .. repetitions * cardinality(statements) LOOP
        number := 1 + (turn + turn / cardinality(statements)) % cardinality(statements);
        began := clock_timestamp();
        EXECUTE statements[number];
        took := clock_timestamp() - began;
        EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || statements[number] INTO plan;
        INSERT INTO sample
        VALUES (number, 1e3 * (plan -> 0 ->> 'Planning Time')::float8,
                1e3 * (plan -> 0 ->> 'Execution Time')::float8, 1e6 * extract(epoch FROM took));
    END LOOP;
    RETURN QUERY
        SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY s.planning),
               percentile_cont(0.5) WITHIN GROUP (ORDER BY s.execution),
               percentile_cont(0.5) WITHIN GROUP (ORDER BY s.planning + s.execution),
               percentile_cont(0.5) WITHIN GROUP (ORDER BY s.whole)
        FROM sample s GROUP BY s.number ORDER BY s.number;
END $$
END

# Makes a table with ids spread over the year 2025, and the same one partitioned by day. Both are
# vacuumed, so that nothing is left for a query to do but to answer.
sub fill_by_time
{
    my ($server, $rows) = @_;
    my $session = $server->session;
    print STDERR "within: making two tables of $rows rows\n";
    $session->ask(q{SET TimeZone = 'UTC'});
    $session->ask('CREATE TABLE event (id bigint NOT NULL, value integer)');
    $session->ask("INSERT INTO event
        SELECT snowflake_make('2025-01-01'::timestamptz + n * (interval '365 days' / $rows), 1, 1), n
        FROM (SELECT generate_series(0, $rows - 1) AS n) s");
    $session->ask('ALTER TABLE event ADD PRIMARY KEY (id)');
    $session->ask('CREATE TABLE event_by_day (LIKE event) PARTITION BY RANGE (id)');
    $session->ask(<<'    END');
        DO $$
        DECLARE
            day timestamptz;
        BEGIN
            FOR day IN SELECT generate_series('2025-01-01'::timestamptz, '2025-12-31', '1 day') LOOP
                EXECUTE format('CREATE TABLE %I PARTITION OF event_by_day FOR VALUES FROM (%s) TO (%s)',
                               to_char(day, '"event_by_day_"YYYYMMDD'),
                               snowflake_floor(day), snowflake_floor(day + interval '1 day'));
            END LOOP;
        END $$
    END
    $session->ask($_)
        for 'INSERT INTO event_by_day TABLE event',
        'ALTER TABLE event_by_day ADD PRIMARY KEY (id)',
        'VACUUM (ANALYZE) event, event_by_day', 'CHECKPOINT';
    $session->quit;
    return;
}

# A span of time as a condition on the id, with its name: in bigint literals, and by
# snowflake_within() in both its forms.
sub conditions
{
    my ($server, $from, $to) = @_;
    my $session = $server->session;
    my ($lower, $upper) =
        split ' ', $session->ask("SELECT snowflake_floor('$from'), snowflake_floor('$to')");
    $session->quit;
    return (
        ['`id >= … AND id < …`', "id >= $lower AND id < $upper"],
        ['`within(id, range)`', "snowflake_within(id, '[$from,$to)')"],
        ['`within(id, from, to)`', "snowflake_within(id, '$from', '$to')"]);
}

# Plans and runs each statement so many times, all in turns, in one session. Answers a hash for each,
# of medians in microseconds: planning, execution and both as EXPLAIN measures them; and the whole
# statement, with the parsing of its literals.
sub plan_and_run
{
    my ($server, $repetitions, @statements) = @_;
    my $session = $server->session;
    $session->ask($plan_and_run);
    my $list = join ', ', map { "\$\$$_\$\$" } @statements;
    my @lines = $session->ask("SELECT * FROM pg_temp.plan_and_run(ARRAY[$list], $repetitions)");
    $session->quit;
    return map {
        my %numbers;
        @numbers{qw(planning execution both whole)} = split ' ';
        \%numbers
    } @lines;
}

1;
