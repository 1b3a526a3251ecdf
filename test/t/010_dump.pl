# A dump of tables whose keys are snowflake ids is restored, quietly, also into a server that does not
# preload the library; and it is upgraded by pg_upgrade.
use strict;
use warnings;
use Cwd;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Snowflake;
use Test::More;

my $node = start_server('dump_old', 'snowflake.machine_id' => 7);
$node->safe_psql('postgres', q{
	CREATE TABLE t (
		id bigint PRIMARY KEY DEFAULT snowflake_next(),
		payload text,
		machine int GENERATED ALWAYS AS (snowflake_machine(id)) STORED,
		CHECK (id > 0));
	CREATE INDEX ON t (snowflake_timestamp(id));
	CREATE VIEW v AS SELECT snowflake_timestamp(id) AS at, payload FROM t;
	CREATE FUNCTION key() RETURNS bigint BEGIN ATOMIC SELECT snowflake_next(); END;
	CREATE TABLE events (LIKE t INCLUDING DEFAULTS) PARTITION BY RANGE (id);
	CREATE TABLE events_1 PARTITION OF events
		FOR VALUES FROM (0) TO (9223372036854775807);
	CREATE TABLE typed (
		id snowflake PRIMARY KEY DEFAULT snowflake_next(),
		ids snowflake[],
		parent bigint REFERENCES t) PARTITION BY RANGE (id);
	CREATE TABLE typed_1 PARTITION OF typed FOR VALUES FROM (0) TO (9223372036854775807)});
$node->safe_psql('postgres', q{
	INSERT INTO t (payload) SELECT 'row ' || g FROM generate_series(1, 1000) g;
	INSERT INTO events (payload) SELECT 'row ' || g FROM generate_series(1, 1000) g;
	INSERT INTO typed (ids, parent) SELECT ARRAY[id, id + 1], id FROM t});
my $contents = q{SELECT md5(string_agg(t::text || typed::text, ',' ORDER BY t.id))
	FROM t JOIN typed ON t.id = parent};
my $md5 = $node->safe_psql('postgres', $contents);

my $tempdir = PostgreSQL::Test::Utils::tempdir('dump');
$node->command_ok([ 'pg_dump', '-f', "$tempdir/plain.sql", 'postgres' ], 'pg_dump');
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$tempdir/custom", 'postgres' ], 'pg_dump -Fc');
$node->command_ok([ 'pg_dump', '-Fp', '--schema-only', '-f', "$tempdir/schema.sql", 'postgres' ],
	'pg_dump --schema-only');

# Runs a program, which must succeed and say nothing.
sub is_quiet
{
	my ($what, $node, @command) = @_;
	local %ENV = (%ENV, PGHOST => $node->host, PGPORT => $node->port);
	my ($out, $err) = ('', '');
	my $ok = IPC::Run::run(\@command, '>', \$out, '2>', \$err);
	ok($ok && $err eq '', "$what succeeds, quietly") or diag($err);
	return;
}

# A generated column and an index on an expression call the functions, so a dump that has rows for
# them needs the library; without them it must not.
my $new = PostgreSQL::Test::Cluster->new('dump_new');
$new->init;
$new->start;
$new->safe_psql('postgres', "CREATE DATABASE $_") for qw(schema plain custom loaded);
is_quiet('not preloaded: the schema', $new, 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', 'schema',
	'-o', '/dev/null', '-f', "$tempdir/schema.sql");
$node->safe_psql('postgres',
	'ALTER TABLE t DROP COLUMN machine; DROP INDEX t_snowflake_timestamp_idx');
$md5 = $node->safe_psql('postgres', $contents);
$node->command_ok([ 'pg_dump', '-f', "$tempdir/rows.sql", 'postgres' ], 'pg_dump of plain tables');
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$tempdir/rows", 'postgres' ], 'pg_dump -Fc of plain tables');
is_quiet('not preloaded: a plain dump', $new, 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', 'plain',
	'-o', '/dev/null', '-f', "$tempdir/rows.sql");
is_quiet('not preloaded: pg_restore', $new, 'pg_restore', '--exit-on-error', '-d', 'custom',
	"$tempdir/rows");
is($new->safe_psql($_, $contents), $md5, "not preloaded: the rows are there: $_") for qw(plain custom);

# The same server with the library takes everything, and goes on with new rows.
configure($new, shared_preload_libraries => 'snowflake', 'snowflake.machine_id' => 8);
$new->restart;
is_quiet('preloaded: pg_restore', $new, 'pg_restore', '--exit-on-error', '-d', 'loaded',
	"$tempdir/custom");
foreach my $database (qw(plain custom loaded))
{
	is( $new->safe_psql($database, q{
			INSERT INTO t (payload) VALUES ('new') RETURNING snowflake_machine(id), id > (SELECT max(id) FROM t)}),
		'8|t',
		"preloaded: new rows have new ids: $database");
}
is($new->safe_psql('loaded', 'SELECT count(*), count(DISTINCT machine) FROM t'),
	'1001|2', 'preloaded: the generated column is there');
$new->stop;

# pg_upgrade loads each library that the old server's functions are in, in a new server that does not
# preload it.
$node->stop;
my $target = PostgreSQL::Test::Cluster->new('dump_upgrade');
$target->init;
my $directory = getcwd();
chdir $tempdir;    # it writes a script there
my $out = '';
my $bindir = $target->config_data('--bindir');
my $upgraded = IPC::Run::run(
	[   'pg_upgrade', '--no-sync', '-b', $bindir, '-B', $bindir,
		'-d', $node->data_dir, '-D', $target->data_dir,
		'-p', $node->port, '-P', $target->port, '-s', $node->host
	],
	'>', \$out, '2>&1');
chdir $directory;
ok($upgraded, 'pg_upgrade succeeds') or diag($out);
configure($target, shared_preload_libraries => 'snowflake', 'snowflake.machine_id' => 9);
$target->start;
is($target->safe_psql('postgres', $contents), $md5, 'pg_upgrade: the rows are there');
is($target->safe_psql('postgres', q{INSERT INTO t (payload) VALUES ('new') RETURNING snowflake_machine(id)}),
	'9', 'pg_upgrade: new rows have new ids');
$target->stop;
done_testing();
