# snowflake_horizon(): a reader that runs
#   SELECT … WHERE id > $last AND id < snowflake_horizon() ORDER BY id
# misses nothing and repeats nothing, whatever transactions do; and what has been committed is delivered
# as soon as no transaction can commit an older id.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Snowflake;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('horizon');
$node->init;
configure(
	$node,
	'shared_preload_libraries' => 'snowflake',
	'snowflake.machine_id' => 9,
	'max_prepared_transactions' => 5,
	'log_statement' => 'none',
	'autovacuum' => 'off');
start_with_fake_clock($node, 0);
$node->safe_psql('postgres', q{
	CREATE EXTENSION snowflake;
	CREATE TABLE t (id bigint PRIMARY KEY DEFAULT snowflake_next(), x text NOT NULL);
	-- Use up xids.
	CREATE PROCEDURE burn(xids int) LANGUAGE plpgsql AS $$
		BEGIN
			FOR i IN 1 .. xids LOOP
				BEGIN
					PERFORM 1 / (pg_current_xact_id()::text::numeric * 0);
				EXCEPTION WHEN division_by_zero THEN NULL;
				END;
			END LOOP;
		END $$;
	-- Transactions that drew an id and had an xid.
	CREATE PROCEDURE end_transactions(count int) LANGUAGE plpgsql AS $$
		BEGIN
			FOR i IN 1 .. count LOOP
				PERFORM snowflake_next(), pg_current_xact_id();
				COMMIT;
			END LOOP;
		END $$});

my $last = 0;
my $condition = 'id < snowflake_horizon()';

# The reader: what is new, as "a b c".
sub poll_in
{
	my ($run) = @_;
	my @new;
	foreach my $line (split /\n/, $run->("SELECT id, x FROM t WHERE id > $last AND $condition ORDER BY id"))
	{
		my ($id, $x) = split /\|/, $line;
		die "id $id after $last" if $id <= $last;
		$last = $id;
		push @new, $x;
	}
	return "@new";
}
sub poll { return poll_in(sub { $node->safe_psql('postgres', $_[0]) }) }

sub session
{
	my $session = $node->background_psql('postgres', timeout => $PostgreSQL::Test::Utils::timeout_default);
	return $session;
}

sub insert { $node->safe_psql('postgres', "INSERT INTO t (x) VALUES ('$_[0]')"); return }

# Runs code between a statement's snapshot and its call of snowflake_horizon(): the statement waits for an
# advisory lock first.
my $gate = session();

sub with_gap
{
	my ($session, $statement, $between) = @_;
	$gate->query_safe('SELECT pg_advisory_lock(1)');
	$session->query_until(qr/begun/, "\\echo begun\n$statement;\n\\echo ended\n");
	$node->poll_query_until('postgres',
		q{SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted});
	$between->();
	$gate->query_safe('SELECT pg_advisory_unlock(1)');
	my $out = $session->query_until(qr/ended\n/, '');
	$out =~ s/^begun\n|ended\n$//g;
	chomp $out;
	return $out;
}

my $writer = session();
my $reader = session();

# The statement

{
	my $plan = $node->safe_psql('postgres', qq{
		SET enable_seqscan = off; SET enable_bitmapscan = off;
		EXPLAIN (COSTS OFF) SELECT id FROM t WHERE id > 5 AND $condition ORDER BY id});
	like($plan, qr/^Index Only Scan using t_pkey on t\n\s+Index Cond: \(\(id > 5\) AND \(id < snowflake_horizon\(\)\)\)$/,
		'the horizon is an index condition');
	insert('a');
	insert('b');
	is(poll(), 'a b', 'what is committed is delivered at once');
	is(poll(), '', 'and not again');
	is( $node->safe_psql('postgres', q{
			BEGIN; INSERT INTO t (x) VALUES ('own'); SELECT count(*) FROM t WHERE x = 'own' AND id < snowflake_horizon(); ROLLBACK}),
		'0', 'a transaction sees its own ids as to come');
}

# Transactions that drew an id, and that drew none

{
	$writer->query_safe(q{BEGIN; INSERT INTO t (x) VALUES ('a')});
	insert('b');
	is(poll(), '', 'a running transaction with an older id holds back');
	$writer->query_safe(q{INSERT INTO t (x) VALUES ('c')});
	insert('d');
	is(poll(), '', 'so it does after another id');
	$writer->query_safe('COMMIT');
	is(poll(), 'a b c d', 'its end releases all, in order');

	$writer->query_safe(q{BEGIN; INSERT INTO t (x) VALUES ('a')});
	insert('b');
	is(poll(), '', 'one that will roll back holds back');
	$writer->query_safe('ROLLBACK');
	is(poll(), 'b', 'its end releases');

	# With an xid and a snapshot, for long.
	$writer->query_safe(q{
		BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_current_xact_id(), count(*) FROM t;
		CREATE TABLE u (x int)});
	insert('a');
	is(poll(), 'a', 'a running transaction that drew no id does not hold back');
	$writer->query_safe(q{INSERT INTO t (x) VALUES ('b')});
	insert('c');
	is(poll(), '', 'it does from its first id on');
	$node->safe_psql('postgres', 'CALL burn(20000)');
	insert('d');
	is(poll(), '', 'also when many xids have been used up');
	$writer->query_safe('COMMIT');
	is(poll(), 'b c d', 'its end releases');

	# The oldest one counts, not the longest.
	$writer->query_safe('BEGIN; SELECT pg_current_xact_id()');
	my $other = session();
	$other->query_safe(q{BEGIN; INSERT INTO t (x) VALUES ('a')});
	$writer->query_safe(q{INSERT INTO t (x) VALUES ('c')});
	$other->query_safe('COMMIT');
	is(poll(), 'a', 'the end of the oldest that drew an id releases what is older than the next');
	$writer->query_safe('COMMIT');
	is(poll(), 'c', 'then the next');

	# By its end: a session that is terminated.
	$other->query_safe(q{BEGIN; INSERT INTO t (x) VALUES ('a')});
	insert('b');
	is(poll(), '', 'a session that will be terminated holds back');
	my $pid = $other->query_safe('SELECT pg_backend_pid()');
	$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid, 60000)");
	is(poll(), 'b', 'its end releases');
}

# Drawn by the client, long before the INSERT

{
	my $id = $writer->query_safe('BEGIN; SELECT snowflake_next()');
	insert('b');
	is(poll(), '', 'an id that was drawn and is not inserted yet holds back');
	$writer->query_safe("INSERT INTO t VALUES ($id, 'a'); COMMIT");
	is(poll(), 'a b', 'its end releases, in order');

	$writer->query_safe('BEGIN; SELECT snowflake_next(3)');
	insert('a');
	is(poll(), '', 'so does a series');
	$writer->query_safe('COMMIT');
	is(poll(), 'a', 'the end of a transaction that never had an xid releases');

	# Each transaction of a session anew, whether its first id is one or a series.
	$writer->query_safe('SELECT snowflake_next()');
	$id = $writer->query_safe('BEGIN; SELECT max(id) FROM snowflake_next(3) AS id');
	insert('b');
	is(poll(), '', "a session's next transaction holds back");
	$writer->query_safe("INSERT INTO t VALUES ($id, 'a'); COMMIT");
	is(poll(), 'a b', 'its end releases, in order');
}

# Subtransactions

{
	$writer->query_safe(q{
		BEGIN; SAVEPOINT s; INSERT INTO t (x) VALUES ('a'); RELEASE s;
		SAVEPOINT s; INSERT INTO t (x) VALUES ('b'); ROLLBACK TO s; INSERT INTO t (x) VALUES ('c')});
	insert('d');
	is(poll(), '', 'subtransactions hold back');
	$writer->query_safe('COMMIT');
	is(poll(), 'a c d', 'the end of the transaction releases');

	my $id = $writer->query_safe('BEGIN; SAVEPOINT s; SELECT snowflake_next()');
	$writer->query_safe('ROLLBACK TO s');
	insert('b');
	is(poll(), '', 'an id that was drawn in a subtransaction that failed can still be inserted');
	$writer->query_safe("INSERT INTO t VALUES ($id, 'a'); COMMIT");
	is(poll(), 'a b', 'the end of the transaction releases');

	# More of them than a snapshot lists.
	$writer->query_safe(q{
		BEGIN; INSERT INTO t (x) VALUES ('a');
		DO $$ BEGIN FOR i IN 1 .. 100 LOOP
			BEGIN INSERT INTO t (x) VALUES ('s'); EXCEPTION WHEN division_by_zero THEN NULL; END;
		END LOOP; END $$});
	insert('b');
	is(with_gap($reader, "SELECT x FROM (SELECT pg_advisory_xact_lock_shared(1) OFFSET 0) p, t WHERE id > $last AND $condition ORDER BY id",
			sub { $writer->query_safe('COMMIT') }),
		'', 'with many subtransactions, committed after the snapshot');
	is(poll(), join(' ', 'a', ('s') x 100, 'b'), 'the end of the transaction releases');
}

# The trap: a commit between the statement's snapshot and the call

my $slow = "SELECT x FROM (SELECT pg_advisory_xact_lock_shared(1) OFFSET 0) p, t WHERE id > %s AND $condition ORDER BY id";

foreach my $kind ('INSERT before', 'INSERT after')
{
	my $id = $writer->query_safe('BEGIN; SELECT snowflake_next()');
	my $insert = "INSERT INTO t VALUES ($id, 'a')";
	$writer->query_safe($insert) if $kind eq 'INSERT before';
	insert('b');
	my $seen = with_gap(
		$reader,
		sprintf($slow, $last),
		sub {
			$writer->query_safe($insert) if $kind eq 'INSERT after';
			$writer->query_safe('COMMIT');
			insert('c');
		});
	is($seen, '', "$kind: a commit after the statement's snapshot");
	is(poll(), 'a b c', "$kind: the next statement has all");
}

# The same by a cursor, whose snapshot is as old as one likes.
{
	$writer->query_safe(q{BEGIN; INSERT INTO t (x) VALUES ('a')});
	insert('b');
	$reader->query_safe("BEGIN; DECLARE c CURSOR FOR SELECT x FROM t WHERE id > $last AND $condition ORDER BY id");
	$writer->query_safe('COMMIT');
	insert('c');
	is($reader->query_safe('FETCH ALL FROM c; COMMIT'), '', "a commit after a cursor's snapshot");
	is(poll(), 'a b c', 'the next statement has all');

	# A cursor that has begun goes on under its first answer.
	insert('a');
	$writer->query_safe('BEGIN; SELECT snowflake_next()');
	insert('b');
	$reader->query_safe(qq{
		SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off;
		BEGIN; DECLARE c CURSOR FOR SELECT x FROM t WHERE id > $last AND $condition});
	is($reader->query_safe('FETCH FROM c'), 'a', 'a cursor begins');
	$writer->query_safe('COMMIT');
	is($reader->query_safe('FETCH ALL FROM c'), '', 'it goes on under the same answer when a transaction has ended');
	$reader->query_safe('COMMIT; RESET ALL');
	is(poll(), 'a b', 'the next statement has all');

	# One that outlives its transaction is complete at its end.
	$reader->query_safe("BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT x FROM t WHERE id > $last AND $condition ORDER BY id");
	insert('c');
	$reader->query_safe('COMMIT');
	insert('d');
	is($reader->query_safe('FETCH ALL FROM c; CLOSE c'), '', 'a cursor WITH HOLD has the snapshot that it began with');
	is(poll(), 'c d', 'the next statement has all');
}

# One answer per statement

{
	$node->safe_psql('postgres', q{
		CREATE FUNCTION in_sql() RETURNS bigint STABLE LANGUAGE sql SET work_mem = '1MB'
			AS 'SELECT snowflake_horizon()';
		CREATE FUNCTION in_plpgsql() RETURNS bigint STABLE LANGUAGE plpgsql
			AS 'BEGIN RETURN (SELECT snowflake_horizon() FROM (SELECT 1) s); END'});
	foreach my $call ('snowflake_horizon()', 'in_sql()', 'in_plpgsql()')
	{
		$writer->query_safe('BEGIN; SELECT snowflake_next()');
		# In a transaction, so that nothing but the statement's end makes the reader forget.
		$reader->query_safe('BEGIN');
		my $seen = with_gap(
			$reader,
			"SELECT h1 = h2 FROM (SELECT snowflake_horizon() AS h0, $call AS h1, pg_advisory_xact_lock_shared(1) AS p, $call AS h2 OFFSET 0) s",
			sub { $writer->query_safe('COMMIT') });
		is($seen, 't', "$call: a statement has one answer, also when a transaction ends in it");
		insert('a');
		is(poll_in(sub { $reader->query_safe($_[0]) }), 'a', "$call: the next statement has another one");
		$reader->query_safe('COMMIT');
	}

	# Also when nothing has changed that a snapshot shows: a transaction without an xid has ended.
	$writer->query_safe('BEGIN; SELECT snowflake_next()');
	insert('a');
	$reader->query_safe('BEGIN');
	is(poll_in(sub { $reader->query_safe($_[0]) }), '', 'a transaction without an xid holds back');
	$writer->query_safe('COMMIT');
	is(poll_in(sub { $reader->query_safe($_[0]) }), 'a', 'its end releases, in the same transaction of the reader');
	$reader->query_safe('COMMIT');

	# The scans of partitions each ask for themselves, and a filter for each row.
	$node->safe_psql('postgres', q{
		CREATE TABLE p (id bigint NOT NULL DEFAULT snowflake_next(), k int NOT NULL) PARTITION BY LIST (k);
		CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1);
		CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2)});
	$writer->query_safe('BEGIN; SELECT snowflake_next()');
	$node->safe_psql('postgres', 'INSERT INTO p (k) VALUES (1), (1), (2), (2)');
	my $seen = with_gap(
		$reader,
		"SELECT k FROM p WHERE $condition AND CASE WHEN snowflake_sequence(id) >= 0 THEN true END"
		  . ' UNION ALL SELECT 0 FROM (SELECT pg_advisory_xact_lock_shared(1)) s'
		  . " UNION ALL SELECT k FROM p WHERE $condition",
		sub { $writer->query_safe('COMMIT') });
	is($seen, '0', 'the scans of one statement have one answer');
	is($node->safe_psql('postgres', "SELECT count(*) FROM p WHERE $condition"), 4, 'the next statement has all');
}

# REPEATABLE READ and SERIALIZABLE

foreach my $level ('REPEATABLE READ', 'SERIALIZABLE')
{
	$writer->query_safe(q{BEGIN; INSERT INTO t (x) VALUES ('a')});
	insert('b');
	$reader->query_safe("BEGIN ISOLATION LEVEL $level; SELECT count(*) FROM t");
	$writer->query_safe('COMMIT');
	insert('c');
	is(poll_in(sub { $reader->query_safe($_[0]) }), '', "$level: a commit after the snapshot");
	my $horizon = $reader->query_safe('SELECT snowflake_horizon()');
	$node->safe_psql('postgres', 'CALL burn(20000)');
	is($reader->query_safe('SELECT snowflake_horizon()'), $horizon,
		"$level: the horizon of an old snapshot is known as long as the ring goes back to it")
	  if $level eq 'REPEATABLE READ';
	$node->safe_psql('postgres', 'SET synchronous_commit = off; CALL end_transactions(20000)');
	is($reader->query_safe('SELECT snowflake_horizon()'), 0,
		"$level: then it is not, and the snapshot has none");
	is(poll(), 'a b c', "$level: others do have one");
	$reader->query_safe('COMMIT');
	$reader->query_safe("BEGIN ISOLATION LEVEL $level");
	insert('d');
	is(poll_in(sub { $reader->query_safe($_[0]) }), 'd', "$level: what was committed before the snapshot is delivered");
	$reader->query_safe('COMMIT');
}

# Prepared statements, and functions

{
	$reader->query_safe("SET plan_cache_mode = force_generic_plan; PREPARE s AS SELECT id, x FROM t WHERE id > \$1 AND $condition ORDER BY id");
	foreach my $x ('a', 'b')
	{
		insert($x);
		is(poll_in(sub { $reader->query_safe("EXECUTE s($last)") }), $x, 'a generic plan asks each time');
	}
	$node->safe_psql('postgres', q{
		CREATE FUNCTION poll(last bigint) RETURNS SETOF t LANGUAGE plpgsql AS $$
			BEGIN
				RETURN QUERY SELECT * FROM t WHERE id > last AND id < snowflake_horizon() ORDER BY id;
			END $$});
	$writer->query_safe(q{BEGIN; INSERT INTO t (x) VALUES ('a')});
	insert('b');
	is(poll_in(sub { $reader->query_safe("SELECT * FROM poll($last)") }), '', 'in a function: held back');
	$writer->query_safe('COMMIT');
	is(poll_in(sub { $reader->query_safe("SELECT * FROM poll($last)") }), 'a b', 'in a function: released');
}

# Procedures that commit

{
	$node->safe_psql('postgres', q{
		CREATE PROCEDURE twice() LANGUAGE plpgsql AS $$
			BEGIN
				INSERT INTO t (x) VALUES ('a');
				COMMIT;
				INSERT INTO t (x) VALUES ('b');
				PERFORM pg_advisory_xact_lock_shared(1);
				INSERT INTO t (x) VALUES ('d');
			END $$});
	with_gap($writer, 'CALL twice()', sub {
			insert('c');
			is(poll(), 'a', 'a procedure has committed its first id, and holds back from the second on');
		});
	is(poll(), 'b c d', 'its end releases');
}

# Parallel workers draw for their leader.

{
	$node->safe_psql('postgres', 'CREATE TABLE big AS SELECT x FROM generate_series(1, 50000) x; ANALYZE big');
	my $settings = q{SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
		SET max_parallel_workers_per_gather = 2; SET parallel_leader_participation = off};
	my $parallel = session();
	$parallel->query_safe($settings);
	$parallel->query_safe('BEGIN; CREATE TEMP TABLE drawn AS SELECT snowflake_next() AS id FROM big');
	insert('b');
	is(poll(), '', "ids that a transaction's workers drew hold back");
	$parallel->query_safe(q{INSERT INTO t SELECT min(id), 'a' FROM drawn; COMMIT});
	is(poll(), 'a b', 'its end releases');
	like($parallel->query_safe('EXPLAIN ANALYZE CREATE TABLE v AS SELECT snowflake_next() AS id FROM big'),
		qr/Workers Launched: [12]/, 'there were workers');
	insert('c');
	is(poll(), 'c', 'and nothing is left of them');
	$parallel->query_safe('BEGIN; SELECT max(id) FROM (SELECT snowflake_next() AS id FROM big OFFSET 0) s');
	insert('d');
	is(poll(), '', 'held back again');
	$parallel->query_safe('ROLLBACK');
	is(poll(), 'd', 'a rollback releases as well');

	# The reader's plan is not parallel: each worker would have an answer of its own.
	unlike($parallel->query_safe("EXPLAIN SELECT count(*) FROM big WHERE x < snowflake_horizon()"),
		qr/Parallel/, 'the horizon is not asked for in workers');
	$parallel->quit;
}

# Prepared transactions

sub prepare
{
	my ($name, @statements) = @_;
	$node->safe_psql('postgres', join(';', 'BEGIN', @statements, "PREPARE TRANSACTION '$name'"));
	return;
}
my $insert_a = q{INSERT INTO t (x) VALUES ('a')};

foreach my $end ('COMMIT', 'ROLLBACK')
{
	prepare('p', $insert_a);
	insert('b');
	is(poll(), '', "a prepared transaction holds back ($end)");
	$node->safe_psql('postgres', "$end PREPARED 'p'");
	is(poll(), $end eq 'COMMIT' ? 'a b' : 'b', "$end PREPARED releases");
}
prepare('none', 'CREATE TABLE w (x int)');
insert('a');
is(poll(), 'a', 'a prepared transaction that drew no id does not hold back');

# COMMIT PREPARED between the snapshot and the call; also when the next one takes its place.
foreach my $next (0, 1)
{
	prepare('p', $insert_a);
	insert('b');
	$reader->query_safe("BEGIN; DECLARE c CURSOR FOR SELECT x FROM t WHERE id > $last AND $condition ORDER BY id");
	$node->safe_psql('postgres', q{COMMIT PREPARED 'p'});
	prepare("next$_", q{INSERT INTO t (x) VALUES ('n')}) for 1 .. 4 * $next;
	is($reader->query_safe('FETCH ALL FROM c; COMMIT'), '', "COMMIT PREPARED after a cursor's snapshot, and $next more");
	is(poll(), 'a b', 'the next statement has all before them');
	$node->safe_psql('postgres', "ROLLBACK PREPARED 'next$_'") for 1 .. 4 * $next;
}

# A restart and a crash bring them back, with their bounds. The first reader of the new run may have a
# snapshot from before their end.
foreach my $mode ('fast', 'immediate')
{
	my $held = $last;
	insert('x');
	is(poll(), 'x', "$mode: before");
	prepare('p', $insert_a);
	prepare('q', q{INSERT INTO t (x) VALUES ('d')}) if $mode eq 'fast';
	insert('b');
	$_->quit for $gate, $writer, $reader;
	$node->stop($mode);
	start_with_fake_clock($node, 0);
	($gate, $writer, $reader) = (session(), session(), session());
	if ($mode eq 'fast')
	{
		is(poll(), '', "$mode: a prepared transaction holds back after a restart");
		insert('c');
		is(poll(), '', "$mode: still");
	}
	else
	{
		# Nothing has asked for the horizon yet, not even a planner.
		$reader->query_safe("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM t");
		insert('c');
	}
	$node->safe_psql('postgres', q{COMMIT PREPARED 'p'});
	if ($mode eq 'fast')
	{
		is(poll(), 'a', "$mode: its end releases up to the next one");
		$node->safe_psql('postgres', q{ROLLBACK PREPARED 'q'});
		is(poll(), 'b c', "$mode: its end releases, and one that drew no id is no hindrance");
	}
	else
	{
		is(poll_in(sub { $reader->query_safe($_[0]) }), '', "$mode: it ended before anybody asked");
		$reader->query_safe('COMMIT');
		is(poll(), 'a b c', "$mode: the next statement has all");
	}
}
$node->safe_psql('postgres', q{ROLLBACK PREPARED 'none'});

# A crash while transactions run; the reader goes on where it was.

{
	$writer->query_safe("BEGIN; $insert_a");
	insert('b');
	is(poll(), '', 'crash: held back');
	$_->quit for $gate, $reader;
	$node->stop('immediate');
	start_with_fake_clock($node, 0);
	($gate, $writer, $reader) = (session(), session(), session());
	is(poll(), 'b', 'crash: what was committed is delivered, though no id was drawn since');
	insert('c');
	is(poll(), 'c', 'crash: what follows as well');
}

# The clock, and the machine id

{
	set_clock(-0.3);
	insert('a');
	is(poll(), 'a', 'the clock went back a little');
	set_clock(0.5);
	insert('b');
	set_clock(0.3);
	$writer->query_safe(q{BEGIN; INSERT INTO t (x) VALUES ('c')});
	insert('d');
	is(poll(), 'b', 'it went on and back: held back');
	$writer->query_safe('COMMIT');
	is(poll(), 'c d', 'it went on and back: released');

	# To a smaller machine id, as it runs and while transactions run.
	$writer->query_safe('BEGIN');
	my $id = $writer->query_safe('SELECT snowflake_next()');
	switch_to($node, '7');
	is(poll(), '', 'a machine id was switched');
	insert('b');
	$writer->query_safe("INSERT INTO t (x) VALUES ('c'); INSERT INTO t VALUES ($id, 'a')");
	is(poll(), '', 'a transaction with ids of both: held back');
	$writer->query_safe('COMMIT');
	is(poll(), 'a b c', 'released');
	switch_to($node, '4-5');
	insert('a');
	is(poll(), 'a', 'a block');

	# And by a restart, with a clock that has gone back.
	insert('b');
	my $newest = $node->safe_psql('postgres', 'SELECT max(id) FROM t');
	$_->quit for $gate, $writer, $reader;
	foreach my $mode ('fast', 'immediate')
	{
		$node->stop($mode);
		$node->append_conf('postgresql.auto.conf', 'snowflake.machine_id = ' . ($mode eq 'fast' ? 3 : 2));
		start_with_fake_clock($node, $mode eq 'fast' ? -0.3 : -0.8);
		$node->poll_query_until('postgres', 'SELECT machine_id IS NOT NULL FROM pg_stat_snowflake');
		is(poll(), $mode eq 'fast' ? 'b' : 'd', "$mode stop, another machine id, the clock back: what was committed");
		insert('c');
		is(poll(), 'c', "$mode stop: what follows");
		insert('d');
	}
	is(poll(), 'd', 'the last one');
	is($node->safe_psql('postgres', "SELECT count(*) FROM t WHERE id > $newest"), 4, 'they are in order');
}

# Without a machine id.

{
	$node->safe_psql('postgres', q{ALTER SYSTEM SET snowflake.machine_id = ''; SELECT pg_reload_conf()});
	wait_in_server($node, 'machine_id IS NULL');
	is_refused($node, 'SELECT snowflake_horizon()', '55000',
		qr/^cannot tell the horizon of snowflake ids: this server has no machine id$/, 'no machine id');
}
$node->stop;

# A standby, and its promotion: it knows of prepared transactions what the primary knew.

{
	my $primary = PostgreSQL::Test::Cluster->new('primary');
	$primary->init(allows_streaming => 1);
	configure($primary, 'shared_preload_libraries' => 'snowflake', 'snowflake.machine_id' => 7,
		'max_prepared_transactions' => 5);
	$primary->start;
	$primary->safe_psql('postgres', q{
		CREATE EXTENSION snowflake;
		CREATE TABLE t (id bigint PRIMARY KEY DEFAULT snowflake_next(), x text NOT NULL)});
	$primary->backup('backup');
	my $standby = PostgreSQL::Test::Cluster->new('standby');
	$standby->init_from_backup($primary, 'backup', has_streaming => 1);
	configure($standby, 'snowflake.machine_id' => 8);
	$standby->start;
	$primary->safe_psql('postgres', q{
		INSERT INTO t (x) VALUES ('a');
		BEGIN; INSERT INTO t (x) VALUES ('b'); PREPARE TRANSACTION 'p';
		BEGIN; CREATE TABLE u (x int); PREPARE TRANSACTION 'none';
		INSERT INTO t (x) VALUES ('c')});
	$primary->wait_for_catchup($standby);
	my $error = error_of($standby, 'SELECT snowflake_horizon()');
	is($error->{sqlstate}, '25006', 'on a standby: SQLSTATE');
	is($error->{message}, 'cannot execute snowflake_horizon() during recovery', 'on a standby: message');

	$primary->stop('immediate');
	$standby->promote;
	$standby->poll_query_until('postgres', 'SELECT machine_id IS NOT NULL FROM pg_stat_snowflake');
	$node = $standby;
	$last = 0;
	is(poll(), 'a', 'promoted: a prepared transaction of the primary holds back');
	insert('d');
	is(poll(), '', 'promoted: still');
	$standby->safe_psql('postgres', q{COMMIT PREPARED 'p'});
	is(poll(), 'b c d', 'promoted: its end releases');
	$standby->stop;
}

done_testing();
