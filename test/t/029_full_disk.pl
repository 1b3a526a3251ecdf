# The disk is full: ids go on to the ceiling, then fail with the disk's error, and go on by themselves
# when there is room again.
#
# It takes a small disk. Where the system lets its users have name spaces, this test mounts a tmpfs in
# one; elsewhere SNOWFLAKE_SMALL_DISK has to name a directory on a file system of its own, 64 kB say,
# that the user may write to.
use strict;
use warnings;

# Starts itself once more: as the root of a name space, who may mount, and then as the user again, whom
# PostgreSQL insists on.
BEGIN
{
	if (!defined $ENV{SNOWFLAKE_SMALL_DISK})
	{
		my $disk = ($ENV{TESTDIR} // '.') . '/small_disk';
		mkdir $disk;
		my ($group) = split / /, $);
		my $enter = q{mount -t tmpfs -o size=64k,mode=0777 tmpfs "$1" || exit 1
			user=$2 group=$3; shift 3
			exec unshare -U --map-user="$user" --map-group="$group" -- "$@"};
		my @inside = ('unshare', '-Urm', 'sh', '-c', $enter, 'sh', $disk, $>, $group);
		my $quietly = '"$@" >/dev/null 2>&1';
		if (system('sh', '-c', $quietly, 'sh', @inside, 'true') == 0)
		{
			$ENV{SNOWFLAKE_SMALL_DISK} = $disk;
			exec @inside, $^X, (map { "-I$_" } @INC), $0;
		}
	}
}

use Faults;
use File::Copy qw(copy);
use Snowflake;
use Test::More;

my $disk = $ENV{SNOWFLAKE_SMALL_DISK};
plan skip_all => 'users have no name spaces here, and SNOWFLAKE_SMALL_DISK is not set'
  unless defined $disk;

my $node = start_server(
	'full_disk',
	'snowflake.machine_id' => 7,
	'snowflake.reserve_ahead' => '3s',
	'snowflake.grant_timeout' => 500,
	'log_statement' => 'none',
	'log_min_error_statement' => 'panic');
my @own = (next_id($node));

# The directory moves there.
$node->stop;
my $directory = $node->data_dir . '/pg_snowflake';
mkdir("$disk/pg_snowflake") or die "$disk/pg_snowflake: $!";
copy("$directory/state", "$disk/pg_snowflake/state") or die "$disk/pg_snowflake/state: $!";
rename($directory, "$directory.away") or die "$directory: $!";
symlink("$disk/pg_snowflake", $directory) or die "$directory: $!";
$node->start;
my @drawers = start_drawers($node, 4);

sub fill
{
	open(my $file, '>', "$disk/filler") or die "$disk/filler: $!";
	1 while defined syswrite($file, 'x' x 1024);
	die "$disk/filler: $!" unless $!{ENOSPC};
	close($file);
	return;
}

check_broken_disk(
	$node,
	\@drawers,
	'could not write file "pg_snowflake/state.new": No space left on device',
	\&fill,
	sub { unlink("$disk/filler") or die "$disk/filler: $!" });
push @own, next_id($node);

# A crash while it is full, and a start: what is on the disk holds.
fill();
kill_postmaster($node);
$node->start;
my $error = is_refused(
	$node,
	'SELECT snowflake_next()',
	'55000',
	qr/could not be recorded in time/,
	'after a start with a full disk no id is generated');
like($error->{detail}, qr/No space left on device/, 'with the error of the disk');
unlink("$disk/filler") or die "$disk/filler: $!";
wait_until('ids are generated', sub { !defined error_of($node, 'SELECT snowflake_next()') });
push @own, next_id($node);
cmp_ok($own[-1], '>', $own[-2], 'with room again, ids go on above');
drawers_go_on(@drawers);

# A stop while it is full.
fill();
$node->stop;
$node->start;
unlink("$disk/filler") or die "$disk/filler: $!";
wait_until('ids are generated', sub { !defined error_of($node, 'SELECT snowflake_next()') });
drawers_go_on(@drawers);
push @own, next_id($node);
cmp_ok($own[-1], '>', $own[-2], 'after a clean stop with a full disk, too');
stop_drawers(@drawers);
$node->stop;

my ($repeats, $all) = count_repeats(\@drawers, @own);
my ($disorder, @runs) = examine_runs(@drawers);
note("$all ids in " . @runs . ' runs of the server');
is($repeats, 0, 'no id comes twice');
is($disorder, 0, 'each client received its ids in ascending order');

# Nothing is left on the disk.
unlink glob("$disk/pg_snowflake/*");
rmdir("$disk/pg_snowflake") or die "$disk/pg_snowflake: $!";

done_testing();
