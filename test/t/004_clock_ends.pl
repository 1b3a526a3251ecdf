# The clock outside what ids can hold: before the epoch, in the last year of the 41 bits, and past their
# end. The server starts and decodes in each state, ids are never negative, and calls say what is wrong.
use strict;
use warnings;
use Snowflake;
use Test::More;

# The last 2^20 ms of the 41 bits are left alone.
my $epoch = 1735689600;    # 2025-01-01
my $end = $epoch + ((1 << 41) - (1 << 20)) / 1000;
my $day = 86400;

my $before_epoch = qr/^cannot generate a snowflake id: the clock is before the epoch$/;
my $used_up = qr/^cannot generate a snowflake id: the 41 bits of the timestamp are used up$/;
my $went_back = qr/^cannot generate a snowflake id: the clock has gone back by \d+ ms$/;
my $warning = qr/WARNING: .*41 bits/;

my $node = PostgreSQL::Test::Cluster->new('clock_ends');
$node->init;
configure(
	$node,
	'shared_preload_libraries' => 'snowflake',
	'snowflake.machine_bits' => 16,
	'snowflake.machine_id' => 7,
	'autovacuum' => 'off',
	'log_statement' => 'none',
	'statement_timeout' => "${PostgreSQL::Test::Utils::timeout_default}s",    # if a call waits that must not
	'log_min_error_statement' => 'panic');

sub set_time { set_clock($_[0] - time) }
sub start_at { start_with_fake_clock($node, $_[0] - time) }

sub status
{
	return $node->safe_psql('postgres', 'SELECT status FROM pg_stat_snowflake');
}

# An id, and whether its timestamp is that of the clock.
sub next_id
{
	my ($id, $present) = split /\|/, $node->safe_psql('postgres', q{
		SELECT id, abs(extract(epoch FROM clock_timestamp() - snowflake_timestamp(id))) < 1
		FROM (SELECT snowflake_next() AS id OFFSET 0) s});
	return ($id, $present);
}

sub decodes
{
	my ($what) = @_;
	is( $node->safe_psql('postgres', q{
			SET TimeZone = 'UTC';
			SELECT snowflake_timestamp(id), snowflake_machine(id), snowflake_sequence(id)
			FROM (VALUES (snowflake_make('2030-01-02 03:04:05.678+00', 4711, 42))) v (id)}),
		'2030-01-02 03:04:05.678+00|4711|42',
		"$what: ids are made and read");
	return;
}

# Before the epoch.
start_at($epoch - 100 * $day);
$node->safe_psql('postgres', 'CREATE EXTENSION snowflake');
is(status(), 'clock before epoch', 'before the epoch: the view has the state');
is_refused($node, 'SELECT snowflake_next()', '55000', $before_epoch,
	'before the epoch: a call is refused');
is_refused($node, 'SELECT snowflake_next(5)', '55000', $before_epoch,
	'before the epoch: a series is refused');
decodes('before the epoch');
set_time($epoch + 100 * $day);
my ($first, $present) = next_id();
is($present, 't', 'before the epoch: ids flow when the clock is right');
is(status(), 'issuing', 'before the epoch: the view has the state when the clock is right');
set_time($epoch - 100 * $day);
is_refused($node, 'SELECT snowflake_next()', '55000', $before_epoch,
	'before the epoch: a call is refused after ids were issued, too');
is(status(), 'clock before epoch', 'before the epoch: the view has the state again');
set_time($epoch + 101 * $day);
cmp_ok((next_id())[0], '>', $first, 'before the epoch: ids flow again');
is(scalar(log_lines($node, $warning)), 0, 'no warning of the end in the first year');

# The last year, reached by a running server: one line in the log per day, however many ids.
my $log = log_position($node);
set_time($end - 367 * $day);
next_id();
is(scalar(log_lines($node, $warning, $log)), 0, 'no warning of the end before the last year');
set_time($end - 300 * $day - 100);
for (1 .. 3)
{
	my ($id, $present) = next_id();
	is($present, 't', 'last year: ids are fine');
}
$node->safe_psql('postgres', 'SELECT count(snowflake_next()) FROM generate_series(1, 1000)');
is(scalar(log_lines($node, $warning, $log)), 1, 'last year: one warning in the log');
is(status(), 'issuing', 'last year: the view has the state');
$node->stop;

# The last year, at the start of a server.
$log = log_position($node);
start_at($end - 200 * $day - 100);
is(scalar(log_lines($node, $warning, $log)), 1, 'last year: a start warns');
(undef, $present) = next_id();
is($present, 't', 'last year: ids are fine after a start');
is(scalar(log_lines($node, $warning, $log)), 1, 'last year: no second warning on the day of the start');
decodes('last year');

# The end comes while sessions draw ids, and wait for them: 64 are there per millisecond.
set_time($end - 3);
my @clients = map {
	start_client(
		$node,
		[   (   'COPY (SELECT snowflake_next() FROM (SELECT generate_series(1, 200)) s) TO STDOUT;',
				'COPY (SELECT snowflake_next(200)) TO STDOUT;')[ $_ % 2 ]
		])
} 1 .. 4;
wait_until('each session has an error', sub { !grep { !errors_of($_) } @clients });
stop_clients(@clients);
my @ids = map { ids_of($_) } @clients;
my %errors = map { s/: .*: /: /r => 1 } map { errors_of($_) } @clients;
is_deeply([ keys %errors ], ['2200H: the 41 bits of the timestamp are used up'],
	'the end: sessions are refused');
cmp_ok(scalar(@ids), '>', 0, 'the end: they received ids before');
is(count_duplicates(@ids), 0, 'the end: no id comes twice (of ' . @ids . ')');
my $limit = ((1 << 41) - (1 << 20)) << 22;
is(scalar(grep { $_ <= 0 || $_ >= $limit } @ids), 0, 'the end: no id is negative, or past the end');
is_refused($node, 'SELECT snowflake_next()', '2200H', $used_up, 'the end: a call is refused');
is(status(), 'used up', 'the end: the view has the state');
is( $node->safe_psql('postgres', 'SELECT last_timestamp < used_up_at FROM pg_stat_snowflake'),
	't', 'the end: the last id is before it');

# Past the end of what 64 bits can hold, and a start there.
set_time($end + 366 * $day);
is_refused($node, 'SELECT snowflake_next(5)', '2200H', $used_up,
	'past the end: a series is refused');
decodes('past the end');
$node->stop;
start_at($end + 100 * 366 * $day);
is_refused($node, 'SELECT snowflake_next()', '2200H', $used_up,
	'past the end: a call is refused after a start');
is(status(), 'used up', 'past the end: the view has the state');
decodes('past the end, after a start');

# Marks outlive restarts: where a clock was at the end of time, another machine id goes on.
set_time($epoch + 102 * $day);
is_refused($node, 'SELECT snowflake_next()', '55000', $went_back,
	'past the end: a call is refused when the clock is right');
$node->stop;
start_at($epoch + 102 * $day);
is_refused($node, 'SELECT snowflake_next()', '55000', $went_back,
	'past the end: and after a restart as well');
switch_to($node, 9);
($first, $present) = next_id();
is($present, 't', 'past the end: ids flow under another machine id');
is(status(), 'issuing', 'past the end: the view has the state under another machine id');

$node->stop;
done_testing();
