# A standby is promoted right after its primary has failed. It bears the primary's machine id and its
# clock is behind, the worst case: it hands out no id that has reached it, and none below.
use strict;
use warnings;
use List::Util qw(max min);
use Replicas;
use Snowflake;
use Test::More;

my $hour = 3600;
my $tolerance = 8000;    # snowflake.clock_tolerance, in milliseconds
my $reserve = 2000;      # snowflake.reserve_ahead

my $primary = new_primary('primary', { 'snowflake.clock_tolerance' => $tolerance });
start_at($primary, 0);
$primary->safe_psql('postgres',
	'CREATE EXTENSION snowflake; CREATE TABLE item (id bigint, payload text)');
$primary->backup('base');

# A standby, its clock so many seconds off. All are made from the same backup, and catch up.
sub standby
{
	my ($name, $seconds, %settings) = @_;
	my $node = new_copy($primary, 'base', $name, has_streaming => 1);
	configure($node, %settings) if %settings;
	start_at($node, $seconds);
	return $node;
}

# The primary again, after a failure. No standby is waited for.
sub primary_again
{
	my ($seconds, %settings) = @_;
	configure($primary, 'synchronous_standby_names' => '', %settings);
	start_at($primary, $seconds);
	return;
}

# Rows on the primary, all of which the standby has.
sub replicated_rows
{
	my ($node, $count) = @_;
	my @ids = map { $_ + 0 } split /\n/,
	  $primary->safe_psql('postgres', "INSERT INTO item SELECT snowflake_next($count) RETURNING id");
	$primary->wait_for_catchup($node, 'replay', $primary->lsn('flush'));
	return @ids;
}

# Rows are written until the standby has seen many of them and is not behind.
sub write_for_a_while
{
	my ($node) = @_;
	my @clients = start_writing($primary, 3);
	$primary->poll_query_until('postgres', 'SELECT count(*) > 300 FROM item')
	  or die 'no rows';
	$primary->wait_for_catchup($node, 'replay', $primary->lsn('flush'));
	return @clients;
}

# What the promoted server has recorded, while its clock is behind: where its ids start.
sub is_above_all_rows
{
	my ($node, $what, @rows) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	cmp_ok(state_of($node)->{marks}{7},
		'>=', (max(@rows) >> 22) + $reserve, "$what: ids start above all rows that reached it");
	return;
}

# The promoted server's clock is moved forward, first to where calls wait, then to where it is right.
# Returns ids that it hands out then.
sub ids_when_clock_is_right
{
	my ($node, $behind, $missing, $right, $what) = @_;
	# 9 seconds are missing now, or less.
	move_clock($node, $behind + ($missing - $tolerance - $reserve + 1000) / 1000);
	is_waiting($node, "$what: when little is missing, a call waits");
	move_clock($node, $right + 4);
	my @clients =
	  map { start_client($node, ['COPY (SELECT snowflake_next(300)) TO STDOUT;'], repeat => 5) } 1 .. 3;
	my @ids = await_ids($node, 1000);
	wait_for_clients(@clients);
	is_deeply([ map { errors_of($_) } @clients ], [], "$what: calls succeed when the clock is right");
	return (@ids, map { ids_of($_) } @clients);
}

# Synchronous, the primary killed under load; the promoted server crashes as soon as it has a grant.
{
	my $what = 'synchronous';
	my $node = standby('synchronous', -20);
	configure($primary, 'synchronous_standby_names' => 'synchronous');
	$primary->reload;
	my @clients = write_for_a_while($node);
	like(
		error_of($node, 'SELECT snowflake_next()')->{message},
		qr/^cannot execute snowflake_next\(\) during recovery$/,
		"$what: a standby hands out no id");
	is($node->safe_psql('postgres', 'SELECT status FROM pg_stat_snowflake'),
		'standby', "$what: the view has the state");
	my $log = log_position($node);
	kill_server($primary);
	$node->promote;
	wait_for_clients(@clients);
	my @old = map { ids_of($_) } @clients;
	is(count_duplicates(@old), 0, "$what: the primary handed out no id twice");

	my $missing = is_behind($node, "$what: a call is refused while the clock is behind");
	cmp_ok($missing, '<=', 20_000 + $tolerance + 1, "$what: by the difference of the clocks at most");
	cmp_ok($missing, '>', $tolerance + $reserve, "$what: by more than is waited for");
	is($node->safe_psql('postgres', 'SELECT status FROM pg_stat_snowflake'),
		'clock went back', "$what: the view has the state");

	my ($takeover) = warnings_of($node, qr/promoted, takes over/, $log);
	my $host = $node->safe_psql('postgres', 'SELECT host FROM snowflake_grants LIMIT 1');
	like(
		$takeover // '',
		qr/WARNING: .* takes over .* on host "\Q$host\E" in "\Q${\$primary->data_dir}\E"\n/,
		"$what: a warning names the old server");
	like(
		$takeover // '',
		qr/DETAIL: .* on host "\Q$host\E" in "\Q${\$node->data_dir}\E", .* machine id 7 .*\n/,
		"$what: the warning names the new server");
	like($takeover // '', qr/HINT: .*machine id of its own/, "$what: the warning has a hint");
	is_deeply(
		[ map { $_->[1] } grep { $_->[0] eq $node->data_dir } grants_of($node, 'data_directory, timeline') ],
		[2], "$what: the grant is in the history, with its timeline");
	is_deeply(
		[ grants_of($node, 'ended IS NULL') ]->[-1],
		['t'], "$what: it is the newest one, and in force");

	$node->stop('immediate');
	start_at($node, -20);
	my $still = is_behind($node, "$what: a crash right after the promotion changes nothing");
	cmp_ok($still, '<=', $missing, "$what: the floor is the same after the crash");

	my @rows = rows_of($node);
	is_above_all_rows($node, $what, @rows);
	my @new = ids_when_clock_is_right($node, -20, $still, 0, $what);
	is_new([ @old, @rows ], \@new, $what);
	cmp_ok(max(@new), '>', max(@old, @rows), "$what: ids are above the old ones");
	$node->stop;
}

# Asynchronous: what has not reached the standby cannot be known to it. But where the primary's clock
# was right, and replication not further behind than snowflake.reserve_ahead, no id comes again at all.
{
	my $what = 'asynchronous';
	primary_again(0);
	my $node = standby('asynchronous', -20);
	my @clients = write_for_a_while($node);
	$primary->stop('immediate');
	$node->promote;
	wait_for_clients(@clients);
	my @old = map { ids_of($_) } @clients;
	my $missing = is_behind($node, "$what: a call is refused while the clock is behind");
	my @rows = rows_of($node);
	is_above_all_rows($node, $what, @rows);
	my @new = ids_when_clock_is_right($node, -20, $missing, 0, $what);
	is_new(\@rows, \@new, "$what, rows that reached the standby");
	is_new(\@old, \@new, "$what, all ids of the old primary");
	cmp_ok(min(@new), '>', max(@rows), "$what: ids are above the rows that reached the standby");
	$node->stop;
}

# A warm standby: nobody can look at it before it is promoted.
{
	my $what = 'hot_standby = off';
	primary_again($hour);
	my $node = standby('warm', 0, 'hot_standby' => 'off');
	my @old = replicated_rows($node, 1000);
	kill_server($primary);
	$node->promote;
	$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'not promoted';
	my $missing = is_behind($node, "$what: a call is refused while the clock is behind");
	cmp_ok($missing, '>', ($hour - 60) * 1000, "$what: by the primary's lead");
	my @new = ids_when_clock_is_right($node, 0, $missing, $hour, $what);
	is_new([ @old, rows_of($node) ], \@new, $what);
	cmp_ok(min(@new), '>', max(@old), "$what: ids are above the old ones");
	$node->stop;
}

# Nothing is replayed after the standby's last start, and what it had replayed before is not in its
# state, which could not be written: the checkpoint that it starts from is what is left.
{
	my $what = 'restarted';
	primary_again($hour);
	my $node = standby('restarted', 0);
	my $directory = $node->data_dir . '/pg_snowflake';
	my $before = state_of($node)->{replayed_us};
	chmod(0500, $directory) or die "$directory: $!";
	move_clock($primary, 2 * $hour);
	my @old = replicated_rows($node, 1000);
	$primary->safe_psql('postgres', 'CHECKPOINT');
	$primary->wait_for_catchup($node, 'replay', $primary->lsn('flush'));
	kill_server($primary);
	$node->safe_psql('postgres', 'CHECKPOINT');
	$node->stop('immediate');
	chmod(0700, $directory) or die "$directory: $!";
	cmp_ok(state_of($node)->{replayed_us}, '<', $before + ($hour + 1800) * 1_000_000,
		"$what: the state does not have the newest commit");
	start_at($node, 0);
	is($node->safe_psql('postgres', 'SELECT pg_last_xact_replay_timestamp() IS NULL'),
		't', "$what: nothing is replayed");
	$node->promote;
	my $missing = is_behind($node, "$what: a call is refused while the clock is behind");
	cmp_ok($missing, '>', (2 * $hour - 60) * 1000, "$what: by the primary's lead");
	my @new = ids_when_clock_is_right($node, 0, $missing, 2 * $hour, $what);
	is_new([ @old, rows_of($node) ], \@new, $what);
	cmp_ok(min(@new), '>', max(@old), "$what: ids are above the old ones");
	$node->stop;
}

# The primary has been idle for two hours: the standby, though its clock is behind, need not wait.
{
	my $what = 'idle';
	primary_again(2 * $hour);
	my $node = standby('idle', 4 * $hour - 20);
	my @old = replicated_rows($node, 1000);
	move_clock($primary, 4 * $hour);
	kill_server($primary);
	$node->promote;
	$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'not promoted';
	my @new = draw($node, 1000);
	is_new([ @old, rows_of($node) ], \@new, $what);
	cmp_ok(min(@new), '>', max(@old), "$what: ids are above the old ones");
	is($node->safe_psql('postgres', 'SELECT status FROM pg_stat_snowflake'),
		'issuing', "$what: it need not wait");
	$node->stop;
}

# A standby without a machine id is promoted, and given one later. From it goes a second standby, which
# is promoted when the first has failed.
{
	my $what = 'machine id given later';
	primary_again(5 * $hour);
	my $node = standby('without', 0, 'snowflake.machine_id' => '');
	my @old = replicated_rows($node, 1000);
	$node->backup('second');
	my $second = new_copy($node, 'second', 'second', has_streaming => 1);
	start_at($second, 0);
	kill_server($primary);
	$node->promote;
	$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'not promoted';
	like(
		error_of($node, 'SELECT snowflake_next()')->{message},
		qr/this server has no machine id/,
		"$what: no id without a machine id");
	$node->stop;
	start_at($node, 0);
	configure($node, 'snowflake.machine_id' => 7);
	$node->reload;
	$node->poll_query_until('postgres', q{SELECT machine_id = '7' FROM pg_stat_snowflake})
	  or die 'no machine id';
	my $missing = is_behind($node, "$what: a call is refused while the clock is behind");
	cmp_ok($missing, '>', (5 * $hour - 120) * 1000, "$what: by the old primary's lead");
	move_clock($node, 5 * $hour + 20);
	my @new = map { $_ + 0 } split /\n/,
	  ( await_ids($node, 1)
		  && $node->safe_psql('postgres',
			'INSERT INTO item SELECT snowflake_next(1000) RETURNING id'));
	cmp_ok(min(@new), '>', max(@old), "$what: ids are above the old ones");

	$what = 'promoted after a promoted one';
	$node->wait_for_catchup($second, 'replay', $node->lsn('flush'));
	kill_server($node);
	configure($second, 'snowflake.machine_id' => 7);
	$second->reload;
	$second->promote;
	is_behind($second, "$what: a call is refused while the clock is behind");
	move_clock($second, 5 * $hour + 40);
	my @newest = await_ids($second, 1000);
	is_new([ @old, @new ], \@newest, $what);
	cmp_ok(min(@newest), '>', max(@new), "$what: ids are above the old ones");
	$second->stop;
}

done_testing();
