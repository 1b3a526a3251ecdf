# A standby decodes and does not generate; after its promotion it does, in old sessions and new ones,
# under the machine id that was set last.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use Snowflake;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
configure($primary, 'shared_preload_libraries' => 'snowflake', 'snowflake.machine_id' => 7);
$primary->start;
$primary->safe_psql('postgres', q{
	CREATE EXTENSION snowflake;
	CREATE TABLE t (id bigint PRIMARY KEY DEFAULT snowflake_next(), x int);
	INSERT INTO t (x) SELECT generate_series(1, 1000)});

# A read-only transaction of a primary may draw ids: nothing is written.
foreach my $begin ('BEGIN READ ONLY', 'BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE',
	'SET default_transaction_read_only = on')
{
	is( $primary->safe_psql('postgres', "$begin; SELECT snowflake_machine(snowflake_next()), count(*) FROM snowflake_next(10)"),
		'7|10', "primary: $begin");
}

$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
configure($standby, 'snowflake.machine_id' => 8);
$standby->start;
$primary->wait_for_catchup($standby);

sub stat_of
{
	my ($columns) = @_;
	return $standby->safe_psql('postgres', "SELECT $columns FROM pg_stat_snowflake");
}

foreach my $call ('SELECT snowflake_next()', 'SELECT snowflake_next(5)', 'SELECT snowflake_next(0)')
{
	my $error = error_of($standby, $call);
	is("$error->{sqlstate}: $error->{message}",
		'25006: cannot execute snowflake_next() during recovery', "standby: $call");
}
is( $standby->safe_psql('postgres',
		'SELECT count(*) FROM t WHERE snowflake_machine(id) = 7 AND id > snowflake_floor(now() - interval \'1 hour\')
			AND snowflake_timestamp(id) < now()'),
	'1000', 'standby: ids are read');
is(stat_of('status, machine_id, last_id IS NULL, ids_issued'), 'standby||t|0', 'standby: the view');

# A session that tried before the promotion, and one that did not.
my @sessions = map { $standby->background_psql('postgres', on_error_stop => 0) } 1 .. 2;
is(scalar $sessions[0]->query('SELECT snowflake_next()'), '', 'standby: a session tries');
is(scalar $sessions[1]->query('SELECT 1'), '1', 'standby: another does not');

# The machine id is changed on the standby.
foreach my $machine_id ('16-31', '9')
{
	configure($standby, 'snowflake.machine_id' => $machine_id);
	$standby->reload;
	ok( $standby->poll_query_until('postgres',
			"SELECT current_setting('snowflake.machine_id') = '$machine_id'"),
		"standby: a reload sets machine id $machine_id");
}

# A promotion in the midst of the primary's work: what the new one issues is not what the old one did.
my @clients = map { start_client($primary, ['INSERT INTO t (x) VALUES (1) RETURNING id;']) } 1 .. 2;
wait_until('the primary is at work', sub { !grep { -s $_->{ids} < 1000 } @clients });
$standby->promote;
stop_clients(@clients);
is_deeply([ map { errors_of($_) } @clients ], [], 'the old primary goes on');

my @ids = (
	(map { scalar $_->query('SELECT snowflake_next()') } @sessions),
	$standby->safe_psql('postgres', 'INSERT INTO t (x) VALUES (2) RETURNING id'));
is_deeply([ map { machine_of($_) } @ids ],
	[ 9, 9, 9 ], 'promoted: old and new sessions draw ids, under the machine id that was set last');
is(count_disorder(@ids), 0, 'promoted: in ascending order');
is($standby->safe_psql('postgres', 'SELECT count(*) FROM t WHERE snowflake_machine(id) = 9'),
	'1', 'promoted: rows are written');
is(count_duplicates(@ids, map { ids_of($_) } @clients), 0, 'promoted: no id comes twice');
is(stat_of('status, machine_id, ids_issued'), 'issuing|9|3', 'promoted: the view');

# And a reload switches it as any primary.
switch_to($standby, '10');
is(machine_of(scalar $sessions[0]->query('SELECT snowflake_next()')), 10, 'promoted: a reload switches');

$_->quit for @sessions;
$standby->stop;
$primary->stop;
done_testing();
