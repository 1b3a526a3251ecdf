# The clock goes back while the server is down: no id comes twice. By a little: calls wait. By a lot:
# calls are refused, with the size of the step, until the clock is right or the server has a machine id
# that the wrong clock has not touched.
use strict;
use warnings;
use Faults;
use List::Util qw(max);
use Snowflake;
use Test::More;
use Time::HiRes qw(time);

my $year = 365 * 86400;
my $reserve = 2;    # seconds, the default
my $tolerance = 1;

my $node = PostgreSQL::Test::Cluster->new('clock_between_runs');
$node->init;
configure(
	$node,
	'shared_preload_libraries' => 'snowflake',
	'snowflake.machine_id' => 7,
	'log_statement' => 'none');
start_with_fake_clock($node, 0);
$node->safe_psql('postgres', 'CREATE EXTENSION snowflake');

my $went_back = qr/^cannot generate a snowflake id: the clock has gone back by (\d+) ms$/;
my @own;    # ids of the test's own calls

# They draw all the time: whatever happens, happens under load.
my @drawers = start_drawers($node, 4);

sub draw
{
	drawers_go_on(@drawers);
	push @own, next_id($node);
	return;
}

sub is_refused_by
{
	my ($seconds, $leeway, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $error = is_refused($node, 'SELECT snowflake_next()', '55000', $went_back, $what);
	my ($ms) = ($error->{message} // '') =~ $went_back;
	ok( defined $ms
		  && $ms <= ($seconds + $reserve) * 1000
		  && $ms >= ($seconds - $leeway) * 1000,
		"$what: the size of the step is in the message")
	  or diag('it says ' . ($ms // 'nothing') . ' ms');
	like(
		$error->{hint} // '',
		qr/If the clock is wrong now, set it right: ids are generated again at once\./,
		"$what: the hint names the clock");
	like(
		$error->{hint} // '',
		qr/set snowflake\.machine_id to one that no server has used and reload/,
		"$what: the hint names the way out");
	is($node->safe_psql('postgres', 'SELECT status FROM pg_stat_snowflake'),
		'clock went back', "$what: status");
	return;
}

# Now that the clock is right again, or the machine id another, an id comes at once.
sub flows_at_once
{
	my ($above, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($id, $ms) = first_call($node);
	cmp_ok($ms, '<', 1000, "$what: an id comes at once");
	cmp_ok($id, '>', $above, "$what: it is higher than those before");
	push @own, $id;
	return;
}

my %ways_down = (
	'a clean stop' => sub { $node->stop },
	'a SIGKILL of the postmaster' => sub { kill_postmaster($node) });
foreach my $way (sort keys %ways_down)
{
	# Ten minutes back.
	draw();
	$ways_down{$way}->();
	my $down = time;
	start_with_fake_clock($node, -600);
	is_refused_by(600, time - $down + 1, "10 minutes back after $way");
	my $errors = errors_of_drawers(@drawers);
	wait_until('clients are refused',
		sub { (() = errors_of_drawers(@drawers)) > $errors + 2 * @drawers });
	set_clock(0);
	if ($way =~ /SIGKILL/)
	{
		# The ids of the time that was reserved are not issued; the clock is past it.
		push @own, next_id($node);
	}
	else
	{
		flows_at_once($own[-1], "the clock is right again after $way");
	}
	# A little back: the call waits until the clock has caught up with the newest id, and after a crash
	# with what was reserved beyond it.
	draw();
	$ways_down{$way}->();
	my $reserved = $way =~ /SIGKILL/ ? $reserve : 0;
	my $back = $tolerance + $reserve - $reserved;
	start_with_fake_clock($node, -$back);
	my $due_ms = ms_of_id($own[-1]) + $back * 1000 - ms_now();
	my ($id, $waited_ms) = first_call($node);
	cmp_ok($waited_ms, '>=', $due_ms - 300, "a little back after $way: the call waits");
	cmp_ok(
		$waited_ms, '<=',
		max($due_ms + $reserved * 1000, 0) + 1000,
		"a little back after $way: it does not wait for longer");
	cmp_ok($id, '>', $own[-1], "a little back after $way: its id is higher than all before");
	push @own, $id;
	set_clock(0);
	draw();
}

# Ids stay in order over a restart with another machine id, too, if the clock goes back by no more than is
# waited for.
draw();
$node->stop;
configure($node, 'snowflake.machine_id' => 3);
start_with_fake_clock($node, -0.9);
push @own, next_id($node);
cmp_ok($own[-1], '>', $own[-2], 'a little back with another machine id: the id is higher than all before');
$node->stop;
configure($node, 'snowflake.machine_id' => 7);
start_with_fake_clock($node, 0);
draw();

# The clock runs a year ahead for a while, ids are generated, and it is set right while the server is
# down. The mark of machine id 7 lies in a year's time, that of others does not.
$node->stop;
start_with_fake_clock($node, $year);
draw();
my $future = $own[-1];
$node->stop;
start_with_fake_clock($node, 0);
is_refused_by($year, 600, 'a year back');

configure($node, 'snowflake.machine_id' => 8);
$node->reload;
wait_until('the machine id has changed',
	sub { $node->safe_psql('postgres', 'SELECT machine_id FROM pg_stat_snowflake') eq '8' });
flows_at_once(0, 'another machine id');
my $id = $own[-1];
is(($id >> 12) & 1023, 8, 'another machine id: it is in the id');
cmp_ok(abs(ms_of_id($id) - ms_now()), '<', 60_000, 'another machine id: ids are of now');
draw();

configure($node, 'snowflake.machine_id' => 7);
$node->reload;
wait_until('the machine id has changed back',
	sub { $node->safe_psql('postgres', 'SELECT machine_id FROM pg_stat_snowflake') eq '7' });
is_refused_by($year, 600, 'the first machine id again');

# The same across restarts.
$node->stop;
start_with_fake_clock($node, 0);
is_refused_by($year, 600, 'the first machine id again, after a restart');
kill_postmaster($node);
start_with_fake_clock($node, 0);
is_refused_by($year, 600, 'the first machine id again, after a crash');
configure($node, 'snowflake.machine_id' => 8);
$node->reload;
wait_until('the machine id has changed again',
	sub { $node->safe_psql('postgres', 'SELECT machine_id FROM pg_stat_snowflake') eq '8' });
flows_at_once($id, 'the other machine id again');

# The same when the server crashes while the clock is ahead, and has much to replay of what was committed
# then: it is the server's own, and only the mark of the machine id that was in use counts.
configure($node, 'snowflake.machine_id' => 9);
$node->stop;
start_with_fake_clock($node, 2 * $year);
$node->safe_psql('postgres', 'CREATE TABLE early AS SELECT snowflake_next()');
$node->safe_psql('postgres',
	q{CREATE TABLE late AS SELECT repeat('x', 100) FROM generate_series(1, 1000000)});
kill_postmaster($node);
configure($node, 'snowflake.machine_id' => 8);
start_with_fake_clock($node, 0);
flows_at_once($own[-1], 'another machine id after a crash under a wrong clock');
$node->stop;
start_with_fake_clock($node, 0);
flows_at_once($own[-1], 'another machine id after a crash under a wrong clock, and a restart');
$id = $own[-1];

# When the clock gets there, so do the ids of the first one.
configure($node, 'snowflake.machine_id' => 7);
$node->stop;
start_with_fake_clock($node, $year + 60);
flows_at_once($future, 'a year later');
draw();
$node->stop;

stop_drawers(@drawers);
is_deeply([ grep { !/^55000: .*gone back by \d+ ms$/ } errors_of_drawers(@drawers) ],
	[], 'clients got that error and no other');
my ($repeats, $all) = count_repeats(\@drawers, @own);
note("$all ids");
is($repeats, 0, 'no id comes twice');

done_testing();
