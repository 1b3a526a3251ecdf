# A server that does nothing is not woken by the library.
use strict;
use warnings;
use PostgreSQL::Test::Utils;
use Snowflake;
use Test::More;
use Time::HiRes qw(usleep);

plan skip_all => 'needs /proc' unless -r '/proc/self/status';

my $node = start_server('idle', 'snowflake.machine_id' => 7, 'autovacuum' => 'off');
$node->safe_psql('postgres', 'SELECT count(snowflake_next()) FROM generate_series(1, 100000)');
my $session = $node->background_psql('postgres');
my $backend = $session->query('SELECT pg_backend_pid()');
$session->query('SELECT snowflake_next()');
my ($worker) = worker_pids($node);

# How often a process has gone to sleep. Every time that it is woken counts one more.
sub sleeps
{
	my ($pid) = @_;
	my ($count) = slurp_file("/proc/$pid/status") =~ /^voluntary_ctxt_switches:\s*(\d+)/m;
	return $count;
}

# Waits until a process has come to rest.
sub settle
{
	my ($pid) = @_;
	my ($last, $same) = (-1, 0);
	wait_until("process $pid has come to rest", sub {
		my $now = sleeps($pid);
		$same = $now == $last ? $same + 1 : 0;
		$last = $now;
		return $same >= 10;
	});
	return $last;
}

my %pids = (worker => $worker, session => $backend);
my %before = map { $_ => settle($pids{$_}) } sort keys %pids;
usleep(3_000_000);    # this is the time that is measured, not a wait for something
foreach my $name (sort keys %pids)
{
	is(sleeps($pids{$name}), $before{$name}, "the $name is not woken in three idle seconds");
}

# A reload wakes the worker, so the number that is looked at is the right one.
$node->reload;
wait_until('the worker has been woken by a reload', sub { sleeps($worker) > $before{worker} });
ok(sleeps($worker) > $before{worker}, 'a reload wakes the worker');

$session->quit;
$node->stop;
done_testing();
