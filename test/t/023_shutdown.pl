# A clean stop, fast or smart, records the true end of what was issued, while clients are calling: a
# restart waits for nothing. After a crash, or several, it waits for what was reserved at most.
use strict;
use warnings;
use Faults;
use List::Util qw(max);
use Snowflake;
use Test::More;

my $node = start_server(
	'shutdown',
	'snowflake.machine_id' => 7,
	'snowflake.reserve_ahead' => '60s',
	'restart_after_crash' => 'on',
	'checkpoint_timeout' => '1h',
	'log_statement' => 'none',
	'log_min_error_statement' => 'panic');
my @own = (next_id($node));
my @drawers = start_drawers($node, 4);

# The clean ways to stop.
foreach my $mode ('fast', 'smart')
{
	foreach my $round (1 .. 3)
	{
		drawers_go_on(@drawers);
		push @own, next_id($node);
		$node->stop($mode);
		$node->start;
		my ($id, $waited_ms) = first_call($node);
		cmp_ok($waited_ms, '<', 500, "$mode stop, round $round: the restart waits for nothing");
		cmp_ok($id, '>', $own[-1], "$mode stop, round $round: ids go on above");
		push @own, $id;
	}
}
drawers_go_on(@drawers);

# The history: all grants but the one in force have ended, and where the next one began.
is( $node->safe_psql(
		'postgres', q{
		SELECT count(*), count(*) FILTER (WHERE ended IS NULL),
			count(*) FILTER (WHERE ended < granted OR ceiling > ended + '1 second')
		FROM snowflake_grants}),
	'7|1|0',
	'snowflake_grants has an end for each grant that was stopped');

# A stop right after the start, before any id; and one while calls wait for the ceiling of a crash.
$node->stop;
$node->start;
$node->stop('fast');
$node->start;
my ($id, $waited_ms) = first_call($node);
cmp_ok($waited_ms, '<', 500, 'a stop with no id since the start: the restart waits for nothing');
push @own, $id;

# Crashes.
my $reserve_ms = 3000;
configure($node, 'snowflake.reserve_ahead' => $reserve_ms);
$node->restart;
drawers_go_on(@drawers) for 1 .. 3;

sub waits_for_the_reserve
{
	my ($since_ms, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $begin_ms = ms_now();
	my ($id, $waited_ms) = eval { first_call($node) };
	ok(defined $id, "$what: the first call succeeds") or diag($@);
	cmp_ok($begin_ms + ($waited_ms // 1e9),
		'<', max($begin_ms, $since_ms + $reserve_ms) + 1000,
		"$what: it waits for reserve_ahead at most");
	cmp_ok($id // 0, '>', $own[-1], "$what: its id is higher than all before");
	push @own, $id if defined $id;
	return $waited_ms;
}

kill_postmaster($node);
my $at_ms = ms_now();
$node->start;
my $waited = waits_for_the_reserve($at_ms, 'SIGKILL of the postmaster');
cmp_ok($waited, '>', 0, 'SIGKILL of the postmaster: what was reserved is not issued again');

# In a row, with or without ids in between: it does not add up.
stop_drawers(@drawers);
foreach my $i (1 .. 5)
{
	$at_ms = kill_worker($node);
}
waits_for_the_reserve($at_ms, 'five crashes in a row');

# A clean stop in the middle of that wait records no more than what is to be waited for.
kill_postmaster($node);
$at_ms = ms_now();
$node->start;
$node->stop;
$node->start;
waits_for_the_reserve($at_ms, 'a crash, and then a clean stop');
$node->stop;

my ($repeats, $all) = count_repeats(\@drawers, @own);
my ($disorder, @runs) = examine_runs(@drawers);
note("$all ids in " . @runs . ' runs of the server');
is($repeats, 0, 'no id comes twice');
is($disorder, 0, 'each client received its ids in ascending order');
is(count_overlaps(@runs), 0, 'no run of the server issued an id below one of an earlier run');
is_deeply([ errors_of_drawers(@drawers) ], [], 'no call was refused');

done_testing();
