# As many ids as the layout has, for a while: the ceiling is raised ahead of need, so no call ever waits
# for it. SNOWFLAKE_LONG=1 takes a minute instead of a quarter of one.
use strict;
use warnings;
use Faults;
use Snowflake;
use Test::More;
use Time::HiRes qw(time);

my $seconds = $ENV{SNOWFLAKE_LONG} ? 60 : 15;

my $node = start_server(
	'steady',
	'snowflake.machine_id' => 7,
	'checkpoint_timeout' => '1h',
	'log_statement' => 'none');
my $session = start_session($node);

sub counts
{
	return split /\|/, ask($session,
		'SELECT ids_issued, tick_waits, grant_waits, extensions, store_errors FROM pg_stat_snowflake');
}

# Clients that only count, so that they are limited by nothing but the layout.
my $count = 'SELECT count(*) FROM (SELECT snowflake_next(100000)) s;';
ask($session, 'SELECT snowflake_next()');
my @before = counts();
my $begin = time;
my @clients = map { start_client($node, [$count]) } 1 .. 2;
wait_until('the time is over', sub { time - $begin > $seconds });
ask_to_stop(@clients);
wait_for_clients(@clients);
my $took = time - $begin;
my @after = counts();
my ($issued, $ticks, $waits, $extensions, $errors) = map { $after[$_] - $before[$_] } 0 .. 4;
note(
	sprintf(
		'%.1f million ids in %.1f s, %.0f %% of the limit; %d extensions',
		$issued / 1e6, $took, $issued / ($took * 4_096_000) * 100, $extensions));

is($waits, 0, 'no call waited for the ceiling');
is($errors, 0, 'no write failed');
cmp_ok($ticks, '>', 0, 'the limit of the layout was reached');
cmp_ok($issued, '>', $took * 4_096_000 / 2, 'for most of the time');

# Once for each half of reserve_ahead, which is 2 s.
cmp_ok($extensions, '>=', int($seconds / 2), 'the ceiling was raised all the time');
cmp_ok($extensions, '<=', $took + 2, 'and no more often than it must be');
is_deeply([ map { errors_of($_) } @clients ], [], 'no call failed');
$node->stop;

done_testing();
