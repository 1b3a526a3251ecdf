# A table spread over two servers through postgres_fdw, as Citus would: ids come from whichever server a
# row is inserted through, under that server's machine id, and a query between two bounds of
# snowflake_floor() asks only the servers that can have rows of that time, and them only for those.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Snowflake;
use Test::More;

my $coordinator = start_server('coordinator', 'snowflake.machine_id' => 1);
my %shard = (
	one => start_server('one', 'snowflake.machine_id' => 2),
	two => start_server('two', 'snowflake.machine_id' => 3));
plan skip_all => 'postgres_fdw is not installed'
  unless $coordinator->safe_psql('postgres',
	q{SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'});

# With the extension listed, its immutable functions are computed where the rows are.
$coordinator->safe_psql('postgres', 'CREATE EXTENSION postgres_fdw');
foreach my $name (sort keys %shard)
{
	my ($host, $port) = ($shard{$name}->host, $shard{$name}->port);
	$coordinator->safe_psql('postgres', qq{
		CREATE SERVER $name FOREIGN DATA WRAPPER postgres_fdw
			OPTIONS (host '$host', port '$port', dbname 'postgres', extensions 'snowflake');
		CREATE USER MAPPING FOR CURRENT_USER SERVER $name});
}

sub plan_of
{
	my ($query, $options) = @_;
	return $coordinator->safe_psql('postgres', 'EXPLAIN (VERBOSE, COSTS OFF' . ($options // '') . ") $query");
}

# The conditions that a plan sends to each server, by the name of the foreign table.
sub sent
{
	my ($plan) = @_;
	my %sent;
	while ($plan =~ /Foreign Scan on public\.(\w+).*?Remote SQL: SELECT [^\n]*? FROM public\.\w+([^\n]*)/sg)
	{
		$sent{$1} = $2;
	}
	return \%sent;
}

# By tenant: each shard has all rows of its tenants, and takes rows itself.
$_->safe_psql('postgres', q{
	CREATE TABLE event (
		tenant integer NOT NULL,
		id bigint NOT NULL DEFAULT snowflake_next(),
		payload text,
		PRIMARY KEY (tenant, id))}) for values %shard;
$coordinator->safe_psql('postgres', q{
	CREATE TABLE event (
		tenant integer NOT NULL,
		id bigint NOT NULL DEFAULT snowflake_next(),
		payload text) PARTITION BY RANGE (tenant);
	CREATE FOREIGN TABLE event_one PARTITION OF event FOR VALUES FROM (0) TO (100)
		SERVER one OPTIONS (table_name 'event');
	CREATE FOREIGN TABLE event_two PARTITION OF event FOR VALUES FROM (100) TO (200)
		SERVER two OPTIONS (table_name 'event')});

# Through the coordinator and at each shard, all at the same time.
my @clients = (
	start_client($coordinator, ['INSERT INTO event (tenant, payload) SELECT t, $$c$$ FROM generate_series(0, 199, 10) t RETURNING id;'], repeat => 20),
	start_client($coordinator, ['INSERT INTO event_two (tenant, payload) VALUES (100, $$f$$) RETURNING id;'], repeat => 100),
	start_client($shard{one}, ['INSERT INTO event (tenant, payload) SELECT t, $$s$$ FROM generate_series(0, 99, 10) t RETURNING id;'], repeat => 50),
	start_client($shard{two}, ['INSERT INTO event (tenant, payload) SELECT t, $$s$$ FROM generate_series(100, 199, 10) t RETURNING id;'], repeat => 50));
wait_for_clients(@clients);
my @ids = map { ids_of($_) } @clients;
is(scalar @ids, 400 + 100 + 500 + 500, 'by tenant: every insert returned its ids');
is(count_duplicates(@ids), 0, 'by tenant: no id twice over the three servers');
is( $coordinator->safe_psql('postgres', q{
		SELECT tableoid::regclass::text, payload, snowflake_machine(id), count(*) FROM event
		GROUP BY 1, 2, 3 ORDER BY 1, 2}),
	"event_one|c|1|200\nevent_one|s|2|500\nevent_two|c|1|200\nevent_two|f|1|100\nevent_two|s|3|500",
	'by tenant: an id has the machine id of the server that the row was inserted through');

# A page in the order of time, over both shards, equals that of a sort here.
my ($middle) = (sort { $a <=> $b } @ids)[ @ids / 2 ];
is( $coordinator->safe_psql('postgres', "SELECT id FROM event WHERE id > $middle ORDER BY id LIMIT 50"),
	join("\n", (sort { $a <=> $b } grep { $_ > $middle } @ids)[ 0 .. 49 ]),
	'by tenant: a page goes over all shards in the order of time');

my $since = q{snowflake_floor('2026-01-01 00:00:00+00')};
my $floor = $coordinator->safe_psql('postgres', "SELECT $since");
my $sent = sent(plan_of("SELECT * FROM event WHERE id >= $since"));
is_deeply([ sort keys %$sent ], [qw(event_one event_two)], 'by tenant: both shards are asked');
like($_, qr/ WHERE \(\(id >= '?$floor/, 'by tenant: for ids from the bound on') for values %$sent;
$sent = sent(plan_of("SELECT * FROM event WHERE tenant = 7 AND id >= $since"));
is_deeply([ keys %$sent ], ['event_one'], 'by tenant: one shard is asked for one tenant');
like($sent->{event_one}, qr/id >= '?$floor/, 'by tenant: for its ids from the bound on');
like($_, qr/ WHERE .*snowflake_machine\(id\)/, 'by tenant: functions of ids are computed there')
  for values %{ sent(plan_of('SELECT * FROM event WHERE snowflake_machine(id) = 2')) };

# A prepared statement's generic plan sends the parameter.
$sent = sent($coordinator->safe_psql('postgres', q{
	SET plan_cache_mode = force_generic_plan;
	PREPARE since (timestamptz) AS SELECT * FROM event WHERE id >= snowflake_floor($1);
	EXPLAIN (VERBOSE, COSTS OFF) EXECUTE since (now())}));
is(scalar keys %$sent, 2, 'a parameter: both shards are asked');
like($_, qr/ WHERE \(\(id >= public\.snowflake_floor\(\$1/, 'a parameter: for ids from the bound on')
  for values %$sent;

# postgres_fdw sends no expression that has now() in it, but does send the value of a sub-select.
$sent = sent(plan_of(q{
	-- doc:begin shards-now sql
	SELECT * FROM event WHERE id >= (SELECT snowflake_floor(now() - interval '1 hour'));
	-- doc:end
}));
is(scalar keys %$sent, 2, 'now() in a sub-select: both shards are asked');
like($_, qr/ WHERE \(\(id >= \$1/, 'now() in a sub-select: for ids from the bound on') for values %$sent;

# By time: the newest rows are here, those of each year before on a server that keeps them.
my %year = (one => 2025, two => 2026);
foreach my $name (sort keys %year)
{
	my ($from, $to) = map { "$_-01-01 00:00:00+00" } $year{$name}, $year{$name} + 1;
	$shard{$name}->safe_psql('postgres', qq{
		CREATE TABLE reading (id bigint PRIMARY KEY DEFAULT snowflake_next(), payload text);
		INSERT INTO reading SELECT snowflake_make(t, 7, 0) FROM
			generate_series('$from', timestamptz '$to' - interval '1 day', '1 day') t});
}
my @floors = map { $coordinator->safe_psql('postgres', "SELECT snowflake_floor('$_-01-01 00:00:00+00')") } 2025 .. 2027;
$coordinator->safe_psql('postgres', qq{
	CREATE TABLE reading (id bigint NOT NULL DEFAULT snowflake_next(), payload text) PARTITION BY RANGE (id);
	CREATE FOREIGN TABLE reading_2025 PARTITION OF reading FOR VALUES FROM ($floors[0]) TO ($floors[1])
		SERVER one OPTIONS (table_name 'reading');
	CREATE FOREIGN TABLE reading_2026 PARTITION OF reading FOR VALUES FROM ($floors[1]) TO ($floors[2])
		SERVER two OPTIONS (table_name 'reading');
	CREATE TABLE reading_now PARTITION OF reading FOR VALUES FROM ($floors[2]) TO (MAXVALUE)});
my $march = q{id >= snowflake_floor('2026-03-01 00:00:00+00') AND id < snowflake_floor('2026-04-01 00:00:00+00')};
my $plan = plan_of("SELECT * FROM reading WHERE $march");
$sent = sent($plan);
is_deeply([ keys %$sent ], ['reading_2026'], 'by time: one server has that month');
like($sent->{reading_2026}, qr/id >= '?\d+'?::bigint.*id < '?\d+'?::bigint/, 'by time: it is asked for that month');
unlike($plan, qr/reading_now/, 'by time: the local partition is not read');
is($coordinator->safe_psql('postgres', "SELECT count(*) FROM reading WHERE $march"), 31, 'by time: the rows are right');
is( $coordinator->safe_psql('postgres', q{
		SELECT tableoid::regclass::text, count(*) FROM reading
		WHERE id >= snowflake_floor('2025-12-31 00:00:00+00')
			AND id < snowflake_floor('2026-01-03 00:00:00+00') GROUP BY 1 ORDER BY 1}),
	"reading_2025|1\nreading_2026|2", 'by time: a span over two servers has the rows of both');

# A bound that is known only when the query runs leaves servers out as well.
my $late = q{SELECT count(*) FROM reading WHERE id >= (SELECT snowflake_floor(timestamptz '2026-12-30 00:00:00+00'))};
$plan = plan_of($late, ', ANALYZE, TIMING OFF, SUMMARY OFF');
like($plan, qr/reading_2025[^\n]*\(never executed\)/, 'a bound at run time: the first server is not asked');
like($plan, qr/reading_2026[^\n]*\(actual rows=2\b/, 'a bound at run time: the second sends the rows of that time only');

# The coordinator's ids go where their time belongs.
my $id = $coordinator->safe_psql('postgres', q{INSERT INTO reading (payload) VALUES ('new') RETURNING id});
is( $coordinator->safe_psql('postgres', "SELECT snowflake_machine(id), payload FROM reading WHERE id = $id"),
	'1|new', 'by time: a new row is found by its id');

$_->stop for $coordinator, values %shard;
done_testing();
