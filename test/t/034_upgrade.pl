# A database moves to a new data directory: by pg_upgrade, and by dump and restore. Defaults, generated
# columns and partition bounds work there; snowflake_advance() takes the mark along.
use strict;
use warnings;
use Cwd;
use File::Temp;
use List::Util qw(max min);
use PostgreSQL::Test::Utils;
use Replicas;
use Snowflake;
use Test::More;

my $hour = 3600;
my $digest = q{SELECT count(*), md5(string_agg(e::text || tableoid::regclass, ',' ORDER BY id)) FROM event e};
my $no_library = qr/snowflake must be loaded via shared_preload_libraries/;

my $old = new_primary('old', { 'snowflake.epoch' => 'twitter' });
start_at($old, $hour);
$old->safe_psql(
	'postgres', q{
	CREATE SCHEMA ids;
	CREATE EXTENSION snowflake SCHEMA ids;
	GRANT USAGE ON SCHEMA ids TO PUBLIC;
	ALTER DATABASE postgres SET search_path = public, ids;
	SET search_path = public, ids;
	CREATE TABLE event (
		id bigint NOT NULL DEFAULT snowflake_next(),
		created timestamptz GENERATED ALWAYS AS (snowflake_timestamp(id)) STORED,
		payload text,
		PRIMARY KEY (id)) PARTITION BY RANGE (id);
	CREATE TABLE event_2026 PARTITION OF event
		FOR VALUES FROM (MINVALUE) TO (snowflake_floor('2027-01-01 00:00+00'));
	CREATE TABLE event_later PARTITION OF event
		FOR VALUES FROM (snowflake_floor('2027-01-01 00:00+00')) TO (MAXVALUE);
	CREATE TABLE plain (id bigint PRIMARY KEY DEFAULT snowflake_next(), payload text);
	CREATE INDEX ON plain (snowflake_timestamp(id));
	CREATE VIEW machines AS SELECT DISTINCT snowflake_machine(id) AS machine FROM plain;
	INSERT INTO event (payload) SELECT 'row ' || i FROM generate_series(1, 500) i;
	INSERT INTO event (id, payload) VALUES (snowflake_make('2027-02-03 04:05:06.789+00', 9, 8), 'later');
	INSERT INTO plain SELECT id, payload FROM event WHERE payload <> 'later';
});
my @all = ids_in('plain');
my $sum = $old->safe_psql('postgres', $digest);
my $from = $old->safe_psql('postgres', 'SELECT max(id) FROM plain');
my $dump = $old->basedir . '/dump';
$old->command_ok([ 'pg_dump', '-Fc', '-f', $dump, '-d', $old->connstr('postgres') ], 'pg_dump');

sub ids_in
{
	my ($table, $node) = @_;
	return map { $_ + 0 } split /\n/,
	  ($node // $old)->safe_psql('postgres', "SELECT id FROM $table");
}

# The new server has all of it, and it works; its clock is an hour behind the old one's.
sub works_on
{
	my ($node, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($node->safe_psql('postgres', $digest), $sum, "$what: all rows are there, where they belong");
	is($node->safe_psql('postgres', 'SELECT machine FROM machines'), '7', "$what: a view works");
	cmp_ok($node->safe_psql('postgres', 'SELECT snowflake_next()'),
		'<', $from, "$what: the new server knows nothing of the old one's mark");

	$node->safe_psql('postgres', "SELECT snowflake_advance($from)");
	is_behind($node, "$what: after snowflake_advance() a call is refused");
	is_refused($node, q{INSERT INTO event (payload) VALUES ('a')},
		'55000', qr/the clock is behind/, "$what: so is a default");
	$node->stop;
	start_at($node, 0);
	is_behind($node, "$what: and after a restart");
	kill_server($node);
	start_at($node, 0);
	is_behind($node, "$what: and after a crash");

	move_clock($node, $hour + 60);
	my @new = await_ids($node, 1000);
	is_new(\@all, \@new, $what);
	cmp_ok(min(@new), '>', max(@all), "$what: ids are above the old ones");
	is( $node->safe_psql(
			'postgres',
			q{INSERT INTO event (payload) VALUES ('new')
			  RETURNING id > (SELECT max(id) FROM plain), created = snowflake_timestamp(id),
				created BETWEEN now() - interval '1 min' AND now() + interval '1 min', tableoid::regclass}),
		't|t|t|event_2026',
		"$what: the default, the generated column and the partition work");
	my $plan = $node->safe_psql('postgres',
		q{EXPLAIN SELECT * FROM event WHERE id >= snowflake_floor('2027-02-01 00:00+00')});
	like($plan, qr/event_later/, "$what: a bound finds its partition");
	unlike($plan, qr/event_2026/, "$what: and prunes the other");
	return;
}

# Dump and restore: into a server with the library, and into one that has it later.
{
	my $what = 'dump and restore';
	my $node = new_primary('restored', { 'snowflake.epoch' => 'twitter' });
	start_at($node, 0);
	$node->safe_psql('postgres', 'ALTER DATABASE postgres SET search_path = public, ids');
	$node->command_ok(
		[ 'pg_restore', '-j2', '-d', $node->connstr('postgres'), $dump ],
		"$what: pg_restore -j2");
	works_on($node, $what);
	$node->stop;
}
{
	my $what = 'restore without the library';
	my $node = new_primary('without', { 'snowflake.epoch' => 'twitter' });
	configure($node, 'shared_preload_libraries' => '');
	$node->start;
	$node->safe_psql('postgres', 'ALTER DATABASE postgres SET search_path = public, ids');
	my @restore = ('pg_restore', '-j2', '-d', $node->connstr('postgres'));
	$node->command_checks_all(
		[ @restore, $dump ],
		1, [qr/^$/], [$no_library], "$what: pg_restore says what is missing");
	is_deeply([ sort { $a <=> $b } ids_in('plain', $node) ],
		[ sort { $a <=> $b } @all ],
		"$what: tables that need no function of it are there");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM event'),
		'0', "$what: no row is there whose generated column could not be computed");
	$node->stop;
	configure($node, 'shared_preload_libraries' => 'snowflake');
	start_at($node, 0);
	$node->safe_psql('template1', $_) for 'DROP DATABASE postgres', 'CREATE DATABASE postgres';
	$node->safe_psql('postgres', 'ALTER DATABASE postgres SET search_path = public, ids');
	$node->command_ok([ @restore, $dump ], "$what: restored again with the library");
	works_on($node, $what);
	$node->stop;
}

# pg_upgrade.
{
	my $what = 'pg_upgrade';
	my $node = new_primary('upgraded', { 'snowflake.epoch' => 'twitter' });
	$old->stop;
	my $here = getcwd;
	my $scratch = File::Temp->newdir;
	chdir($scratch) or die "$scratch: $!";
	my $bindir = $node->config_data('--bindir');
	command_ok(
		[
			'pg_upgrade', '--no-sync', '-d', $old->data_dir, '-D', $node->data_dir,
			'-b', $bindir, '-B', $bindir, '-s', $node->host,
			'-p', $old->port, '-P', $node->port
		],
		"$what runs");
	chdir($here) or die "$here: $!";
	ok(-d $old->data_dir . '/pg_snowflake', "$what: the old directory has its state");
	start_at($node, 0);
	is_deeply([ warnings_of($node, qr/copied/) ], [], "$what: no warning of a copy");
	works_on($node, $what);
	$node->stop;

	# The old server again, as long as nobody has removed it.
	start_at($old, $hour);
	is_new([ ids_in('plain') ], [ draw($old, 100) ], "$what: the old server");
	$old->stop;
}

done_testing();
