# A storm of calls that are cancelled while they wait, by a role without privileges: those who call
# after it are served at once, and a change of machine id and back is as good as ever.
use strict;
use warnings;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Snowflake;
use Test::More;
use Time::HiRes qw(time);

my $node = start_server('cancel_storm', 'snowflake.machine_id' => 7);
$node->safe_psql('postgres', 'CREATE ROLE nobody LOGIN');

# Each statement gives up a whole millisecond of ids.
my $storm = PostgreSQL::Test::Utils::tempdir() . '/storm.sql';
append_to_file($storm, "SET statement_timeout = '1ms';\n");
append_to_file($storm, "SELECT snowflake_next(4096) LIMIT 1 OFFSET 4090;\n" x 1500);
my @psql = (
	$node->installed_command('psql'),
	'-XAtq', '-d', $node->connstr('postgres') . ' user=nobody', '-f', $storm);
my @sessions = map { IPC::Run::start(\@psql, '>', '/dev/null', '2>', \my $errors) } 1 .. 12;
IPC::Run::finish($_) for @sessions;

my $cancelled = scalar log_lines($node, qr/canceling statement due to statement timeout/, 0);
cmp_ok($cancelled, '>', 1000, "calls were cancelled: $cancelled");

sub seconds_of_a_call
{
	my $start = time;
	$node->safe_psql('postgres', 'SELECT snowflake_next()');
	return time - $start;
}
cmp_ok(seconds_of_a_call(), '<', 1, 'a call after the storm is served at once');
foreach my $machine_id (6, 7, '6-7')
{
	switch_to($node, $machine_id);
	cmp_ok(seconds_of_a_call(), '<', 1, "and under machine id $machine_id");
}
$node->stop;
done_testing();
