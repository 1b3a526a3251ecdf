# Behind pgbouncer in transaction mode, where a session of a client is a new session of the server with
# each transaction: ids are unique, and each client sees its own ascend, for the generator keeps nothing
# in a session.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Snowflake;
use Test::More;

my ($pgbouncer) = grep { -x } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}), '/usr/sbin';
plan skip_all => 'pgbouncer is not installed' unless defined $pgbouncer;

my $pool_size = 3;
my $clients = 12;
my $rounds = 100;
my $node = start_server('pooled', 'snowflake.machine_id' => 7);
$node->safe_psql('postgres', q{
	CREATE TABLE item (
		id bigint PRIMARY KEY DEFAULT snowflake_next(),
		client integer NOT NULL,
		earlier bigint NOT NULL, -- the newest id that this client knew
		backend integer DEFAULT pg_backend_pid())});

# In a directory of its own: pgbouncer's socket has the port's number in its name.
my $directory = PostgreSQL::Test::Utils::tempdir_short();
my $port = PostgreSQL::Test::Cluster::get_free_port();
my ($host, $server_port) = ($node->host, $node->port);
my $user = $node->safe_psql('postgres', 'SELECT current_user');    # auth_type any wants to know it
append_to_file("$directory/pgbouncer.ini", <<INI);
[databases]
postgres = host=$host port=$server_port user=$user

; doc:begin pgbouncer ini
[pgbouncer]
pool_mode = transaction
; doc:end
default_pool_size = $pool_size
listen_port = $port
unix_socket_dir = $directory
auth_type = any
logfile = $directory/log
pidfile = $directory/pid
INI
system_or_bail($pgbouncer, '-q', '-d', "$directory/pgbouncer.ini");
my $pooler;
wait_until('pgbouncer has started', sub {
	($pooler) = -e "$directory/pid" ? slurp_file("$directory/pid") =~ /^(\d+)$/m : ();
	$pooler && -S "$directory/.s.PGSQL.$port" });

END
{
	my $status = $?;
	kill('TERM', $pooler) if $pooler;
	$? = $status;
}

# What each client does: an insert in a transaction of its own, two in one transaction, and an id that
# is drawn first and inserted later, in another session then.
append_to_file("$directory/script", q{
INSERT INTO item (client, earlier) VALUES (:client_id, :last) RETURNING id AS last \gset
BEGIN;
INSERT INTO item (client, earlier) VALUES (:client_id, :last) RETURNING id AS last \gset
INSERT INTO item (client, earlier) VALUES (:client_id, :last) RETURNING id AS last \gset
COMMIT;
SELECT snowflake_next() AS drawn \gset
INSERT INTO item (id, client, earlier) VALUES (:drawn, :client_id, :last) RETURNING id AS last \gset
});

foreach my $protocol (qw(simple extended))
{
	$node->safe_psql('postgres', 'TRUNCATE item');
	$node->command_ok(
		[   'pgbench', '-n', '-M', $protocol, '-c', $clients, '-j', 2, '-t', $rounds,
			'-D', 'last=0', '-f', "$directory/script", '-h', $directory, '-p', $port, 'postgres'
		],
		"$protocol protocol: $clients clients through $pool_size connections");
	is( $node->safe_psql('postgres', q{
			SELECT count(*), count(DISTINCT id), count(DISTINCT client) FROM item}),
		join('|', 4 * $rounds * $clients, 4 * $rounds * $clients, $clients),
		"$protocol protocol: each row has an id of its own");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM item WHERE id <= earlier'),
		0, "$protocol protocol: each client's ids ascend");
	is( $node->safe_psql('postgres', qq{
			SELECT (SELECT count(DISTINCT backend) FROM item) <= $pool_size, min(backends) > 1
			FROM (SELECT count(DISTINCT backend) FROM item GROUP BY client) s (backends)}),
		't|t',
		"$protocol protocol: the clients shared the server's sessions");
}

# The one setting that a session may change is set for a transaction.
is( $node->safe_psql(
		'postgres',
		q{
			-- doc:begin pgbouncer-setting sql
			BEGIN;
			SET LOCAL snowflake.grant_timeout = '7s';
			-- doc:end
			SHOW snowflake.grant_timeout;
			COMMIT;
			SHOW snowflake.grant_timeout},
		connstr => "host=$directory port=$port dbname=postgres"),
	"7s\n5s", 'SET LOCAL snowflake.grant_timeout ends with its transaction');

$node->stop;
done_testing();
