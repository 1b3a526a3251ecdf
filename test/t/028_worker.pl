# The worker is ended by a signal: it is started again, calls wait for it meanwhile, and no id comes
# twice.
use strict;
use warnings;
use Faults;
use PostgreSQL::Test::Utils;
use Snowflake;
use Test::More;

my $node = start_server(
	'worker',
	'snowflake.machine_id' => 7,
	'checkpoint_timeout' => '1h',
	'log_statement' => 'none',
	'snowflake.grant_timeout' => '60s');
my $session = start_session($node);
my @own = (ask($session, 'SELECT snowflake_next()'));
my @drawers = start_drawers($node, 4);

my $grants = q{
	SELECT count(*), count(*) FILTER (WHERE ended IS NULL),
		max(snowflake_floor(ceiling)) FILTER (WHERE ended IS NOT NULL)
	FROM snowflake_grants};
my @ends;
my $rounds = 5;
foreach my $round (1 .. $rounds)
{
	drawers_go_on(@drawers);
	my $worker = pid_of_worker($node);
	kill('TERM', $worker) or die "cannot signal process $worker: $!";
	wait_until('the worker has ended', sub { !kill(0, $worker) });
	push @own, ask($session, 'SELECT snowflake_next()');
	isnt(pid_of_worker($node), $worker, "round $round: there is another worker");
	my ($all, $open, $end) = split /\|/, ask($session, $grants);
	is("$all grants, $open open", ($round + 1) . ' grants, 1 open', "round $round: snowflake_grants");
	push @ends, $end;
}

# Ended twice, before it can do anything; and while nobody draws.
drawers_go_on(@drawers);
foreach (1 .. 2)
{
	my $worker = pid_of_worker($node);
	kill('TERM', $worker) or die "cannot signal process $worker: $!";
	wait_until('the worker has ended', sub { !kill(0, $worker) });
}
drawers_go_on(@drawers);
stop_drawers(@drawers);
my $worker = pid_of_worker($node);
kill('TERM', $worker) or die "cannot signal process $worker: $!";
isnt(pid_of_worker_other_than($worker), $worker, 'it is started again when nobody draws, too');

# The new one follows a reload.
configure($node, 'snowflake.machine_id' => 8);
$node->reload;
wait_until('the machine id has changed',
	sub { ask($session, 'SELECT machine_id FROM pg_stat_snowflake') eq '8' });
push @own, ask($session, 'SELECT snowflake_next()');
is(($own[-1] >> 12) & 1023, 8, 'it follows a reload');

is(ask($session, 'SELECT 1'), '1', 'this session was never lost: the server did not restart');
$node->stop;

my ($repeats, $all) = count_repeats(\@drawers, @own);
my ($disorder, @runs) = examine_runs(@drawers);
note("$all ids");
foreach my $round (1 .. $rounds)
{
	my ($before, $after) = @own[ $round - 1, $round ];
	ok($before < $ends[ $round - 1 ] && $ends[ $round - 1 ] <= $after,
		"round $round: the grant that ended, ended between the ids");
}
is($repeats, 0, 'no id comes twice');
is(scalar @runs, 1, 'it was one run of the server');
is($disorder, 0, 'each client received its ids in ascending order');
is(count_disorder(@own), 0, 'and so did this test');
is_deeply([ errors_of_drawers(@drawers) ], [], 'no call failed');

# The clock goes back, and then there is a new worker: it starts where the old one ended, not where the
# clock is. (The clock is ahead at first, for the postmaster's signal handlers see the real one and would
# restart the worker late.)
{
	configure($node, 'snowflake.grant_timeout' => '5s', 'snowflake.machine_id' => 7);
	start_with_fake_clock($node, 10);
	my $before = next_id($node);
	my $log = log_position($node);
	set_clock(7.2);
	kill('TERM', pid_of_worker($node));
	wait_until('there is another grant', sub { log_lines($node, qr/machine id is now 7/, $log) });
	cmp_ok(next_id($node), '>', $before, 'a new worker starts where the old one ended');
	$node->stop;
}

sub pid_of_worker_other_than
{
	my ($old) = @_;
	my $new;
	wait_until('there is another worker', sub { ($new = pid_of_worker($node)) != $old });
	return $new;
}

done_testing();
