# How a standby and a promoted server stop: what was replayed last is in the state after an orderly
# shutdown, and no clean restart waits for anything.
use strict;
use warnings;
use List::Util qw(max min);
use Replicas;
use Snowflake;
use Test::More;

my $hour = 3600;
my $insert = 'INSERT INTO item SELECT snowflake_next(100) RETURNING id';

# So long would a restart wait that has to: nobody mistakes it for a slow machine.
my $reserve = 1000;
my $primary = new_primary('primary', { 'snowflake.reserve_ahead' => "${reserve}s" });
start_at($primary, 0);

# A server that has issued no id yet, under one machine id and then another, stops and starts as well.
configure($primary, 'snowflake.machine_id' => 9);
$primary->reload;
wait_until('the machine id is switched', sub { log_lines($primary, 'machine id is now 9, was 7') });
$primary->stop;
configure($primary, 'snowflake.machine_id' => 7);
ok(start_at($primary, 0, fail_ok => 1), 'a server that has issued no id yet starts again') or die;
$primary->safe_psql('postgres',
	'CREATE EXTENSION snowflake; CREATE TABLE item (id bigint, payload text)');
$primary->backup('base');
my $standby = new_copy($primary, 'base', 'standby', has_streaming => 1);
start_at($standby, 0);
my $lead = 0;
my @all;

# The newest commit that the standby has replayed, in microseconds since 2000.
sub newest_replayed
{
	return $standby->safe_psql('postgres',
		q{SELECT (extract(epoch FROM pg_last_xact_replay_timestamp() - timestamptz '2000-01-01 00:00+00')
			* 1000000)::bigint});
}

# A commit on the primary that the standby replays, half an hour newer than all before it.
sub replayed_commit
{
	$lead += $hour / 2;
	move_clock($primary, $lead);
	push @all, map { $_ + 0 } split /\n/, $primary->safe_psql('postgres', $insert);
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('flush'));
	return newest_replayed();
}

# Each shutdown follows right after a commit, when the one before is in the state: the next look at
# what is replayed is some seconds away.
my $known = 0;
foreach my $mode ('smart', 'fast', 'immediate', 'fast')
{
	my $what = "$mode shutdown of a standby";
	my $seen = replayed_commit();
	wait_until('the commit is in the state', sub { state_of($standby)->{replayed_us} == $seen });
	my $newest = replayed_commit();
	my $log = log_position($standby);
	$standby->stop($mode);
	my $state = state_of($standby);
	if ($mode eq 'immediate')
	{
		cmp_ok($state->{replayed_us}, '>=', $known, "$what: the state is not older than before");
	}
	else
	{
		is($state->{replayed_us}, $newest, "$what: the newest commit is in the state");
		is_deeply([ log_lines($standby, 'PANIC|FATAL:.*snowflake|SIGKILL', $log) ],
			[], "$what: nothing goes wrong");
	}
	$known = $state->{replayed_us};
	start_at($standby, 0);
	is($standby->safe_psql('postgres', 'SELECT status FROM pg_stat_snowflake'),
		'standby', "$what: it is a standby again");
}

# Nothing is replayed, and nothing written any more: an idle standby stops with what it knew.
{
	my $what = 'an idle standby';
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('flush'));
	$primary->stop;
	$standby->stop;
	start_at($standby, 0);
	$standby->stop;
	cmp_ok(state_of($standby)->{replayed_us}, '>=', $known,
		"$what: the state keeps the newest commit");
	start_at($standby, 0);
}

# Promoted. It starts a reserve_ahead above what it has replayed.
{
	my $what = 'promoted';
	$standby->promote;
	my $missing = is_behind($standby, "$what: a call is refused while the clock is behind");
	cmp_ok(
		$missing, '>',
		($lead + $reserve - 120) * 1000,
		"$what: by the primary's lead and snowflake.reserve_ahead");
	is(scalar(warnings_of($standby, qr/promoted, takes over/)), 1, "$what: a warning says so");
	$lead += $reserve + 60;
	move_clock($standby, $lead);
	my @new = await_ids($standby, 1000);
	is_new(\@all, \@new, $what);
	push @all, @new;
}

# It had been a standby once; a clean restart waits for nothing, in either mode, under load or not.
foreach my $mode ('smart', 'fast')
{
	foreach my $load (0, 1)
	{
		my $what = "clean restart ($mode" . ($load ? ', under load)' : ')');
		my @clients;
		if ($load)
		{
			@clients = map {
				start_client(
					$standby,
					[ 'COPY (SELECT snowflake_next(50)) TO STDOUT;', 'SELECT pg_sleep(0.002);' ],
					$mode eq 'smart' ? (repeat => 100) : ())
			} 1 .. 3;
			my $issued = $standby->safe_psql('postgres', 'SELECT ids_issued FROM pg_stat_snowflake');
			$standby->poll_query_until('postgres',
				"SELECT ids_issued > $issued + 500 FROM pg_stat_snowflake")
			  or die 'no ids';
		}
		my $log = log_position($standby);
		$standby->stop($mode);
		wait_for_clients(@clients);
		my @received = map { ids_of($_) } @clients;
		start_at($standby, $lead);
		my @new = draw($standby, 1000);
		is_new([ @all, @received ], \@new, $what);
		cmp_ok(min(@new), '>', max(@all, @received), "$what: ids are above the old ones");
		cmp_ok(
			($new[-1] >> 22) - (max(@all, @received) >> 22),
			'<', $reserve * 1000 / 2, "$what: and soon after");
		is_deeply([ warnings_of($standby, qr/./, $log) ], [], "$what: there is no warning");
		push @all, @received, @new;
	}
}
is(count_duplicates(@all), 0, 'no id comes twice (of ' . @all . ')');

# A crash must wait, for comparison, reserve_ahead at most.
{
	my $what = 'a crash';
	kill_server($standby);
	start_at($standby, $lead);
	is_waiting($standby, "$what: a call waits");
	move_clock($standby, $lead + $reserve + 1);
	is_new(\@all, [ await_ids($standby, 1000) ], $what);
	$standby->stop;
}

done_testing();
