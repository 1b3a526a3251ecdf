# The recipe of docs/partitioning.md for pg_partman 5, where that is installed.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Snowflake;
use Test::More;

my $node = start_server('partman', 'snowflake.machine_id' => 7);
my $version = $node->safe_psql('postgres',
	q{SELECT default_version FROM pg_available_extensions WHERE name = 'pg_partman'});
if ($version !~ /^5\./)
{
	$node->stop;
	plan skip_all => 'pg_partman 5 is not installed';
}
note "pg_partman $version";
my $today = $node->safe_psql('postgres', q{SELECT date_trunc('day', now(), 'UTC')});

# The interval is the milliseconds of a day, as ids.
$node->safe_psql('postgres', qq{
	CREATE SCHEMA partman;
	CREATE EXTENSION pg_partman SCHEMA partman;
	CREATE TABLE public.events (
		id bigint PRIMARY KEY DEFAULT snowflake_next(),
		payload text) PARTITION BY RANGE (id);
	SELECT partman.create_parent(
		p_parent_table := 'public.events',
		p_control := 'id',
		p_interval := (86400000::bigint << 22)::text,
		p_start_partition := snowflake_floor('$today')::text,
		p_premake := 7)});

my $days = q{
	SELECT count(*), count(*) FILTER (WHERE lower = date_trunc('day', lower, 'UTC')),
	       min(lower) = '%s'::timestamptz + interval '%d days',
	       max(lower) - min(lower)
	FROM (SELECT snowflake_timestamp(
	                 substring(pg_get_expr(relpartbound, c.oid) FROM 'FROM \(''(\d+)''\)')::bigint) AS lower
	      FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid
	      WHERE inhparent = 'events'::regclass AND pg_get_expr(relpartbound, c.oid) <> 'DEFAULT') p};

is($node->safe_psql('postgres', sprintf($days, $today, 0)),
	'8|8|t|7 days', 'a partition for today and each of the next seven days');
$node->safe_psql('postgres', q{INSERT INTO events (payload) SELECT 'row' FROM generate_series(1, 1000)});
is( $node->safe_psql('postgres', q{
		SELECT count(*) FROM events
		WHERE tableoid <> (SELECT inhrelid FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid
		                   WHERE inhparent = 'events'::regclass AND pg_get_expr(relpartbound, c.oid) = 'DEFAULT')}),
	1000, 'new rows find their partition');

# Ten days later, by the ids: maintenance goes by the largest one.
$node->safe_psql('postgres', q{
	UPDATE partman.part_config
	SET retention = (5 * (86400000::bigint << 22))::text, retention_keep_table = false,
	    infinite_time_partitions = true
	WHERE parent_table = 'public.events'});
for my $day (4, 8, 10)
{
	$node->safe_psql('postgres', qq{
		INSERT INTO events (id) VALUES (snowflake_floor(timestamptz '$today' + interval '$day days') + 1);
		CALL partman.run_maintenance_proc()});
}
is($node->safe_psql('postgres', sprintf($days, $today, 5)),
	'13|13|t|12 days', 'maintenance has made those that follow, and dropped those that are old');
is($node->safe_psql('postgres', 'SELECT count(*) FROM events'), 2, 'with their rows');
is($node->safe_psql('postgres', q{SELECT count(*) FROM partman.check_default()}),
	0, 'nothing went to the default partition');
$node->stop;
done_testing();
