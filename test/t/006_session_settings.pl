# Nothing that a session, a role, a database, a function or a connection says changes the machine id, the
# epoch or the layout of the ids that it gets; also not what was said while the library was not loaded.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use Snowflake;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('session_settings');
$node->init;
$node->start;

my %tricks = (
	'snowflake.machine_id' => '9',
	'snowflake.epoch' => 'unix',
	'snowflake.machine_bits' => '16',
	'snowflake.clock_tolerance' => '1h');

# The ids of a session: what they say, as read in a session that nobody has tampered with.
sub check_ids
{
	my ($what, %session) = @_;
	my ($stdout, $stderr);
	my %options = (
		stdout => \$stdout,
		stderr => \$stderr,
		extra_params => [ '-v', 'ON_ERROR_STOP=0' ]);
	{
		local $ENV{PGOPTIONS} = $session{options};
		local $ENV{PGUSER} = $session{user} if defined $session{user};
		delete $ENV{PGOPTIONS} if !defined $session{options};
		$node->psql(
			$session{database} // 'postgres',
			($session{before} // '')
			  . '; SELECT snowflake_next(); SELECT snowflake_next(1); SELECT public.forced_next();',
			%options);
	}
	my @ids = grep { /^\d+$/ } split /\n/, $stdout;
	is(scalar(@ids), 3, "$what: ids are generated") or diag($stderr);
	my $wrong = $node->safe_psql('postgres',
		'SELECT count(*) FROM unnest(ARRAY['
		  . join(',', @ids, 0)
		  . ']) id WHERE id <> 0 AND (snowflake_machine(id) <> 7'
		  . ' OR abs(extract(epoch FROM clock_timestamp() - snowflake_timestamp(id))) > 60)');
	is($wrong, 0, "$what: with the server's machine id and epoch");
	return;
}

# While the library is not loaded, the names are anybody's (a placeholder takes any text).
my $all = join ' ', map { "SET $_ = '$tricks{$_}'" } sort keys %tricks;
$node->safe_psql('postgres', q{
	CREATE EXTENSION snowflake;
	CREATE DATABASE d;
	CREATE ROLE r LOGIN SUPERUSER;
	CREATE ROLE plain LOGIN});
$node->safe_psql('d', 'CREATE EXTENSION snowflake');
$node->safe_psql($_, "CREATE FUNCTION forced_next() RETURNS bigint $all LANGUAGE sql AS 'SELECT snowflake_next()'")
  for 'postgres', 'd';
foreach my $setting (sort keys %tricks)
{
	$node->safe_psql('postgres', "ALTER $_ SET $setting = '$tricks{$setting}'")
	  for 'DATABASE d', 'ROLE r', 'ROLE plain', 'ROLE r IN DATABASE d';
}
is($node->safe_psql('d', 'SHOW snowflake.machine_id'), '9', 'without the library the setting is taken');
is( error_of($node, "LOAD 'snowflake'; SELECT snowflake_next()", 'd')->{sqlstate},
	'55000',
	'and loading it then does not help');

# With the library.
configure(
	$node,
	'shared_preload_libraries' => 'snowflake',
	'snowflake.machine_id' => '7');
$node->restart;

# The function with settings of its own cannot be called at all, which is as good.
my $error = error_of($node, 'SELECT forced_next()');
is($error->{sqlstate}, '55P02', 'a function with settings of its own is refused');
like($error->{message}, qr/^parameter "snowflake\.\w+" cannot be changed/, 'and says why');
$node->safe_psql($_, "CREATE OR REPLACE FUNCTION forced_next() RETURNS bigint LANGUAGE sql AS 'SELECT snowflake_next()'")
  for 'postgres', 'd';

check_ids('settings of the database', database => 'd');
check_ids('settings of the role', user => 'r');
check_ids('settings of the role in the database', user => 'r', database => 'd');
check_ids('settings of a plain role', user => 'plain');
is( $node->safe_psql('d', q{
		SELECT name, setting FROM pg_settings WHERE name LIKE 'snowflake.%' ORDER BY name}),
	"snowflake.backfill_machine_id|\nsnowflake.clock_tolerance|1000\nsnowflake.epoch|2025-01-01 00:00:00+00\n"
	  . "snowflake.grant_timeout|5000\nsnowflake.machine_bits|10\nsnowflake.machine_id|7\n"
	  . "snowflake.reserve_ahead|-1\nsnowflake.sequence_spread|0",
	'settings show what is in force');

foreach my $setting (sort keys %tricks)
{
	my $value = $tricks{$setting};
	my $refused = qr/^parameter "\Q$setting\E" cannot be changed/;
	foreach my $sql (
		"SET $setting = '$value'",
		"SET LOCAL $setting = '$value'",
		"SELECT set_config('$setting', '$value', false)",
		"UPDATE pg_settings SET setting = '$value' WHERE name = '$setting'",
		"ALTER ROLE r SET $setting = '$value'",
		"ALTER DATABASE d SET $setting = '$value'")
	{
		my $error = error_of($node, $sql);
		ok($error->{sqlstate} eq '55P02' && $error->{message} =~ $refused, "refused: $sql")
		  or diag("$error->{sqlstate}: $error->{message}");
	}
	check_ids("after SET $setting", before => "SET $setting = '$value'");

	local $ENV{PGOPTIONS} = "-c $setting=$value";
	$node->connect_fails('dbname=postgres', "refused: PGOPTIONS with $setting",
		expected_stderr => qr/parameter "\Q$setting\E" cannot be changed/);
}

# Names of which there is no setting are refused, so a misspelt one is noticed.
is(error_of($node, "SET snowflake.machin_id = '9'")->{sqlstate},
	'42602', 'a name that does not exist is refused');

$node->stop;
done_testing();
