# What stops the start of a server, and what does not; and a server that does not preload the library.
use strict;
use warnings;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Snowflake;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('startup');
$node->init;
my $data = $node->data_dir;
$node->append_conf('postgresql.conf', "include_if_exists 'case.conf'");

sub set_case
{
	my (%settings) = @_;
	unlink "$data/case.conf";
	append_to_file("$data/case.conf", join '', map { "$_ = '$settings{$_}'\n" } sort keys %settings);
	return;
}

# Not preloaded: the extension can be created, and its functions say what is missing.
$node->start;
is($node->psql('postgres', 'CREATE EXTENSION snowflake'), 0, 'not preloaded: the extension is created');
foreach my $load ("LOAD 'snowflake'", q{LOAD '$libdir/snowflake'})    # the second is pg_upgrade's
{
	my ($stdout, $stderr);
	my $status = $node->psql('postgres', $load, stdout => \$stdout, stderr => \$stderr);
	is("$status$stdout$stderr", '0', "not preloaded: quiet: $load");
}
my $not_preloaded = qr/^snowflake must be loaded via shared_preload_libraries$/;
my @calls = (
	'SELECT snowflake_next()',
	'SELECT snowflake_next(3)',
	'SELECT snowflake_timestamp(1)',
	'SELECT snowflake_machine(1)',
	'SELECT snowflake_sequence(1)',
	'SELECT snowflake_parts(1)',
	'SELECT snowflake_make(now(), 1, 1)',
	'SELECT snowflake_floor(now())',
	'SELECT snowflake_ceil(now())',
	q{SELECT snowflake_range('[2030-01-01,2030-01-02)')},
	'SELECT * FROM pg_stat_snowflake');
foreach my $call (@calls)
{
	is_refused($node, $call, '55000', $not_preloaded, "not preloaded: $call");
}
$node->safe_psql('postgres', 'CREATE TABLE t (id bigint DEFAULT snowflake_next(), x int)');
is_refused($node, 'INSERT INTO t (x) VALUES (1)', '55000', $not_preloaded,
	'not preloaded: a default');
{
	local $ENV{PGOPTIONS} = '-c session_preload_libraries=snowflake';
	is_refused($node, $_, '55000', $not_preloaded, "session_preload_libraries: $_")
	  for @calls[ 0, 2, -1 ];
}
$node->stop;

# Wrong values.
foreach my $case (
	[ 'snowflake.machine_bits', '20', qr/20 is outside the valid range .*"snowflake\.machine_bits" \(1 \.\. 16\)/ ],
	[ 'snowflake.machine_bits', '0', qr/0 is outside the valid range .*"snowflake\.machine_bits" \(1 \.\. 16\)/ ],
	[ 'snowflake.machine_bits', 'abc', qr/invalid value for parameter "snowflake\.machine_bits": "abc"/ ],
	[ 'snowflake.machine_id', '9-12', qr/invalid value for parameter "snowflake\.machine_id": "9-12"/ ],
	[ 'snowflake.machine_id', '1024', qr/invalid value for parameter "snowflake\.machine_id": "1024"/ ],
	[ 'snowflake.machine_id', '-1', qr/invalid value for parameter "snowflake\.machine_id": "-1"/ ],
	[ 'snowflake.machine_id', '99999999999999999999', qr/invalid value for parameter "snowflake\.machine_id": "99999999999999999999"/ ],
	[ 'snowflake.epoch', 'yesterday', qr/invalid value for parameter "snowflake\.epoch": "yesterday"/ ],
	[ 'snowflake.epoch', '2999-01-01', qr/invalid value for parameter "snowflake\.epoch": "2999-01-01"/ ],
	[ 'snowflake.epoch', '1735689600', qr/invalid value for parameter "snowflake\.epoch": "1735689600"/ ],
	[ 'snowflake.clock_tolerance', '-5', qr/-5 ms is outside the valid range .*"snowflake\.clock_tolerance"/ ],
	[ 'snowflake.clock_tolerance', '1 fortnight', qr/invalid value for parameter "snowflake\.clock_tolerance": "1 fortnight"/ ])
{
	my ($setting, $value, $message) = @$case;
	my $what = "$setting = '$value'";
	set_case(shared_preload_libraries => 'snowflake', $setting => $value);
	my $log = -e $node->logfile ? log_position($node) : 0;
	my $started = $node->start(fail_ok => 1);
	ok(!$started, "no start with $what");
	like(join("\n", log_lines($node, qr/FATAL/, $log)), $message, "a FATAL message names it: $what");
	$node->stop if $started;
}

# A machine id is measured by the machine_bits that come with it, wherever they stand in the file.
set_case(
	'shared_preload_libraries' => 'snowflake',
	'snowflake.machine_id' => '65535',
	'snowflake.machine_bits' => '16');
forget_marks($node);
$node->start;
is($node->safe_psql('postgres', 'SELECT snowflake_machine(snowflake_next())'),
	'65535', 'the range of a machine id follows machine_bits');
$node->stop;
forget_marks($node);

# With other libraries, in any order, and named twice.
my @lists = ('snowflake, snowflake');
push @lists, 'snowflake, pg_stat_statements', 'pg_stat_statements, snowflake',
  'snowflake, pg_stat_statements, snowflake'
  if -e $node->config_data('--pkglibdir') . '/pg_stat_statements.so';
foreach my $list (@lists)
{
	unlink "$data/case.conf";
	append_to_file("$data/case.conf",
		"shared_preload_libraries = '$list'\nsnowflake.machine_id = '3'\n");
	$node->start;
	is($node->safe_psql('postgres', 'SELECT snowflake_machine(snowflake_next())'),
		'3', "ids are generated with shared_preload_libraries = '$list'");
	is(scalar(worker_pids($node)), 1, 'there is one worker');
	$node->stop;
}

# A command line, which wins over the file, and is checked as well.
set_case('shared_preload_libraries' => 'snowflake', 'snowflake.machine_id' => '3');
{
	my ($out, $err) = ('', '');
	my $timer = IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default);
	my $ok = IPC::Run::run(
		[ $node->installed_command('postgres'), '-D', $data, '-c', 'snowflake.machine_id=4096' ],
		'>', \$out, '2>', \$err, $timer);
	ok(!$ok && $err =~ /FATAL: +invalid value for parameter "snowflake\.machine_id": "4096"/,
		'no start with a wrong value in the command line')
	  or diag($err);
}

# No room for the worker: the server runs, and a call says what is missing.
set_case(
	'shared_preload_libraries' => 'snowflake',
	'snowflake.machine_id' => '3',
	'snowflake.grant_timeout' => '100ms',
	'max_worker_processes' => '0');
$node->start;
foreach my $call ('SELECT snowflake_next()', 'SELECT snowflake_advance(1 << 22)')
{
	my $error = is_refused($node, $call, '55000', qr/in time/, "no worker: $call");
	like($error->{detail}, qr/The snowflake background worker does not run\.$/, 'the detail says so');
	like($error->{hint}, qr/^It needs one of max_worker_processes \(0\)/, 'the hint names the setting');
}
is($node->safe_psql('postgres', 'SELECT snowflake_machine(snowflake_make(now(), 5, 6))'),
	'5', 'no worker: decoding works');
$node->stop;
set_case('shared_preload_libraries' => 'snowflake', 'snowflake.machine_id' => '3');

# Single-user mode.
{
	my ($out, $err) = ('', '');
	my $timer = IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default);
	my $ok = IPC::Run::run(
		[ $node->installed_command('postgres'), '--single', '-D', $data, 'postgres' ],
		'<',
		\"SELECT snowflake_machine(snowflake_next()) AS machine, pg_typeof(snowflake_next()) AS type, (SELECT count(DISTINCT id) FROM snowflake_next(9000) id) AS series\n",
		'>', \$out, '2>', \$err, $timer);
	ok($ok, 'single-user mode ends well') or diag($err);
	like($out, qr/machine = "3".*type = "bigint".*series = "9000"/s, 'single-user mode generates ids');
}

$node->start;
is($node->safe_psql('postgres', 'INSERT INTO t (x) VALUES (1) RETURNING snowflake_machine(id)'),
	"3", 'a table that was made without the library works with it');

$node->stop;
done_testing();
