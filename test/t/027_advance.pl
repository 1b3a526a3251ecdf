# snowflake_advance(): who may call it, what it refuses, and that no id is ever generated at or below
# the one that it was given, whatever happens to the server.
use strict;
use warnings;
use Faults;
use Snowflake;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('advance');
$node->init;
configure(
	$node,
	'shared_preload_libraries' => 'snowflake',
	'snowflake.machine_id' => 7,
	'checkpoint_timeout' => '1h',
	'log_statement' => 'none');
start_with_fake_clock($node, 0);
$node->safe_psql('postgres', 'CREATE EXTENSION snowflake');
my @own = (next_id($node));
my @drawers;

# An id so many milliseconds ahead of the server's clock.
sub id_ahead
{
	my ($ms) = @_;
	return $node->safe_psql('postgres',
		"SELECT snowflake_make(clock_timestamp() + $ms * interval '1 ms', 3, 5)");
}

sub advance { return $node->safe_psql('postgres', "SELECT snowflake_advance($_[0])") }

sub open_grants
{
	return $node->safe_psql('postgres', 'SELECT count(*) FROM snowflake_grants WHERE ended IS NULL');
}


# Privileges

$node->safe_psql('postgres', 'CREATE ROLE somebody; CREATE ROLE mover');
$node->safe_psql('postgres', 'GRANT EXECUTE ON FUNCTION snowflake_advance(bigint) TO mover');
is(error_of($node, 'SET ROLE somebody; SELECT snowflake_advance(1)')->{sqlstate},
	'42501', 'not for PUBLIC');
is(error_of($node, 'SET ROLE mover; SELECT snowflake_advance(1)'), undef, 'for whom it is granted to');
is(error_of($node, 'SET ROLE somebody; SELECT * FROM snowflake_grants')->{sqlstate},
	'42501', 'snowflake_grants is not for PUBLIC');
$node->safe_psql('postgres', 'GRANT pg_monitor TO somebody');
is(error_of($node, 'SET ROLE somebody; SELECT * FROM snowflake_grants'),
	undef, 'it is for pg_monitor');


# What it refuses, and what changes nothing

is_refused($node, 'SELECT snowflake_advance(-1)',
	'22003', qr/^snowflake id must not be negative$/, 'a negative id');
my $far = id_ahead(3_600_000 + 60_000);
is_refused($node, "SELECT snowflake_advance($far)",
	'22023', qr/^snowflake id is too far in the future to advance to$/, 'an hour and a minute ahead');
is_refused($node, 'SELECT snowflake_advance(9223372036854775807)',
	'22023', qr/too far in the future/, 'the largest id');
is($node->safe_psql('postgres', 'SELECT snowflake_advance(NULL) IS NULL'), 't', 'NULL');
advance($own[0]);
advance(0);
my ($now, $now_ms) = first_call($node);
cmp_ok($now_ms, '<', 1000, 'an id that has been passed already changes nothing');
push @own, $now;


# A second ahead, under load: ids go on above it, and calls wait till then

@drawers = start_drawers($node, 4);
drawers_go_on(@drawers);
my $target = id_ahead(1000);
advance($target);
my ($next, $waited_ms) = first_call($node);
cmp_ok($next, '>', $target, 'the next id is above it');
cmp_ok(ms_of_id($next), '<', ms_of_id($target) + 1000, 'and just so');
push @own, $next;
drawers_go_on(@drawers);
is(open_grants(), 1, 'there is one grant that has not ended');
is( $node->safe_psql(
		'postgres', q{
		SELECT s.machine_id, s.status, s.ceiling = g.ceiling, s.last_id > } . $target . q{
		FROM pg_stat_snowflake s JOIN snowflake_grants g ON g.ended IS NULL}),
	'7|issuing|t|t',
	'pg_stat_snowflake and snowflake_grants agree');
stop_drawers(@drawers);
is_deeply([ errors_of_drawers(@drawers) ], [], 'no call failed');

# It was the same millisecond for all: each client has ids up to the moment of the call, and then from
# the target on.
my ($low) = sort { $a <=> $b } grep { $_ > $target } map { ids_of_drawer($_) } @drawers;
cmp_ok($low, '>=', (($target >> 22) + 1) << 22, 'ids go on in the millisecond after it');


# A minute ahead, and the server dies right then

$target = id_ahead(60_000);
advance($target);
stop_immediately($node);
start_with_fake_clock($node, 0);
my $error = is_refused(
	$node,
	'SELECT snowflake_next()',
	'55000',
	qr/^cannot generate a snowflake id: the clock is behind by (\d+) ms$/,
	'after an immediate stop it holds');

# For all machine ids, for ids were carried over from another generator.
configure($node, 'snowflake.machine_id' => 8);
$node->reload;
wait_until('the machine id has changed',
	sub { $node->safe_psql('postgres', 'SELECT machine_id FROM pg_stat_snowflake') eq '8' });
$error = is_refused($node, 'SELECT snowflake_next()', '55000', qr/is behind by/,
	'and for other machine ids');
unlike($error->{hint} // '', qr/machine_id/, 'so the hint does not name them as the way out');

# When the clock gets there.
set_clock(61);
push @own, next_id($node);
cmp_ok($own[-1], '>', $target, 'ids go on above it when the clock gets there');
is(open_grants(), 1, 'each grant but the last one has ended');

# Without a machine id there is nobody to hold back yet, but it counts later.
configure($node, 'snowflake.machine_id' => '');
$node->reload;
wait_until('there is no machine id',
	sub { $node->safe_psql('postgres', 'SELECT status FROM pg_stat_snowflake') eq 'no machine id' });
$target = id_ahead(30_000);
advance($target);
kill_postmaster($node);
configure($node, 'snowflake.machine_id' => 9);
start_with_fake_clock($node, 61);
is_refused($node, 'SELECT snowflake_next()', '55000', qr/is behind by/,
	'an advance without a machine id, and a crash: it holds for the next machine id');
set_clock(92);
push @own, next_id($node);
cmp_ok($own[-1], '>', $target, 'ids go on above it');

# Many of them leave the history to the grants that matter.
my $before = $node->safe_psql('postgres', 'SELECT machine_id FROM snowflake_grants LIMIT 1');
$node->safe_psql('postgres',
	'SELECT snowflake_advance(snowflake_next()) FROM generate_series(1, 300)');
is($node->safe_psql('postgres', 'SELECT machine_id FROM snowflake_grants LIMIT 1'),
	$before, '300 advances do not push the other grants out of the history');
push @own, next_id($node);
is(count_disorder(@own), 0, 'ids are in order');
$node->stop;

my ($repeats, $all) = count_repeats(\@drawers, @own);
my ($disorder) = examine_runs(@drawers);
note("$all ids");
is($repeats, 0, 'no id comes twice');
is($disorder, 0, 'each client received its ids in ascending order');

done_testing();
