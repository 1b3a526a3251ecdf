# The machine id is changed by a reload, to a good value and to a bad one, while pgbench inserts and
# clients draw: one switch, at one moment, and no call fails.
use strict;
use warnings;
use Faults;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Snowflake;
use Test::More;

my $node = start_server(
	'switch_under_load',
	'snowflake.machine_id' => 7,
	'log_statement' => 'none');
$node->safe_psql('postgres',
	'CREATE TABLE events (id bigint PRIMARY KEY DEFAULT snowflake_next(), payload text)');

my $script = $node->basedir . '/insert.sql';
append_to_file($script, "INSERT INTO events (payload) VALUES ('x');\n");
my ($out, $err) = ('', '');
my $pgbench = IPC::Run::start(
	[
		$node->installed_command('pgbench'), '-n', '-c', '4', '-T', '3600', '-f', $script,
		$node->connstr('postgres')
	],
	'<', \undef, '>', \$out, '2>', \$err);
my @drawers = start_drawers($node, 4);

sub rows { return $node->safe_psql('postgres', 'SELECT count(*) FROM events') }

sub inserts_go_on
{
	my $before = rows();
	wait_until('pgbench inserts', sub { rows() > $before + 100 });
	return;
}

sub machine_id { return $node->safe_psql('postgres', 'SELECT machine_id FROM pg_stat_snowflake') }

inserts_go_on();
drawers_go_on(@drawers);
is(machine_id(), '7', 'the machine id before');

my $from = log_position($node);
configure($node, 'snowflake.machine_id' => 9);
$node->reload;
wait_until('the machine id has changed', sub { machine_id() eq '9' });
inserts_go_on();
drawers_go_on(@drawers);
is(scalar log_lines($node, qr/snowflake: machine id is now 9, was 7/, $from),
	1, 'a good value: the log says so once');

# Each bad value is logged, and changes nothing.
foreach my $bad ('1024', '-1', '9-12', 'nine')
{
	$from = log_position($node);
	configure($node, 'snowflake.machine_id' => $bad);
	$node->reload;
	wait_until('the value has been refused',
		sub { log_lines($node, qr/invalid value for parameter "snowflake\.machine_id": "$bad"/, $from) });
	inserts_go_on();
	drawers_go_on(@drawers);
	is(machine_id(), '9', "a bad value, $bad: the old one stays");
}

stop_drawers(@drawers);
$pgbench->signal('TERM');
$pgbench->finish;

# pgbench ends its clients by itself when they have failed; they were all there when it was stopped.
unlike($err, qr/ERROR|FATAL|aborted/, 'no transaction failed') or diag($err);
is_deeply([ errors_of_drawers(@drawers) ], [], 'no call failed');

is( $node->safe_psql('postgres',
		'SELECT machine_id, source, ended IS NULL, ceiling > granted FROM snowflake_grants ORDER BY granted'
	),
	"7|setting|f|t\n9|setting|t|t",
	'snowflake_grants: one switch');
is( $node->safe_psql('postgres', q{
	SELECT bool_and(id >> 22 < snowflake_floor(ceiling) >> 22)
	FROM events JOIN snowflake_grants g ON snowflake_machine(id)::text = machine_id}),
	't', 'all ids are below the ceilings in it');

my @rows = split /\n/, $node->safe_psql('postgres', 'SELECT id FROM events');
my @ids = (@rows, map { ids_of_drawer($_) } @drawers);
is_deeply([ runs_by_time(sub { machine_of($_[0]) }, @ids) ], [ 7, 9 ], 'the switch was one moment');

my ($repeats, $all) = count_repeats(\@drawers, @rows);
my ($disorder) = examine_runs(@drawers);
note("$all ids, " . scalar(@rows) . ' of them in the table');
is($repeats, 0, 'no id comes twice');
is($disorder, 0, 'each client received its ids in ascending order');
$node->stop;

done_testing();
