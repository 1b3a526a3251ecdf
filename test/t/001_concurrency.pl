# Many sessions at once: every id is given to one caller only, under the machine id that is
# configured, at the time that the clock shows, in the order of the calls, and is counted.
use strict;
use warnings;
use Snowflake;
use Test::More;

my $clients = 8;
my $rows = 500_000;
my $node = start_server('concurrency', 'snowflake.machine_id' => 42);

sub issued { return $node->safe_psql('postgres', 'SELECT ids_issued FROM pg_stat_snowflake') }

# The defaults are evaluated in the order of the columns, so the clock is read before and after each
# id. Of two readings far apart (the process lost the processor in between) the nearer one counts.
$node->safe_psql('postgres', q{
	CREATE UNLOGGED TABLE t (
		client int,
		before timestamptz DEFAULT clock_timestamp(),
		id bigint DEFAULT snowflake_next(),
		after timestamptz DEFAULT clock_timestamp())});
my $issued = issued();
my @writers = map {
	start_client($node,
		["INSERT INTO t (client) SELECT $_ FROM (SELECT generate_series(1, $rows)) s;"],
		repeat => 1)
} 1 .. $clients;
wait_for_clients(@writers);
is_deeply([ map { errors_of($_) } @writers ], [], 'no client fails');
is(issued() - $issued, $clients * $rows, 'the count of ids issued is exact');

# One sort serves the duplicates and the order. From the largest id down: no call that got a larger id
# may have ended before this one began.
my @seen = split /\|/, $node->safe_psql('postgres', q{
	SET work_mem = '1GB';
	SELECT count(*),
		count(*) FILTER (WHERE id = larger_id),
		count(*) FILTER (WHERE first_after < before),
		count(*) FILTER (WHERE snowflake_machine(id) <> 42),
		count(*) FILTER (WHERE made > after),
		count(*) FILTER (WHERE made < date_trunc('milliseconds', before)),
		max(least(after - made, made - before)) <= '50 ms',
		extract(milliseconds FROM max(least(after - made, made - before))),
		extract(milliseconds FROM max(after - made))
	FROM (SELECT id, before, after, snowflake_timestamp(id) AS made,
			lag(id) OVER (ORDER BY id DESC) AS larger_id,
			min(after) OVER (ORDER BY id DESC ROWS UNBOUNDED PRECEDING) AS first_after
		FROM t) s});
is($seen[0], $clients * $rows, 'all rows are there');
is($seen[1], 0, 'no id is there twice');
is($seen[2], 0, 'a call that began after another had ended has the larger id');
is($seen[3], 0, 'each id has the machine id');
is($seen[4], 0, 'no id is from the future');
is($seen[5], 0, 'no id is older than its call');
is($seen[6], 't', 'each id is within 50 ms of the clock');
diag("largest distance from the clock: $seen[7] ms (from the end of a call: $seen[8] ms)");
$node->safe_psql('postgres', 'DROP TABLE t');

# Single ids and series, transactions that roll back, statements that end half-way: ids that a client
# has received never come again, whatever became of their transaction.
sub mixed
{
	my ($what, $machine_bits, $machines, $ids, $rounds) = @_;
	$node->append_conf('postgresql.conf',
		"snowflake.machine_bits = $machine_bits\nsnowflake.machine_id = '$machines'");
	$node->stop;
	forget_marks($node);
	$node->start;
	my $one = "COPY (SELECT snowflake_next() FROM (SELECT generate_series(1, $ids)) s) TO STDOUT;";
	my $series = "COPY (SELECT snowflake_next($ids)) TO STDOUT;";
	my $endless =
	  'COPY (SELECT snowflake_next() FROM (SELECT generate_series(1, 2000000000)) s) TO STDOUT;';
	my $endless_series = 'COPY (SELECT snowflake_next(2000000000)) TO STDOUT;';
	my @kinds = (
		[ $one, $series ],
		[ "BEGIN; $one SAVEPOINT s; $series ROLLBACK TO s; $one ROLLBACK;" ],
		[   "SET statement_timeout = '20ms'; $endless $endless_series RESET statement_timeout;",
			$one
		]);
	my @clients = map { start_client($node, $kinds[ $_ % @kinds ], repeat => $rounds) } 1 .. 8;
	# Two more run without end, and are cancelled again and again.
	my @endless = map { start_client($node, [$_]) } $endless, $endless_series;
	my $cancelled = 0;
	while ($cancelled < 10)
	{
		$cancelled += $node->safe_psql('postgres', q{
			SELECT count(*) FILTER (WHERE pg_cancel_backend(pid)) FROM pg_stat_activity
			WHERE state = 'active' AND query ~ '2000000000' AND pid <> pg_backend_pid()
				AND clock_timestamp() > query_start + '30 ms'});
	}
	wait_for_clients(@clients);
	ask_to_stop(@endless);
	$node->poll_query_until('postgres', q{
		SELECT count(pg_cancel_backend(pid)) = 0 FROM pg_stat_activity
		WHERE query ~ '2000000000' AND pid <> pg_backend_pid()});
	wait_for_clients(@endless);

	my @all = map { [ ids_of($_) ] } @clients, @endless;
	my @flat = map { @$_ } @all;
	my $foreign = grep { !block_has($machines, machine_of($_, $machine_bits)) } @flat;
	my $disorder = 0;
	$disorder += count_disorder(@$_) for @all;
	my %errors = map { $_ => 1 } map { errors_of($_) } @clients, @endless;
	is(count_duplicates(@flat), 0, "$what: no client receives an id twice (of " . @flat . ')');
	is($disorder, 0, "$what: each client receives them in ascending order");
	is($foreign, 0, "$what: each id has a machine id of this server");
	cmp_ok(issued(), '>=', scalar @flat, "$what: all are counted");
	is_deeply(
		[ sort keys %errors ],
		[   '57014: canceling statement due to statement timeout',
			'57014: canceling statement due to user request' ],
		"$what: statements were cancelled, and none failed for another reason");
	return;
}

mixed('a block of machine ids', 10, '16-23', 10_000, 5);
mixed('16 bits of machine ids', 16, '4711', 1_000, 6);

$node->stop;
done_testing();
