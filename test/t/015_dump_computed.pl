# What is computed from ids, in generated columns, indexes, partitions and constraints, goes through a
# parallel dump and restore: the extension is in a schema of its own, and restoring has no search path.
use strict;
use warnings;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Snowflake;
use Test::More;

# In UTC, so that two dumps of the same say the same.
my %settings = ('snowflake.epoch' => 'twitter', timezone => 'UTC', shared_preload_libraries => 'snowflake');

sub new_server
{
	my ($name, %more) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init;
	configure($node, %settings, %more);
	$node->start;
	return $node;
}

my $old = new_server('computed_old', 'snowflake.machine_id' => 7);
$old->safe_psql(
	'postgres', q{
	CREATE SCHEMA ids;
	CREATE SCHEMA app;
	CREATE EXTENSION snowflake SCHEMA ids;
	SET search_path = app, ids;

	CREATE TABLE event (
		id bigint PRIMARY KEY DEFAULT snowflake_next(),
		created_at timestamptz GENERATED ALWAYS AS (snowflake_timestamp(id)) STORED,
		short text GENERATED ALWAYS AS (snowflake_encode(id)) STORED UNIQUE,
		payload text,
		CHECK (snowflake_machine(id) < 100));
	CREATE INDEX event_time ON event (snowflake_timestamp(id));
	CREATE INDEX event_created_at ON event (created_at);

	CREATE DOMAIN event_id AS snowflake CHECK (VALUE > 0);
	CREATE TABLE typed (
		id snowflake PRIMARY KEY DEFAULT snowflake_next(),
		created_at timestamptz GENERATED ALWAYS AS (snowflake_timestamp(id)) STORED,
		event bigint NOT NULL REFERENCES event ON DELETE CASCADE,
		other event_id DEFAULT 5,
		list snowflake[] DEFAULT '{1,2}',
		CHECK (id > 5));
	CREATE INDEX typed_time ON typed (snowflake_timestamp(id)) INCLUDE (id);
	CREATE INDEX typed_brin ON typed USING brin (id);
	CREATE INDEX typed_hash ON typed USING hash (id);
	CREATE INDEX typed_list ON typed USING gin (list);
	CREATE INDEX typed_some ON typed (event) WHERE id > 4194304;
	CREATE TABLE child (id bigint REFERENCES typed);

	CREATE TABLE part (
		id snowflake NOT NULL DEFAULT snowflake_next(),
		created_at timestamptz GENERATED ALWAYS AS (snowflake_timestamp(id)) STORED,
		PRIMARY KEY (id)) PARTITION BY RANGE (id);
	CREATE INDEX part_time ON part (snowflake_timestamp(id));
	CREATE TABLE part_old PARTITION OF part
		FOR VALUES FROM (0) TO (snowflake_floor('2020-01-01 00:00+00'));
	CREATE TABLE part_new PARTITION OF part
		FOR VALUES FROM (snowflake_floor('2020-01-01 00:00+00')) TO (MAXVALUE);
	CREATE TABLE listed (id snowflake) PARTITION BY LIST (id);
	CREATE TABLE listed_1 PARTITION OF listed FOR VALUES IN (1, 9007199254740993);
	CREATE TABLE hashed (id snowflake) PARTITION BY HASH (id);
	CREATE TABLE hashed_0 PARTITION OF hashed FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	CREATE TABLE hashed_1 PARTITION OF hashed FOR VALUES WITH (MODULUS 2, REMAINDER 1);

	CREATE VIEW recent AS SELECT id, created_at, COALESCE(other, 0) AS other, to_json(id) AS json
		FROM typed WHERE id >= snowflake_floor('2020-01-01 00:00+00') AND id <> 1 AND id <> '2' AND id <> ALL(list);
	CREATE MATERIALIZED VIEW per_machine AS
		SELECT snowflake_machine(id) AS machine, max(id)::snowflake AS newest FROM typed GROUP BY 1;
	CREATE FUNCTION newest(bound snowflake DEFAULT 9223372036854775807) RETURNS snowflake
		BEGIN ATOMIC SELECT max(id) FROM typed WHERE id <= bound; END;
	CREATE STATISTICS typed_statistics ON id, event FROM typed;

	INSERT INTO event (payload) SELECT 'row ' || i FROM generate_series(1, 5000) i;
	INSERT INTO event (id, payload) VALUES (snowflake_make('2011-02-03 04:05:06.789+00', 9, 8), 'old');
	INSERT INTO typed (event, list) SELECT id, ARRAY[id, 9007199254740993] FROM event;
	INSERT INTO child SELECT id FROM typed;
	INSERT INTO part SELECT id FROM event;
	INSERT INTO listed VALUES (1), (9007199254740993);
	INSERT INTO hashed SELECT id FROM event;
	REFRESH MATERIALIZED VIEW per_machine;
});

# All rows of all tables, with the partitions that they are in.
my @relations = qw(event typed child part listed hashed recent per_machine);

sub contents
{
	my ($node) = @_;
	return join "\n", map {
		my $partition = /^(part|listed|hashed)$/ ? ' || tableoid::regclass' : '';
		"$_: " . $node->safe_psql('postgres',
			"SELECT count(*), md5(string_agg(r::text$partition, ',' ORDER BY r::text)) FROM app.$_ r")
	} @relations;
}

# A dump of the schema as text, without what is a new secret each time.
sub schema
{
	my ($node) = @_;
	my ($text) = run_command([ 'pg_dump', '-s', '-d', $node->connstr('postgres') ]);
	return join "\n", grep { !/^\\(un)?restrict / } split /\n/, $text;
}

# Runs a program, which must succeed and say nothing.
sub is_quiet
{
	my ($what, @command) = @_;
	my ($out, $err) = ('', '');
	my $ok = IPC::Run::run(\@command, '>', \$out, '2>', \$err);
	ok($ok && $err eq '', "$what succeeds, quietly") or diag($err);
	return;
}

my $contents = contents($old);
my $schema = schema($old);
like($schema, qr/created_at timestamp with time zone GENERATED ALWAYS AS \(ids\.snowflake_timestamp\(/,
	'the dump names the schema of the extension');
my $dump = $old->basedir . '/dump';
is_quiet('pg_dump -Fd -j4', 'pg_dump', '-Fd', '-j4', '-f', $dump, '-d', $old->connstr('postgres'));
is_quiet('pg_dump, plain', 'pg_dump', '-f', "$dump.sql", '-d', $old->connstr('postgres'));

# On another server, of the same epoch.
my $new = new_server('computed_new', 'snowflake.machine_id' => 8);
is_quiet('pg_restore -j4', 'pg_restore', '-j4', '--exit-on-error', '-d', $new->connstr('postgres'), $dump);
is(contents($new), $contents, 'restored: every row, and where it lies');
is(schema($new), $schema, 'restored: the schema');

is( $new->safe_psql(
		'postgres', q{SELECT count(*), bool_and(created_at = ids.snowflake_timestamp(id)),
			bool_and(ids.snowflake_decode(short) = id) FROM app.event}),
	'5001|t|t',
	'restored: generated columns say what the functions say');
is( $new->safe_psql('postgres',
		q{INSERT INTO app.typed (event) SELECT max(id) FROM app.event
		  RETURNING ids.snowflake_machine(id), created_at = ids.snowflake_timestamp(id), other, list}),
	'8|t|5|{1,2}',
	'restored: defaults and generated columns work for new rows');
is($new->safe_psql('postgres', 'SELECT app.newest() = max(id) FROM app.typed'),
	't', 'restored: a function of the type works');
my (undef, undef, $refusal) = $new->psql('postgres', 'INSERT INTO app.child VALUES (1)');
like($refusal, qr/violates foreign key constraint/, 'restored: a foreign key from bigint to snowflake holds');

# The indexes on the expression are there, are used, and find what a scan of the table finds.
foreach my $table (qw(event typed part))
{
	my $query = "FROM app.$table WHERE ids.snowflake_timestamp(id) = '2011-02-03 04:05:06.789+00'";
	like($new->safe_psql('postgres', "SET enable_seqscan = off; EXPLAIN SELECT id $query"),
		qr/Index.* on|Index.* using \w+_time/, "restored: $table: the index on the time is used");
	is($new->safe_psql('postgres', "SET enable_seqscan = off; SELECT count(*) $query"),
		$table eq 'typed' ? '0' : '1', "restored: $table: it finds the row");
}

# The plain dump, by psql.
$new->safe_psql('template1', $_) for 'DROP DATABASE postgres', 'CREATE DATABASE postgres';
is_quiet('psql of a plain dump', 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null',
	'-d', $new->connstr('postgres'), '-f', "$dump.sql");
is(contents($new), $contents, 'plain dump: every row, and where it lies');
is(schema($new), $schema, 'plain dump: the schema');

# A dump of the restored is restored once more, into a database where the extension is there already.
$new->safe_psql('postgres', 'CREATE DATABASE again');
$new->safe_psql('again', 'CREATE SCHEMA ids; CREATE EXTENSION snowflake SCHEMA ids');
is_quiet('pg_dump of tables', 'pg_dump', '-Fc', '-n', 'app', '-f', "$dump.app", '-d', $new->connstr('postgres'));
is_quiet('pg_restore beside the extension', 'pg_restore', '--exit-on-error', '-d', $new->connstr('again'), "$dump.app");
is($new->safe_psql('again', 'SELECT count(*) FROM app.event'), '5001', 'the rows are there');

# And it can be dropped with all that uses it.
$new->safe_psql('postgres', 'SET client_min_messages = warning; DROP EXTENSION snowflake CASCADE');
is($new->safe_psql('postgres', q{SELECT count(*) FROM pg_depend WHERE classid <> 'pg_extension'::regclass
		AND refclassid = 'pg_extension'::regclass AND refobjid >= 16384}),
	'0', 'dropped: nothing of it is left');
is($new->safe_psql('postgres', 'SELECT count(*) FROM app.event'), '5001', 'dropped: rows of bigint stay');

$old->stop;
$new->stop;
done_testing();
