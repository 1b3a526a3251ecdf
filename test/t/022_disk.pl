# The state file cannot be written: ids go on to the ceiling, and by themselves when it can be written
# again. It cannot be trusted: the server refuses to start, names it, and the way out is one.
use strict;
use warnings;
use Faults;
use File::Path qw(rmtree);
use PostgreSQL::Test::Utils;
use Snowflake;
use Test::More;

my $reserve_ms = 3000;

my $node = start_server(
	'disk',
	'snowflake.machine_id' => 7,
	'snowflake.reserve_ahead' => $reserve_ms,
	'snowflake.grant_timeout' => 500,
	'log_statement' => 'none',
	'log_min_error_statement' => 'panic');
my $directory = $node->data_dir . '/pg_snowflake';
my $state = state_file($node);
my @own = (next_id($node));
my @drawers = start_drawers($node, 4);


# A directory that cannot be written

my $cannot = 'could not create file "pg_snowflake/state.new": Permission denied';
check_broken_disk(
	$node, \@drawers, $cannot,
	sub { chmod(0500, $directory) or die "$directory: $!" },
	sub { chmod(0700, $directory) or die "$directory: $!" });
push @own, next_id($node);

# While calls wait, and with nobody who calls again: the wait ends when the cause does.
stop_drawers(@drawers);
chmod(0500, $directory) or die "$directory: $!";
wait_until('the ceiling is reached', sub { ms_now() >= ceiling_ms($node) });
my $waiting = start_client(
	$node,
	[ q{SET snowflake.grant_timeout = '60s';}, 'COPY (SELECT snowflake_next()) TO STDOUT;' ],
	repeat => 1, name => 'waiting');
wait_until(
	'a call waits',
	sub {
		$node->safe_psql('postgres',
			q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'waiting'
			AND wait_event_type = 'Extension'}) == 1;
	});
chmod(0700, $directory) or die "$directory: $!";
my $begin_ms = ms_now();
wait_for_clients($waiting);
cmp_ok(ms_now() - $begin_ms, '<', 5000, 'a call that waits goes on soon after it can be written');
is(scalar ids_of($waiting), 1, 'it gets its id');
push @own, ids_of($waiting);

# At the start and at the stop.
$node->stop;
chmod(0500, $directory) or die "$directory: $!";
$node->start;
my $error = is_refused(
	$node,
	'SELECT snowflake_next()',
	'55000',
	qr/could not be recorded in time/,
	'no id is generated after a start with a directory that cannot be written');
like($error->{detail}, qr/\Q$cannot\E/, 'with the error of the disk');
is($node->safe_psql('postgres', "SELECT snowflake_machine($own[0])"), '7', 'decoding works');
chmod(0700, $directory) or die "$directory: $!";
wait_until('ids are generated',
	sub { !defined error_of($node, 'SELECT snowflake_next()') });
push @own, next_id($node);
chmod(0500, $directory) or die "$directory: $!";
$node->stop;
chmod(0700, $directory) or die "$directory: $!";
$node->start;
my ($id, $waited_ms) = first_call($node);
cmp_ok($waited_ms, '<', $reserve_ms + 1000, 'then the restart waits for what was reserved');
cmp_ok($id, '>', $own[-1], 'and goes on above');
push @own, $id;


# A file that cannot be trusted

my $keep = qr/^Let the user that runs the server read and write it\. Do not remove it\.$/;
my $hint =
  qr/Restore it from a copy that is not older than the last id, or remove the directory "pg_snowflake" when the clock is certain to be past the last id/;
my $damaged = qr/^file "pg_snowflake\/state" is damaged$/;
$node->stop;
my $good = state_bytes($node);
my $size = length $good;

foreach my $left (1, 100, $size - 1)
{
	put_state($node, substr($good, 0, $left));
	fails_to_start($node, "$left of the file's $size bytes", $damaged, qr/size/, $hint);
}
put_state($node, '');
fails_to_start($node, 'an empty file', $damaged, qr/size/, $hint);
put_state($node, "$good\0");
fails_to_start($node, 'a byte too much', $damaged, qr/size/, $hint);

# One bit each: magic, version, size, epoch, machine bits, counts, floor, host name, marks, grants, CRC.
my @offsets = (0, 8, 12, 16, 24, 28, 32, 64, 80, 328, 336, 400, $size - 300, $size - 4, $size - 1);
foreach my $offset (@offsets)
{
	my $bytes = $good;
	substr($bytes, $offset, 1) ^= chr(1 << $offset % 8);
	put_state($node, $bytes);
	fails_to_start($node, "a bit flipped in byte $offset", $damaged, qr/./, $hint);
}

unlink($state) or die "$state: $!";
fails_to_start($node, 'the directory without the file',
	qr/could not open file "pg_snowflake\/state": No such file or directory/, qr/./, $hint);
mkdir($state) or die "$state: $!";
fails_to_start($node, 'a directory in its place',
	qr/could not read file "pg_snowflake\/state": Is a directory/, qr/./, $keep);
rmdir($state) or die "$state: $!";
put_state($node, $good);
chmod(0000, $state) or die "$state: $!";
fails_to_start(
	$node,
	'a file that cannot be read',
	qr/could not open file "pg_snowflake\/state": Permission denied/,
	qr/^(?!.*but not the file)/,    # it is there
	$keep);
chmod(0600, $state) or die "$state: $!";

# The ways out: the file from a copy …
put_state($node, $good);
$node->start;
push @own, next_id($node);
cmp_ok($own[-1], '>', $own[-2], 'with the file restored, ids go on above');
$node->stop;

# … and without the directory, the clock being past the last id.
put_state($node, substr($good, 1));
fails_to_start($node, 'damaged once more', $damaged, qr/./, $hint);
rmtree($directory);
$node->start;
push @own, next_id($node);
cmp_ok($own[-1], '>', $own[-2], 'with the directory removed, ids start at the clock');
is($node->safe_psql('postgres', 'SELECT count(*) FROM snowflake_grants'),
	1, 'and the history anew');
ok(-f $state, 'the file is there again');
$node->stop;


# What a crash in the middle of a write leaves

$good = state_bytes($node);
append_to_file("$state.new", substr($good, 0, 100));
mkdir("$directory.new") or die "$directory.new: $!";
append_to_file("$directory.new/state", 'nonsense');
append_to_file("$directory.new/state.new", 'nonsense');
$node->start;
push @own, next_id($node);
cmp_ok($own[-1], '>', $own[-2], 'files of a write that was interrupted do no harm');
$node->stop;
ok(!-e "$state.new", 'the next write uses it up');

# The very first write, interrupted.
rmtree($directory);
rmtree("$directory.new");
mkdir("$directory.new") or die "$directory.new: $!";
append_to_file("$directory.new/state", substr($good, 0, 100));
$node->start;
push @own, next_id($node);
cmp_ok($own[-1], '>', $own[-2], 'nor do those of the very first write');
ok(-f $state, 'the file is there');
ok(!-e "$directory.new", 'the directory has its name');
$node->stop;


# Settings that give ids another meaning

configure($node, 'snowflake.epoch' => '2024-01-01 00:00:00+00');
fails_to_start(
	$node,
	'another epoch than recorded',
	qr/^snowflake\.epoch is not the one that this data directory's ids have$/,
	qr/1704067200000.* 1735689600000/,
	qr/Set snowflake\.epoch to '1735689600000'/);
configure($node, 'snowflake.epoch' => '1735689600000', 'snowflake.machine_bits' => 8);
fails_to_start(
	$node,
	'other machine_bits than recorded',
	qr/^snowflake\.machine_bits is not what this data directory's ids have$/,
	qr/set to 8.* 10 /,
	qr/Set snowflake\.machine_bits to 10/);
configure($node, 'snowflake.machine_bits' => 10);
$node->start;
push @own, next_id($node);
cmp_ok($own[-1], '>', $own[-2], 'with the hints followed, ids go on above');
$node->stop;

my ($repeats, $all) = count_repeats(\@drawers, @own);
note("$all ids");
is($repeats, 0, 'no id comes twice');

done_testing();
