# Parallel workers draw ids as any session: snowflake_next() does not keep a plan from being parallel, and
# no two processes of one statement get the same id.
use strict;
use warnings;
use Snowflake;
use Test::More;

my $rows = 200_000;
my $node = start_server(
	'parallel',
	'snowflake.machine_id' => 7,
	'parallel_setup_cost' => 0,
	'parallel_tuple_cost' => 0,
	'min_parallel_table_scan_size' => 0,
	'max_parallel_workers_per_gather' => 4,
	'parallel_leader_participation' => 'off');
$node->safe_psql('postgres', qq{
	CREATE TABLE t AS SELECT x FROM generate_series(1, $rows) x;
	ALTER TABLE t SET (parallel_workers = 4);
	ANALYZE t});

# The leader only gathers, so each id is drawn by a worker.
my $query = 'SELECT snowflake_next() AS id FROM t';
like(
	$node->safe_psql('postgres', "EXPLAIN (VERBOSE) $query"),
	qr/Gather.*Workers Planned: 4.*Parallel Seq Scan[^>]*Output: snowflake_next\(\)/s,
	'the plan has the workers call it');
like(
	$node->safe_psql('postgres', "EXPLAIN (ANALYZE, COSTS OFF) $query"),
	qr/Workers Launched: [2-4]/,
	'several workers run');
$node->safe_psql('postgres', "CREATE TABLE ids AS $query");
is($node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT id) FROM ids'),
	"$rows|$rows", 'each row has an id of its own');
is($node->safe_psql('postgres', 'SELECT count(*) FROM ids WHERE snowflake_machine(id) <> 7'),
	0, 'with the machine id');
is($node->safe_psql('postgres', 'SELECT ids_issued FROM pg_stat_snowflake'),
	2 * $rows, 'all are counted');

$node->stop;
done_testing();
