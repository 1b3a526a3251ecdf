# The clock of a running server goes back. A little: calls wait, and no id comes twice. A lot: calls are
# refused, with the size of the step, until the clock is right or the server has another machine id.
use strict;
use warnings;
use Snowflake;
use Test::More;
use Time::HiRes qw(time);

my $year = 365 * 86400;
my $node = PostgreSQL::Test::Cluster->new('clock_steps');
$node->init;
configure(
	$node,
	'shared_preload_libraries' => 'snowflake',
	'snowflake.machine_id' => 7,
	'log_statement' => 'none',
	'statement_timeout' => "${PostgreSQL::Test::Utils::timeout_default}s",    # if a call waits that must not
	'log_min_error_statement' => 'panic');
start_with_fake_clock($node, 0);
$node->safe_psql('postgres', 'CREATE EXTENSION snowflake');

my $went_back = qr/^cannot generate a snowflake id: the clock has gone back by (\d+) ms$/;
my @all_ids;    # that anybody ever received

sub stat_of
{
	my ($columns) = @_;
	return $node->safe_psql('postgres', "SELECT $columns FROM pg_stat_snowflake");
}

sub next_id
{
	my $id = $node->safe_psql('postgres', 'SELECT snowflake_next()');
	push @all_ids, $id;
	return $id;
}

# The size of a step in the message, which is as measured since before the last id: a hundred
# milliseconds less, say, if the call came that much later.
sub is_step
{
	my ($error, $step, $since, $what) = @_;
	my ($ms) = $error->{message} =~ $went_back;
	my $elapsed = time - $since;
	ok(defined $ms && $ms <= $step * 1000 && $ms >= ($step - $elapsed) * 1000 - 2,
		"$what: the size of the step is in the message")
	  or diag("$ms ms for a step of $step s, $elapsed s ago");
	return $ms;
}

# Sessions that draw ids all the time: by ones, in series, in transactions that roll back.
sub start_drawing
{
	my $one = 'COPY (SELECT snowflake_next() FROM (SELECT generate_series(1, 100)) s) TO STDOUT;';
	my $series = 'COPY (SELECT snowflake_next(100)) TO STDOUT;';
	my @kinds = ($one, $series, "BEGIN; $one ROLLBACK;");
	return map { start_client($node, [ $kinds[ $_ % @kinds ] ], pause => 0.002) } 1 .. 4;
}

# Waits until ids are issued now.
sub wait_for_ids
{
	my $issued = stat_of('ids_issued');
	wait_in_server($node, "ids_issued > $issued + 1000");
	return;
}

# Stops the sessions and checks what they received.
sub stop_drawing
{
	my ($what, @clients) = @_;
	stop_clients(@clients);
	my $disorder = 0;
	foreach my $client (@clients)
	{
		my @ids = ids_of($client);
		$disorder += count_disorder(@ids);
		push @all_ids, @ids;
	}
	is(count_duplicates(@all_ids), 0, "$what: no id comes twice (of " . @all_ids . ')');
	is($disorder, 0, "$what: each session receives ascending ids");
	return map { errors_of($_) } @clients;
}

# Three hundred milliseconds, three times.
{
	my @clients = start_drawing();
	wait_for_ids();
	foreach my $offset (-0.3, -0.6, -0.9)
	{
		my $steps = stat_of('clock_steps');
		set_clock($offset);
		ok($node->poll_query_until('postgres',
				"SELECT clock_steps > $steps FROM pg_stat_snowflake"),
			"300 ms back, to $offset s: calls meet the step");
		wait_for_ids();
	}
	my @errors = stop_drawing('300 ms back', @clients);
	is_deeply(\@errors, [], '300 ms back: no call fails');
	is( stat_of(q{largest_clock_step > '0' AND largest_clock_step <= '300 ms', status}),
		't|issuing', '300 ms back: the view has the largest step');
}

# An hour, in one session's eyes.
$node->stop;
start_with_fake_clock($node, 0);
{
	is(stat_of('status, clock_steps, largest_clock_step'),
		'issuing|0|00:00:00', 'an hour back: the counts start with the server');
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	$session->query_safe('SELECT 1');
	my $since = time;
	my $before = next_id();
	set_clock(-3600);
	my $error = is_refused($node, 'SELECT snowflake_next()', '55000', $went_back,
		'an hour back: a call is refused');
	my $ms = is_step($error, 3600, $since, 'an hour back');
	like($error->{detail}, qr/snowflake\.clock_tolerance \(1000 ms\)/, 'the detail has the tolerance');
	like($error->{hint}, qr/snowflake\.machine_id/, 'the hint has the remedy');
	is_refused($node, 'SELECT snowflake_next(10)', '55000', $went_back,
		'an hour back: a series is refused');
	is( stat_of(qq{status, clock_steps,
			extract(epoch FROM largest_clock_step) * 1000 BETWEEN $ms - 1 AND 3600000}),
		'clock went back|1|t', 'an hour back: the view has the state, and counts one step');

	# The tolerance can be raised by a reload, and lowered again; then calls wait, or do not.
	configure($node, 'snowflake.clock_tolerance' => '1h');
	$node->reload;
	ok( $node->poll_query_until('postgres', "SELECT current_setting('snowflake.clock_tolerance') = '1h'"),
		'an hour back: the tolerance is raised');
	like(
		error_of($node, q{SET statement_timeout = '200ms'; SELECT snowflake_next()})->{message},
		qr/statement timeout/,
		'an hour back: calls wait with a tolerance of an hour');
	configure($node, 'snowflake.clock_tolerance' => '1s');
	$node->reload;
	ok( $node->poll_query_until('postgres', "SELECT current_setting('snowflake.clock_tolerance') = '1s'"),
		'an hour back: the tolerance is lowered');
	is_refused($node, 'SELECT snowflake_next()', '55000', $went_back,
		'an hour back: a call is refused again');

	set_clock(0);
	my $after = $session->query('SELECT snowflake_next()');
	push @all_ids, $after;
	cmp_ok($after, '>', $before, 'an hour back: a session goes on when the clock is right');
	cmp_ok(next_id(), '>', $after, 'an hour back: so does another');
	is(stat_of('status'), 'issuing', 'an hour back: the view has the state');
	$session->quit;
}

# An hour, with sessions that draw ids all the time.
{
	my @clients = start_drawing();
	wait_for_ids();
	set_clock(-3600);
	wait_until('each session has an error', sub { !grep { !errors_of($_) } @clients });
	my $issued = stat_of('ids_issued');
	my $errors = sub { my $count = 0; $count += errors_of($_) for @clients; return $count };
	my $count = $errors->();
	wait_until('there are more errors', sub { $errors->() >= $count + 20 });
	is(stat_of('ids_issued'), $issued, 'an hour back, under load: no id is issued');
	set_clock(0);
	wait_for_ids();
	my @errors = stop_drawing('an hour back, under load', @clients);
	my @others =
	  grep { !/^55000: cannot generate a snowflake id: the clock has gone back by 3\d{6} ms$/ } @errors;
	is_deeply(\@others, [], 'an hour back, under load: no call fails for another reason');
}

# A clock that ran a year ahead: a machine id that has not been used is the way to go on at once, and
# the one that has been used is kept away from what it issued.
{
	set_clock($year);
	my $since = time;
	my $ahead = next_id();
	set_clock(0);
	my $error = is_refused($node, 'SELECT snowflake_next()', '55000', $went_back,
		'a year ahead: with the clock right, a call is refused');
	is_step($error, $year, $since, 'a year ahead');

	switch_to($node, '9');
	my $fresh = next_id();
	is( $node->safe_psql('postgres',
			"SELECT snowflake_machine($fresh), snowflake_timestamp($fresh) BETWEEN now() - interval '1 min' AND now()"),
		'9|t', 'a year ahead: with a fresh machine id, ids flow at once, of the present');
	is(stat_of('status'), 'issuing', 'a year ahead: the view has the state');

	my $log = log_position($node);
	foreach my $used ('7', '6-7')
	{
		switch_to($node, $used);
		$error = is_refused($node, 'SELECT snowflake_next()', '55000', $went_back,
			"a year ahead: machine id $used is refused");
		is_step($error, $year, $since, "a year ahead, machine id $used");
		is(stat_of('status'), 'clock went back', "a year ahead: the view has the state, machine id $used");
	}
	switch_to($node, '8-9');
	cmp_ok(next_id(), '>', $fresh, 'a year ahead: a block without the used one is fine');

	# The clock passes what was issued.
	switch_to($node, '7');
	set_clock($year + 10);
	cmp_ok(next_id(), '>', $ahead, 'a year ahead: machine id 7 goes on when the clock has passed');
	is(scalar(log_lines($node, 'machine id is now', $log)), 4, 'a year ahead: each change is logged');
	is(count_duplicates(@all_ids), 0, 'a year ahead: no id comes twice');
}

$node->stop;
done_testing();
