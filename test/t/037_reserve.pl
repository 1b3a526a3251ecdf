# snowflake.reserve_ahead is lowered by a reload: the ceiling comes down with it, so that a crash has no
# more to wait for than the setting says. And what the view shows while a server waits, or is not answered.
use strict;
use warnings;
use Faults;
use Snowflake;
use Test::More;

my $node = start_server(
	'reserve',
	'snowflake.machine_id' => 7,
	'snowflake.reserve_ahead' => '1h',
	'log_statement' => 'none');
my @drawers = start_drawers($node, 4);
drawers_go_on(@drawers);
cmp_ok(ceiling_ms($node), '>', ms_now() + 3_500_000, 'the ceiling is an hour ahead');

configure($node, 'snowflake.reserve_ahead' => '1s');
$node->reload;
wait_in_server($node, q(ceiling < clock_timestamp() + interval '1.5 s'));
drawers_go_on(@drawers);
wait_in_server($node, 'extensions > 1');    # of which the state knows as well
kill_postmaster($node);
my $newest = max_of(@drawers);
$node->start;
my ($id, $ms) = first_call($node);
cmp_ok($ms, '<', 1500, 'after a crash the first call does not wait for an hour');
cmp_ok($id, '>', $newest, 'its id is above those before');
drawers_go_on(@drawers);
stop_drawers(@drawers);
my ($repeats, $all) = count_repeats(\@drawers, $id);
note("$all ids");
is($repeats, 0, 'no id comes twice');
is_deeply([ errors_of_drawers(@drawers) ], [], 'no call failed');

sub status { return $node->safe_psql('postgres', 'SELECT status FROM pg_stat_snowflake') }

# A worker that does not answer. (The ceiling has to be passed first, or nobody asks it.)
is(status(), 'issuing', 'a server that issues');
my $worker = pid_of_worker($node);
kill('STOP', $worker) or die "process $worker: $!";
wait_in_server($node, 'ceiling < clock_timestamp()');
is_refused($node, 'SET snowflake.grant_timeout = 0; SELECT snowflake_next()', '55000', qr/in time/,
	'a worker that does not answer: a call');
is(status(), 'not recorded', 'a worker that does not answer: status');
kill('CONT', $worker);
wait_until('it is answered', sub { status() eq 'issuing' });

# A crash under a long reserve.
configure($node, 'snowflake.reserve_ahead' => '1h');
$node->reload;
wait_until('the ceiling is far ahead', sub { next_id($node); ceiling_ms($node) > ms_now() + 60_000 });
kill_postmaster($node);
$node->start;
wait_in_server($node, q(status = 'waiting for the clock'));
is(status(), 'waiting for the clock', 'after a crash under a long reserve: status');
$node->stop;

sub max_of
{
	my (@of) = @_;
	my ($disorder, @runs) = examine_runs(@of);
	return (sort { $b <=> $a } map { $_->{high} } @runs)[0];
}

done_testing();
