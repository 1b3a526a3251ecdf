# A data directory that was copied: by pg_basebackup under load, by recovery to a point in time, by
# moving it. No copy hands out an id that is in its data, and each one says what it is.
use strict;
use warnings;
use File::Copy;
use List::Util qw(max min);
use PostgreSQL::Test::Utils;
use Replicas;
use Snowflake;
use Test::More;

my $hour = 3600;
my $was_copied = qr/this data directory, which bears snowflake\.machine_id 7, was copied/;

my $primary = new_primary('primary', {}, has_archiving => 1, extra => ['--data-checksums']);
start_at($primary, 0);
$primary->safe_psql('postgres',
	'CREATE EXTENSION snowflake; CREATE TABLE item (id bigint, payload text)');
my $host = $primary->safe_psql(
	'postgres', 'SELECT snowflake_next() > 0; SELECT host FROM snowflake_grants');
$host =~ s/.*\n//;
$primary->backup('archived');

# A copy says what it is, in its log and in the history.
sub is_copy
{
	my ($node, $of, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($here, $there) = map { $_->data_dir } $node, $of;
	my @warnings = warnings_of($node, $was_copied);
	is(scalar(@warnings), 1, "$what: there is a warning");
	like(
		$warnings[0] // '',
		qr/DETAIL: +It was on host "\Q$host\E" in "\Q$there\E", and is on host "\Q$host\E" in "\Q$here\E"\./,
		"$what: the warning names both places");
	like(
		$warnings[0] // '',
		qr/HINT: .* both generate the same ids: give this one a machine id of its own/,
		"$what: the warning names the danger and the remedy");
	my @grants = grants_of(
		$node, q{data_directory, machine_id, source, ended IS NULL, ceiling > granted,
			granted >= lag(granted, 1, granted) OVER ()});
	is_deeply($grants[-1], [ $here, '7', 'setting', 't', 't', 't' ],
		"$what: the newest grant is this one's");
	is_deeply($grants[0], [ $there, '7', 'setting', 'f', 't', 't' ],
		"$what: the history begins with the original's");
	my $state = state_of($node);
	is($state->{directory}, $here, "$what: the state knows its place");
	isnt($state->{node}, state_of($of)->{node}, "$what: the state has an identity of its own");
	return;
}

# Base backups, under load; the servers that are made of them are no standbys.
my @clients = start_writing($primary, 3);
foreach my $method ('fetch', 'stream')
{
	$primary->poll_query_until('postgres', 'SELECT count(*) > 200 FROM item') or die 'no rows';
	$primary->backup("base_$method", backup_options => [ '-X', $method ]);
}
stop_clients(@clients);
is_deeply([ map { errors_of($_) } @clients ], [], 'backups do not disturb the clients');
my @all = map { ids_of($_) } @clients;

foreach my $method ('fetch', 'stream')
{
	my $what = "pg_basebackup -X $method";
	my $backup = $primary->backup_dir . "/base_$method";
	ok(-f "$backup/pg_snowflake/state", "$what: the state is in the backup");
	command_ok([ 'pg_verifybackup', $backup ], "$what: pg_verifybackup has no complaint");

	my $node = new_copy($primary, "base_$method", $method);
	start_at($node, 0);
	my @rows = rows_of($node);
	my @ids = draw($node, 1000);
	is_copy($node, $primary, $what);
	is_new(\@rows, \@ids, "$what, rows of the backup");
	is_new(\@all, \@ids, "$what, all ids of the original");

	my $log = log_position($node);
	$node->stop;
	command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ],
		"$what: pg_checksums has no complaint");
	start_at($node, 0);
	is_deeply([ warnings_of($node, qr/copied/, $log) ], [], "$what: the next start has no warning");
	my @more = draw($node, 1000);
	is_new([ @all, @rows, @ids ], \@more, "$what, started again");
	$node->stop;
}

# The original is not disturbed, and starts without a warning.
{
	my $log = log_position($primary);
	$primary->stop;
	start_at($primary, 0);
	is_deeply([ warnings_of($primary, qr/./, $log) ], [], 'the original starts without a warning');
}

# Recovery to a point in time. The new server's clock is behind; what it does not know of, the ids of the
# original after that point, it does not repeat once its clock is right.
{
	my $what = 'recovery to a point in time';
	move_clock($primary, 2 * $hour);
	my $insert = 'INSERT INTO item SELECT snowflake_next(1000) RETURNING id';
	my @before = map { $_ + 0 } split /\n/, $primary->safe_psql('postgres', $insert);
	$primary->safe_psql('postgres', q{SELECT pg_create_restore_point('here')});
	my @after = map { $_ + 0 } split /\n/, $primary->safe_psql('postgres', $insert);
	my $segment = $primary->safe_psql('postgres', 'SELECT pg_walfile_name(pg_switch_wal())');
	$primary->poll_query_until('postgres',
		"SELECT last_archived_wal >= '$segment' FROM pg_stat_archiver")
	  or die 'not archived';
	$primary->stop;

	my $node =
	  new_copy($primary, 'archived', 'restored', has_restoring => 1, standby => 0);
	configure(
		$node,
		'recovery_target_name' => 'here',
		'recovery_target_action' => 'promote');
	start_at($node, 0);
	$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'not recovered';
	my @rows = rows_of($node);
	is(count_repeats(\@rows, \@before), 1000, "$what: it has the rows before");
	is(count_repeats(\@rows, \@after), 0, "$what: it does not have the rows after");
	my $missing = is_behind($node, "$what: a call is refused while the clock is behind");
	cmp_ok($missing, '>', (2 * $hour - 60) * 1000, "$what: by the original's lead");
	move_clock($node, 2 * $hour + 10);
	my @new = await_ids($node, 1000);
	is_copy($node, $primary, $what);
	is_new(\@rows, \@new, "$what, rows before");
	cmp_ok(min(@new), '>', max(@rows), "$what: ids are above all in its data");
	is_new(\@after, \@new, "$what, rows after");
	$node->stop;
}

# Moved to another path, and back: nothing was copied.
{
	my $what = 'moved';
	my $node = PostgreSQL::Test::Cluster->new('elsewhere');
	my $log = log_position($primary);
	start_at($primary, 2 * $hour + 20);
	my @old = await_ids($primary, 1000);
	$primary->stop;
	foreach my $move ([ $primary, $node ], [ $node, $primary ])
	{
		my ($from, $to) = @$move;
		rename($from->data_dir, $to->data_dir) or die $to->data_dir . ": $!";
		$to->append_conf('postgresql.conf', 'port = ' . $to->port);
		start_at($to, 2 * $hour + 20);
		my @new = await_ids($to, 1000);
		is_new(\@old, \@new, $what);
		push @old, @new;
		is(state_of($to)->{directory}, $to->data_dir, "$what: the state knows its place");
		$to->stop;
	}
	is_deeply([ warnings_of($node, qr/./), warnings_of($primary, qr/./, $log) ],
		[], "$what: there is no warning");
}

done_testing();
