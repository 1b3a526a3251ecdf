# Sessions that wait, for their millisecond or for a clock that went back: each can be cancelled, timed
# out and terminated, and has ended within a second; the others go on; monitoring shows the waits; a
# shutdown does not wait for them.
use strict;
use warnings;
use Snowflake;
use Test::More;
use Time::HiRes qw(time);

my $sessions = 50;
my $of_each = 10;    # are cancelled, terminated, timed out; the rest goes on

# 64 ids per millisecond, so that all sessions wait for most of the time.
my $node = start_server(
	'waits',
	'snowflake.machine_bits' => 16,
	'snowflake.machine_id' => 1,
	'snowflake.clock_tolerance' => '1h',
	'log_statement' => 'none');
my $event = wait_event_name($node);
my $seed = srand;
diag("random seed: $seed");

# Cancels or terminates a session, and returns after how many seconds its statement had ended (or that it
# has not ended for so long).
$node->safe_psql('postgres', q{
	CREATE FUNCTION seconds_to_end(victim int, terminate bool) RETURNS float8 LANGUAGE plpgsql AS $$
	DECLARE
		begun timestamptz := clock_timestamp();
	BEGIN
		IF NOT (CASE WHEN terminate THEN pg_terminate_backend(victim)
				ELSE pg_cancel_backend(victim) END) THEN
			RAISE 'there is no session %', victim;
		END IF;
		LOOP
			PERFORM pg_stat_clear_snapshot();
			EXIT WHEN NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = victim
				AND (terminate OR state = 'active'))
				OR clock_timestamp() > begun + '5 s';
			PERFORM pg_sleep(0.002);
		END LOOP;
		RETURN extract(epoch FROM clock_timestamp() - begun);
	END $$});

sub waiting
{
	my ($name) = @_;
	return "FROM pg_stat_activity WHERE application_name ~ '$name' AND state = 'active'";
}

# Starts the sessions; some get a statement_timeout of their own. `statements` are given out in turn,
# and each is run once.
sub start_sessions
{
	my (@statements) = @_;
	my @timed = map {
		my $timeout = 1000 + int(rand(1500));
		{   client => start_client(
				$node,
				[ "SET statement_timeout = $timeout;", $statements[ $_ % @statements ] ],
				repeat => 1,
				name => 'timed'),
			timeout => $timeout / 1000
		}
	} 1 .. $of_each;
	my @others = map {
		start_client($node, [ $statements[ $_ % @statements ] ], repeat => 1, name => 'untimed')
	} $of_each + 1 .. $sessions;
	return (\@timed, \@others);
}

# Ends sessions at random, and checks that each had ended within a second.
sub end_sessions_at_random
{
	my ($what, $timed, $others) = @_;
	ok( $node->poll_query_until('postgres', "SELECT count(*) = " . @$others . ' ' . waiting('untimed')),
		"$what: the sessions run");
	ok( $node->poll_query_until('postgres',
			"SELECT count(*) > 0 " . waiting('untimed')
			  . " AND wait_event_type = 'Extension' AND wait_event = '$event'"),
		"$what: pg_stat_activity shows a wait, Extension $event");

	my @victims = split /\n/,
	  $node->safe_psql('postgres', 'SELECT pid ' . waiting('untimed') . ' ORDER BY random() LIMIT '
		  . 2 * $of_each);
	my @kinds = sort { rand() <=> 0.5 } (0) x $of_each, (1) x $of_each;
	my $largest = 0;
	foreach my $victim (@victims)
	{
		my $seconds = $node->safe_psql('postgres',
			"SELECT seconds_to_end($victim, " . (shift(@kinds) ? 'true' : 'false') . ')');
		$largest = $seconds if $seconds > $largest;
	}
	cmp_ok($largest, '<', 1, "$what: cancelled and terminated ones have ended within a second");

	wait_for_clients(map { $_->{client} } @$timed);
	my ($too_early, $latest) = (0, 0);
	foreach my $session (@$timed)
	{
		my $late = (seconds_of($session->{client}))[1] - $session->{timeout};
		$too_early++ if $late < -0.002;
		$latest = $late if $late > $latest;
	}
	is($too_early, 0, "$what: none is timed out too early");
	cmp_ok($latest, '<', 1, "$what: timed-out ones have ended within a second");
	diag(sprintf('%s: largest delay: %.3f s (cancelled or terminated), %.3f s (timed out)',
		$what, $largest, $latest));
	is_deeply(
		[ map { errors_of($_->{client}) } @$timed ],
		[ ('57014: canceling statement due to statement timeout') x $of_each ],
		"$what: with the error of a time-out");
	is( $node->safe_psql('postgres', "SELECT count(*) " . waiting('untimed')),
		$sessions - 3 * $of_each,
		"$what: the others go on");
	return;
}

# Checks the errors of all sessions after they have ended: as many of each as were sent.
sub check_errors
{
	my ($what, $others, $cancelled, $terminated) = @_;
	my %count = (cancelled => 0, terminated => 0, other => 0);
	foreach my $error (map { errors_of($_) } @$others)
	{
		if ($error eq '57014: canceling statement due to user request') { $count{cancelled}++ }
		elsif ($error eq '57P01: terminating connection due to administrator command') { $count{terminated}++ }
		elsif ($error !~ /^connection to server was lost/) { $count{other}++ }
	}
	is_deeply(
		\%count,
		{ cancelled => $cancelled, terminated => $terminated, other => 0 },
		"$what: each ends with the error that fits, and no other");
	return;
}

# The tick: more calls than the millisecond has ids.
{
	my ($timed, $others) = start_sessions(
		'SELECT count(snowflake_next()) FROM (SELECT generate_series(1, 2000000000)) s;',
		'SELECT count(id) FROM (SELECT snowflake_next(2000000000) AS id) s;');
	end_sessions_at_random('tick', $timed, $others);

	my $stat = 'SELECT ids_issued, tick_waits FROM pg_stat_snowflake';
	my ($issued, $waits) = split /\|/, $node->safe_psql('postgres', $stat);
	ok( $node->poll_query_until('postgres',
			"SELECT ids_issued > $issued AND tick_waits > $waits FROM pg_stat_snowflake"),
		'tick: ids are issued, and waits counted');

	$node->safe_psql('postgres', 'SELECT pg_cancel_backend(pid) ' . waiting('untimed'));
	wait_for_clients(@$others);
	check_errors('tick', $others, $sessions - 2 * $of_each, $of_each);
}

# The clock goes back by ten minutes, which the tolerance allows: every session waits.
sub step_back
{
	my $newest = $node->safe_psql('postgres', 'SELECT snowflake_next()');
	set_clock(-600);
	return $newest;
}

sub wait_until_stuck
{
	my ($what, $count) = @_;
	ok( $node->poll_query_until('postgres',
			"SELECT count(*) = $count " . waiting('timed')
			  . " AND wait_event_type = 'Extension' AND wait_event = '$event'"),
		"$what: all sessions wait");
	return;
}

$node->stop;
start_with_fake_clock($node, 0);
{
	my $newest = step_back();
	my $stat = 'SELECT ids_issued, last_timestamp FROM pg_stat_snowflake';
	my $before = $node->safe_psql('postgres', $stat);
	my ($timed, $others) =
	  start_sessions('SELECT snowflake_next();', 'SELECT snowflake_next(3);');
	end_sessions_at_random('clock', $timed, $others);
	wait_until_stuck('clock', $sessions - 3 * $of_each);
	is($node->safe_psql('postgres', $stat), $before, 'clock: no id is issued');
	is($node->safe_psql('postgres', 'SELECT status FROM pg_stat_snowflake'),
		'waiting for the clock', 'clock: status');
	is( $node->safe_psql('postgres', q{SELECT largest_clock_step BETWEEN '550 s' AND '600 s' FROM pg_stat_snowflake}),
		't', 'clock: the step is counted');

	# The clock is right again.
	set_clock(0);
	wait_for_clients(@$others);
	check_errors('clock', $others, $of_each, $of_each);
	my @ids = map { ids_of($_) } @$others;
	my $survivors = grep { ids_of($_) } @$others;
	is($survivors, $sessions - 3 * $of_each, 'clock: the others get their ids when the clock is right');
	is(count_duplicates($newest, @ids), 0, 'clock: no id comes twice');
	is(scalar(grep { $_ <= $newest } @ids), 0, 'clock: they are larger than those before the step');
}

# The machine id is changed while sessions wait: what they get is of the new one.
{
	my $newest = step_back();
	my @clients = map {
		start_client($node, [ ('SELECT snowflake_next();', 'SELECT snowflake_next(3);')[ $_ % 2 ] ],
			repeat => 1, name => 'timed')
	} 1 .. 10;
	wait_until_stuck('reload', 10);
	switch_to($node, '2');
	wait_until_stuck('reload, after it', 10);
	set_clock(0);
	wait_for_clients(@clients);
	my @ids = map { ids_of($_) } @clients;
	is_deeply(
		[ map { machine_of($_, 16) } @ids ],
		[ (2) x 20 ],
		'reload: sessions that waited get ids of the new machine id');
	is(count_duplicates($newest, @ids), 0, 'reload: no id comes twice');
	is(scalar(grep { $_ <= $newest } @ids), 0, 'reload: they are larger than those before');
}

# A fast shutdown while sessions wait.
{
	step_back();
	my @clients = map {
		start_client($node, [ ('SELECT snowflake_next();', 'SELECT snowflake_next(3);')[ $_ % 2 ] ],
			repeat => 1, name => 'timed')
	} 1 .. 20;
	wait_until_stuck('shutdown', 20);
	my $begun = time;
	$node->stop('fast');
	my $seconds = time - $begun;
	wait_for_clients(@clients);
	cmp_ok($seconds, '<', 5, 'shutdown: the server stops at once');
	diag(sprintf('shutdown: %.3f s', $seconds));
	check_errors('shutdown', \@clients, 0, 20);
	is_deeply([ map { ids_of($_) } @clients ], [], 'shutdown: no id was issued');
}

done_testing();
