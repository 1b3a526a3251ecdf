# A hundred crashes of every kind while clients draw ids: no id comes twice; the ceiling that was on disk
# when the server died lies between all ids before and all ids after; and no restart waits for longer
# than snowflake.reserve_ahead.
use strict;
use warnings;
use Faults;
use List::Util qw(max min shuffle sum);
use Snowflake;
use Test::More;

my %rounds = (
	'immediate stop' => 20,
	'SIGKILL of the postmaster' => 20,
	'SIGKILL of a backend' => 30,
	'SIGKILL of the worker' => 30);
my $rounds = sum(values %rounds);
my $reserve_ms = 200;

# By how much a process may be held up on a busy machine.
my $leeway_ms = 700;

my $seed = srand;
diag("random seed: $seed");

my $node = start_server(
	'crashes',
	'snowflake.machine_id' => 7,
	'snowflake.reserve_ahead' => $reserve_ms,
	'restart_after_crash' => 'on',
	'checkpoint_timeout' => '1h',
	'log_statement' => 'none',
	'log_min_error_statement' => 'panic');

# Each returns when the server had ended: no ceiling was recorded after that.
my %faults = (
	'immediate stop' => sub {
		stop_immediately($node);
		my $at = ms_now();
		$node->start;
		return $at;
	},
	'SIGKILL of the postmaster' => sub {
		kill_postmaster($node);
		my $at = ms_now();
		$node->start;
		return $at;
	},
	'SIGKILL of a backend' => sub { return kill_backend($node) },
	'SIGKILL of the worker' => sub { return kill_worker($node) });

my @own;         # the ids of the test's own calls, one after each crash,
my @ceilings;    # and the first ids beyond the ceilings of those crashes
my $longest_ms = 0;

# The first call after a crash. Returns by how much its id is later than reserve_ahead after the crash,
# or than the call itself.
sub draw_after_crash
{
	my ($crash_ms) = @_;
	my ($begin_ms, $id, $ceiling) = split /\|/, $node->safe_psql(
		'postgres', q{
		SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint, snowflake_next(),
			(SELECT snowflake_floor(ceiling) FROM snowflake_grants
				WHERE ended IS NOT NULL ORDER BY ended DESC LIMIT 1)});
	push @own, $id;
	push @ceilings, $ceiling;
	$longest_ms = max($longest_ms, ms_of_id($id) - $begin_ms);
	return ms_of_id($id) - max($begin_ms, $crash_ms + $reserve_ms);
}

my @drawers = start_drawers($node, 4);
my %late;
foreach my $fault (shuffle map { ($_) x $rounds{$_} } keys %faults)
{
	drawers_go_on(@drawers);
	push @{ $late{$fault} }, draw_after_crash($faults{$fault}->());
}
drawers_go_on(@drawers);
stop_drawers(@drawers);

foreach my $fault (sort keys %faults)
{
	my @late = @{ $late{$fault} };
	is(scalar @late, $rounds{$fault}, "$fault: rounds");
	is(scalar(grep { $_ > $leeway_ms } @late),
		0, "$fault: no restart waits for longer than reserve_ahead")
	  or diag("ms late: @late");
}
note("longest wait of the first call after a crash: $longest_ms ms");

my ($repeats, $all) = count_repeats(\@drawers, @own);
my ($disorder, @runs) = examine_runs(@drawers);
note("$all ids in " . @runs . ' runs of the server');
cmp_ok($all, '>', 100 * $rounds, 'ids were drawn all the time');
is($repeats, 0, 'no id comes twice');
is($disorder, 0, 'each client received its ids in ascending order');
is(scalar @runs, $rounds + 1, 'clients drew in every run of the server');
my @before = grep { $runs[$_]{high} >= $ceilings[$_] } 0 .. $#ceilings;
my @after = grep { min($runs[ $_ + 1 ]{low}, $own[$_]) < $ceilings[$_] } 0 .. $#ceilings;
is("@before", '', 'all ids before a crash lie below the ceiling that was on disk');
is("@after", '', 'all ids after it do not');
is_deeply([ errors_of_drawers(@drawers) ], [], 'no call was refused');

$node->stop;

done_testing();
