# After a crash of a session, of the worker, or of the whole server, ids go on where they were: larger
# than before, none twice; and the worker follows reloads as before.
use strict;
use warnings;
use Snowflake;
use Test::More;

my $node = start_server(
	'crash',
	'snowflake.machine_id' => 7,
	'restart_after_crash' => 'on',
	'log_statement' => 'none');
my @all_ids;

sub next_id
{
	return $node->safe_psql('postgres', 'SELECT snowflake_next()');
}

# Sessions that draw ids until the server throws them out.
sub start_drawing
{
	my @clients = map { start_client($node, [$_], pause => 0.002) }
	  'COPY (SELECT snowflake_next() FROM (SELECT generate_series(1, 500)) s) TO STDOUT;',
	  'COPY (SELECT snowflake_next(500)) TO STDOUT;',
	  'BEGIN; COPY (SELECT snowflake_next(100)) TO STDOUT; ROLLBACK;';
	wait_until('each session has received ids', sub { !grep { -s $_->{ids} < 10000 } @clients });
	return @clients;
}

# Checks the ids of the sessions before and after the crash.
sub check
{
	my ($what, $before, $after) = @_;
	my @before = map { ids_of($_) } @$before;
	my @after = map { ids_of($_) } @$after;
	my ($largest) = sort { $b <=> $a } @before;
	my ($smallest) = sort { $a <=> $b } @after;
	cmp_ok($smallest, '>', $largest, "$what: ids after it are larger than those before");
	push @all_ids, @before, @after;
	is(count_duplicates(@all_ids), 0, "$what: no id comes twice (of " . @all_ids . ')');
	is(scalar(grep { machine_of($_) != 7 } @before, @after), 0, "$what: all have the machine id");
	return;
}

# A session is killed: the server makes its shared memory anew.
foreach my $round (1 .. 3)
{
	my $what = "crash $round";
	my @before = start_drawing();
	my $session = $node->safe_psql('postgres',
		q{SELECT pid FROM pg_stat_activity WHERE application_name = 'client' ORDER BY random() LIMIT 1});
	my $log = log_position($node);
	kill('KILL', $session);
	# All were connected, so none of these ids is from after the crash.
	wait_for_clients(@before);
	$node->wait_for_log(qr/all server processes terminated; reinitializing/, $log);
	$node->poll_query_until('postgres', 'SELECT true');
	my @after = start_drawing();
	stop_clients(@after);
	check($what, \@before, \@after);
}

# The worker is back after that.
wait_until('there is a worker', sub { worker_pids($node) == 1 });
switch_to($node, '9');
is(machine_of(next_id()), 9, 'a reload after the crashes switches the machine id');
switch_to($node, '7');

# The worker is told to end, and started again, without a crash.
{
	my @clients = start_drawing();
	my ($worker) = worker_pids($node);
	my $log = log_position($node);
	kill('TERM', $worker);
	wait_until('there is another worker',
		sub { my @pids = worker_pids($node); @pids == 1 && $pids[0] != $worker });
	switch_to($node, '9');
	is(machine_of(next_id()), 9, 'worker ended: a reload after that switches the machine id');

	# A reload while it is away counts, too. It comes back a second later.
	($worker) = worker_pids($node);
	kill('TERM', $worker);
	wait_until('the worker is gone', sub { !grep { $_ == $worker } worker_pids($node) });
	switch_to($node, '7');
	is(machine_of(next_id()), 7, 'worker ended: a reload while it was away switches the machine id');
	stop_clients(@clients);
	is_deeply([ map { errors_of($_) } @clients ], [], 'worker ended: no call fails');
	my @ids = map { ids_of($_) } @clients;
	push @all_ids, @ids;
	is_deeply([ runs_by_time(\&machine_of, @ids) ], [ 7, 9, 7 ], 'worker ended: both switches are at one moment');
	is(count_duplicates(@all_ids), 0, 'worker ended: no id comes twice');
	is(scalar(log_lines($node, qr/reinitializing/, $log)), 0, 'worker ended: the server goes on');
}

# The worker is killed: that is a crash as any other.
{
	my @before = start_drawing();
	my ($worker) = worker_pids($node);
	my $log = log_position($node);
	kill('KILL', $worker);
	wait_for_clients(@before);
	$node->wait_for_log(qr/all server processes terminated; reinitializing/, $log);
	$node->poll_query_until('postgres', 'SELECT true');
	my @after = start_drawing();
	stop_clients(@after);
	check('worker killed', \@before, \@after);
	wait_until('there is a worker', sub { worker_pids($node) == 1 });
}

# The server stops without a checkpoint, and is started again.
foreach my $mode (qw(immediate fast))
{
	my @before = start_drawing();
	$node->stop($mode);
	wait_for_clients(@before);
	$node->start;
	my @after = start_drawing();
	stop_clients(@after);
	check("stop $mode", \@before, \@after);
}

$node->stop;
done_testing();
