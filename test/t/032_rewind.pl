# The old primary comes back as a standby of the promoted one by pg_rewind, which replaces its state by
# that of the new primary; and is promoted again.
use strict;
use warnings;
use File::Copy;
use List::Util qw(max min);
use PostgreSQL::Test::Utils;
use Replicas;
use Snowflake;
use Test::More;

my $hour = 3600;
my $one = new_primary('one');
start_at($one, 0);
$one->safe_psql('postgres',
	'CREATE EXTENSION snowflake; CREATE TABLE item (id bigint, payload text)');
$one->safe_psql('postgres', 'INSERT INTO item SELECT snowflake_next(100)');
$one->backup('base');
my $two = new_copy($one, 'base', 'two', has_streaming => 1);
start_at($two, 0);

# Some of what the first one wrote never reaches the second.
my @all;
my $count = 0;

sub write_for_a_while
{
	my ($node) = @_;
	my @clients = start_writing($node, 3);
	$count += 200;
	$node->poll_query_until('postgres', "SELECT count(*) > $count FROM item") or die 'no rows';
	return @clients;
}

my @clients = write_for_a_while($one);
$two->stop;
$one->poll_query_until('postgres', 'SELECT count(*) > 600 FROM item') or die 'no rows';
kill_server($one);
wait_for_clients(@clients);
push @all, map { ids_of($_) } @clients;
start_at($two, 0);
$two->promote;
$two->poll_query_until('postgres', 'SELECT snowflake_next() IS NOT NULL') or die 'no id';
my @rows = rows_of($two);
cmp_ok(scalar(@rows), '<', scalar(@all), 'some of the first one\'s rows never reached the second');
$count = @rows;
@clients = write_for_a_while($two);
stop_clients(@clients);
push @all, map { ids_of($_) } @clients;
is_deeply([ map { errors_of($_) } @clients ], [], 'the second one hands out ids');
is(count_duplicates(@all), 0, 'promoted: no id comes twice (of ' . @all . ')');

# Rewound. The configuration comes with the rest, so the first one's is kept. (Before 17 pg_rewind needs
# a checkpoint to see the new timeline.)
$two->safe_psql('postgres', 'CHECKPOINT');
my $before = state_of($one);
my $conf = $one->data_dir . '/postgresql.conf';
copy($conf, $one->basedir . '/conf') or die "$conf: $!";
command_ok(
	[
		'pg_rewind', '--no-sync', '--target-pgdata', $one->data_dir,
		'--source-server', $two->connstr('postgres')
	],
	'pg_rewind');
copy($one->basedir . '/conf', $conf) or die "$conf: $!";
is(state_of($one)->{directory}, $two->data_dir, 'rewound: the state is the second one\'s');
$one->enable_streaming($two);
my $log = log_position($one);
start_at($one, -20);
is(scalar(warnings_of($one, qr/was copied/, $log)), 1, 'rewound: a warning says so');

move_clock($two, $hour);
@clients = write_for_a_while($two);
stop_clients(@clients);
push @all, map { ids_of($_) } @clients;
$two->wait_for_catchup($one, 'replay', $two->lsn('flush'));
wait_until('the state knows its place', sub { state_of($one)->{directory} eq $one->data_dir });
my $state = state_of($one);
isnt($state->{node}, state_of($two)->{node}, 'rewound: the state has an identity of its own');
cmp_ok($state->{replayed_us}, '>', $before->{replayed_us}, 'rewound: the state has replayed commits');
my @both = map { $_->data_dir } $one, $two;
is_deeply([ map { $_->[0] } grants_of($one, 'data_directory') ],
	\@both, 'rewound: the history goes on');
is($one->safe_psql('postgres', 'SELECT status FROM pg_stat_snowflake'),
	'standby', 'rewound: it is a standby');

# Promoted again, its clock an hour behind.
$log = log_position($one);
kill_server($two);
$one->promote;
my $missing = is_behind($one, 'promoted again: a call is refused while the clock is behind');
cmp_ok($missing, '>', ($hour - 60) * 1000, 'promoted again: by the lead of the other one');
like(
	join('', warnings_of($one, qr/promoted, takes over/, $log)),
	qr/takes over .* in "\Q$both[1]\E"\n.*DETAIL: .* in "\Q$both[0]\E"/,
	'promoted again: a warning names both servers');
move_clock($one, $hour + 10);
my @new = await_ids($one, 1000);
is_new([ @all, rows_of($one) ], \@new, 'promoted again');
cmp_ok(min(@new), '>', max(@all), 'promoted again: ids are above all others');
is_deeply(
	[ map { $_->[0] } grants_of($one, q{concat(data_directory, ' ', timeline)}) ],
	[ "$both[0] 1", "$both[1] 2", "$both[0] 3" ],
	'promoted again: the history goes on, with the timelines');
$one->stop;
start_at($one, $hour + 10);
is_new([ @all, @new ], [ draw($one, 1000) ], 'promoted again, started again');
$one->stop;

done_testing();
