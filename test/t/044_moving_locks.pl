# What snowflake_adopt() and snowflake_create_partitions() have looked at stays so until they are done:
# another transaction is waited for, and what it did counts.
use strict;
use warnings;
use Snowflake;
use Test::More;

my $node = start_server(
	'moving',
	'snowflake.machine_id' => 7,
	'max_prepared_transactions' => 1);
$node->safe_psql('postgres', q{
	CREATE TABLE item (id bigserial PRIMARY KEY);
	CREATE TABLE events (id bigint) PARTITION BY RANGE (id)});

# Calls a function while another transaction has run some statement and not ended yet; then ends that.
# Returns the client.
sub call_meanwhile
{
	my ($statement, $call, $end) = @_;
	$node->safe_psql('postgres', "BEGIN; $statement; PREPARE TRANSACTION 'other'");
	my $client = start_client($node, ["SELECT count(*) FROM $call;"], repeat => 1);
	$node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_locks WHERE NOT granted})
	  or die 'it does not wait';
	$node->safe_psql('postgres', "$end PREPARED 'other'");
	wait_for_clients($client);
	return $client;
}

my $insert = q{INSERT INTO item VALUES (snowflake_floor('2094-01-01'))};
my $adopt = q{snowflake_adopt('item', 'id')};
my $client = call_meanwhile($insert, $adopt, 'COMMIT');
my ($error, @more) = errors_of($client);
like($error, qr/^55000: .* has values above those of new ids/, 'adopt: a row that is committed meanwhile counts');
is(scalar(@more), 0, 'adopt: that is all');
$node->safe_psql('postgres', 'DELETE FROM item');
$client = call_meanwhile($insert, $adopt, 'ROLLBACK');
is_deeply([ errors_of($client), ids_of($client) ], [2], 'adopt: one that is rolled back does not');

my $create = q{snowflake_create_partitions('events', '2027-01-01', '2027-01-11', '1 day')};
$client = call_meanwhile("SELECT * FROM $create", $create, 'COMMIT');
is_deeply([ errors_of($client), ids_of($client) ], [0], 'partitions: those created meanwhile are there');
$node->safe_psql('postgres', 'DROP TABLE events; CREATE TABLE events (id bigint) PARTITION BY RANGE (id)');
$client = call_meanwhile("SELECT * FROM $create", $create, 'ROLLBACK');
my ($count) = ids_of($client);
cmp_ok($count, '>=', 10, 'partitions: those that are rolled back are created');
is_deeply([ errors_of($client) ], [], 'partitions: without an error');

# Nobody has to wait for partitions that are all there.
$node->safe_psql('postgres', q{BEGIN; SELECT count(*) FROM events; PREPARE TRANSACTION 'other'});
is($node->safe_psql('postgres', "SET lock_timeout = '10s'; SELECT count(*) FROM $create"),
	0, 'partitions: nothing to create, no lock that readers hinder');
$node->safe_psql('postgres', q{ROLLBACK PREPARED 'other'});
$node->stop;
done_testing();
