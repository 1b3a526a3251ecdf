# snowflake_backfill() hands out no id twice: many sessions on few milliseconds, in two databases, with
# transactions that are rolled back, through crashes, restarts and a promotion. Counted are all ids that
# a session received.
use strict;
use warnings;
use Replicas;
use Snowflake;
use Test::More;

my $node = new_primary(
	'primary',
	{   'snowflake.backfill_machine_id' => '512-1023',
		'restart_after_crash' => 'on',
		'max_connections' => 100 });
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql($_, 'CREATE EXTENSION snowflake; CREATE TABLE item (id bigint)')
  for qw(postgres other);
$node->backup('early');

# Five milliseconds, at the border of two spans (of 2^20 ms) or within one.
sub drawing
{
	my ($count, $from) = @_;
	$from //= 300 * 2**20 - 2;
	return "SELECT snowflake_backfill(snowflake_timestamp(($from + n % 5)::bigint << 22)) "
	  . "FROM (SELECT generate_series(1, $count) AS n) s";
}

my @all;

sub draw_all_the_time
{
	my $sql = drawing(200);
	my @clients = map { start_client($node, $_->[1], database => $_->[0], pause => 0.002) } (
		[ 'postgres', ["COPY ($sql) TO STDOUT;"] ],
		[ 'other', ["COPY ($sql) TO STDOUT;"] ],
		[ 'postgres', ["BEGIN; COPY ($sql) TO STDOUT; ROLLBACK;"] ],
		[   'other',
			[   "BEGIN; SAVEPOINT s; COPY ($sql) TO STDOUT; ROLLBACK TO s; COPY ($sql) TO STDOUT; COMMIT;"
			]
		]);
	wait_until('each session has received ids', sub { !grep { -s $_->{ids} < 20_000 } @clients });
	return @clients;
}

sub check
{
	my ($what, @clients) = @_;
	my @errors = grep { !/connection|terminat|57P0/ } map { errors_of($_) } @clients;
	is_deeply(\@errors, [], "$what: no call fails");
	push @all, map { ids_of($_) } @clients;
	is(count_duplicates(@all), 0, "$what: no id comes twice (of " . @all . ')');
	is(scalar(grep { machine_of($_) < 512 } @all), 0, "$what: all have the machine ids");
	return;
}

{
	my @clients = draw_all_the_time();
	stop_clients(@clients);
	check('side by side', @clients);
}
foreach my $round (1 .. 3)
{
	my @clients = draw_all_the_time();
	my $session = $node->safe_psql('postgres',
		q{SELECT pid FROM pg_stat_activity WHERE application_name = 'client' ORDER BY pid LIMIT 1});
	my $log = log_position($node);
	kill('KILL', $session);
	wait_for_clients(@clients);
	$node->wait_for_log(qr/all server processes terminated; reinitializing/, $log);
	$node->poll_query_until('postgres', 'SELECT true');
	check("session killed, $round", @clients);
}
foreach my $how (qw(kill immediate fast))
{
	my @clients = draw_all_the_time();
	$how eq 'kill' ? kill_server($node) : $node->stop($how);
	wait_for_clients(@clients);
	$node->start;
	check("server ended, $how", @clients);
}

# Another setting and back: what a session held for the first it does not go on with as if it were new.
sub set_machine_id
{
	my ($id) = @_;
	$node->safe_psql('postgres', "ALTER SYSTEM SET snowflake.backfill_machine_id = '$id'");
	$node->reload;
	$node->poll_query_until('postgres', "SELECT current_setting('snowflake.backfill_machine_id') = '$id'")
	  or die 'not reloaded';
	return;
}
{
	my @clients = draw_all_the_time();
	foreach my $block ('512-767', '768-1023', '512-1023', '512-767')
	{
		set_machine_id($block);
		wait_until("each session has ids of $block", sub {
			!grep { my @ids = ids_of($_); !block_has($block, machine_of($ids[-1])) } @clients });
	}
	stop_clients(@clients);
	check('machine ids changed', @clients);
}

# A standby made from a backup of before, which knows what it knows from the WAL only, is restarted,
# and takes over. Messages of the same name that say something else do not disturb it.
{
	my $standby = new_copy($node, 'early', 'standby', has_streaming => 1);
	$standby->start;
	$node->safe_psql('postgres', "SELECT pg_logical_emit_message(false, 'snowflake_backfill', $_)")
	  for q{''}, q{'x'}, q{'\\xffffffff0000000001000000'::bytea},
	  q{'\\x00020000ffffffff01000000'::bytea}, q{'\\x0002000000000000ffffff7f'::bytea};
	my @rows = map { $_ + 0 } split /\n/,
	  $node->safe_psql('postgres', 'INSERT INTO item ' . drawing(300) . ' RETURNING id');
	$node->wait_for_catchup($standby, 'replay', $node->lsn('flush'));
	is($standby->safe_psql('postgres', 'SELECT count(*) FROM item'), 300, 'standby: it has the rows');
	like(
		error_of($standby, drawing(1))->{message},
		qr/cannot execute snowflake_backfill\(\) during recovery/,
		'standby: it refuses');
	$standby->stop('immediate');
	$standby->start;
	kill_server($node);
	$standby->promote;
	my @ids = map { $_ + 0 } split /\n/, $standby->safe_psql('postgres', drawing(500));
	is(count_duplicates(@all, @rows, @ids), 0, 'promoted: no id comes twice');
	is(scalar(@ids), 500, 'promoted: it generates');
	$standby->stop;
	$node->start;
}

# A standby whose file is damaged goes on with its recovery all the same. When it is promoted it does not
# generate what it cannot know.
{
	my $standby = new_copy($node, 'early', 'damaged', has_streaming => 1);
	$standby->start;
	$node->safe_psql('postgres', 'INSERT INTO item ' . drawing(300));
	$node->wait_for_catchup($standby, 'replay', $node->lsn('flush'));
	foreach my $path (glob $standby->data_dir . '/pg_snowflake_backfill/*')
	{
		open(my $file, '+<:raw', $path) or die "$path: $!";
		print $file pack('L', 0x12345) x 1000;
		close($file);
	}
	my $log = log_position($standby);
	$node->safe_psql('postgres', 'INSERT INTO item ' . drawing(300));
	$node->wait_for_catchup($standby, 'replay', $node->lsn('flush'));
	my ($machine) = join("\n", log_lines($standby, qr/WARNING/, $log)) =~
	  /no id of the past will be generated under machine id (\d+)/;
	ok(defined $machine, 'a damaged file: recovery goes on, with a warning');
	kill_server($node);
	$standby->promote;
	$standby->append_conf('postgresql.auto.conf', "snowflake.backfill_machine_id = '$machine'");
	$standby->restart;
	is_refused($standby, drawing(1), '55000', qr/it is not known which there are/,
		'a damaged file: the promoted server refuses');
	$standby->stop;
	$node->start;
}

# Refusals.
set_machine_id('');
is_refused($node, drawing(1), '55000', qr/there is no machine id for it/, 'no machine id');
set_machine_id('7');
is_refused($node, drawing(1), '55000', qr/its machine id is the server's own/, 'the own machine id');
set_machine_id('0-15');
is_refused($node, drawing(1), '55000', qr/its machine id is the server's own/, 'a block with the own one');
switch_to($node, '20');
is_refused($node, drawing(1), '55000', qr/its machine id was the server's own/, 'one that was its own');
switch_to($node, '');
is_refused($node, drawing(1), '55000', qr/its machine id was the server's own/, 'not even without one');

# Machine id 0 has one id less: the one that is never issued.
set_machine_id('0');
is($node->safe_psql('postgres',
		q{SELECT count(DISTINCT id), min(id & 4194303)
		  FROM (SELECT snowflake_backfill('2025-02-01') AS id FROM generate_series(1, 4095)) s}),
	'4095|1', 'machine id 0');

# An entry that is damaged, a file that cannot be written.
my $directory = $node->data_dir . '/pg_snowflake_backfill';
set_machine_id('30');
$node->safe_psql('postgres', drawing(1));
open(my $file, '+<:raw', "$directory/30") or die $!;
seek($file, 4 * 300, 0);
print $file pack('L', 0x12345);
close($file);
is_refused($node, drawing(1, 300 * 2**20), 'XX001', qr/file "pg_snowflake_backfill\/30" is damaged/,
	'a damaged entry');
$node->safe_psql('postgres', drawing(1, 301 * 2**20));
set_machine_id('31');
mkdir "$directory/31" or die $!;
like(error_of($node, drawing(1))->{message}, qr/could not open file "pg_snowflake_backfill\/31"/,
	'a file that cannot be opened');
rmdir "$directory/31" or die $!;
$node->safe_psql('postgres', drawing(1));

# With 16 bits of machine id a share is a single id, and a machine id has 64 of them.
$node->stop;
forget_marks($node);
configure($node, 'snowflake.machine_bits' => 16);
$node->append_conf('postgresql.auto.conf', "snowflake.backfill_machine_id = '4000-4001'");
$node->start;
is( $node->safe_psql('postgres',
		q{SELECT count(DISTINCT id), min(snowflake_machine(id)), max(snowflake_machine(id))
		  FROM (SELECT snowflake_backfill('2025-02-01') AS id FROM generate_series(1, 128)) s}),
	'128|4000|4001', 'machine_bits 16: all ids of a millisecond');
is_refused($node, q{SELECT snowflake_backfill('2025-02-01 00:00:01')}, '2200H', qr/are used up/,
	'machine_bits 16: another session has none left');
$node->stop;
done_testing();
