# Two servers with machine ids of their own replicate one table to each other by logical replication,
# and both insert: no row conflicts with another, and both end with the same rows.
#
# A row that is replicated must not go back to where it came from. From PostgreSQL 16 on
# `origin = none` sees to that; before, and after as well, each server publishes just the rows that it
# made, which their ids tell. (A row filter may call no function but PostgreSQL's own, so it takes the
# machine id by shifting.)
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Snowflake;
use Test::More;

my %machine = (west => 1, east => 2);
my %other = (west => 'east', east => 'west');
my %node = map { $_ => start_server($_,
		'wal_level' => 'logical',
		'max_wal_senders' => 10,
		'log_statement' => 'none',
		'snowflake.machine_id' => $machine{$_}) } keys %machine;
my @servers = qw(west east);

my @ways = ('row filter');
push @ways, 'origin' if $node{west}->safe_psql('postgres', 'SHOW server_version_num') >= 160000;

# With the default of 10 machine bits: those of the machine id begin at bit 12.
my %rows_made_here = (
	west => q{
		-- doc:begin replication-west sql
		CREATE PUBLICATION mine FOR TABLE event WHERE ((id >> 12) & 1023 = 1);
		-- doc:end
	},
	east => q{
		-- doc:begin replication-east sql
		CREATE PUBLICATION mine FOR TABLE event WHERE ((id >> 12) & 1023 = 2);
		-- doc:end
	});

sub publish
{
	my ($name, $way) = @_;
	$node{$name}->safe_psql('postgres',
		$way eq 'origin' ? 'CREATE PUBLICATION mine FOR TABLE event' : $rows_made_here{$name});
	return;
}

# The server receives what the other one publishes, with what is there already if `copy` says so.
sub subscribe
{
	my ($name, $way, $copy) = @_;
	my $connection = $node{ $other{$name} }->connstr('postgres') =~ s/'/''/gr;
	my $origin = $way eq 'origin' ? ', origin = none' : '';
	$node{$name}->safe_psql('postgres', qq{
		CREATE SUBSCRIPTION at_$name CONNECTION '$connection' PUBLICATION mine
			WITH (copy_data = $copy$origin)});
	return;
}

# Waits until each has what the other had at the time of the call.
sub meet
{
	foreach my $name (@servers)
	{
		$node{$name}->poll_query_until('postgres',
			q{SELECT count(*) = 0 FROM pg_subscription_rel WHERE srsubstate NOT IN ('r', 's')})
		  or die "$name: the first copy does not end\n";
		$node{$name}->wait_for_catchup("at_$other{$name}");
	}
	return;
}

# Two sessions that insert 1000 rows each, over several seconds.
sub start_inserting
{
	my ($name) = @_;
	my $insert = "INSERT INTO event (made_at) SELECT '$name' FROM (SELECT generate_series(1, 4)) s RETURNING id;";
	return map { start_client($node{$name}, [$insert], repeat => 250, pause => 0.01) } 1 .. 2;
}

foreach my $way (@ways)
{
	foreach my $name (@servers)
	{
		$node{$name}->safe_psql('postgres', q{
			CREATE TABLE event (
				id bigint PRIMARY KEY DEFAULT snowflake_next(),
				made_at text NOT NULL,
				note text)});
		publish($name, $way);
	}

	# The west has rows, and gets more, before and while the two meet; the east as well, where a copy
	# leaves out what came from elsewhere.
	$node{west}->safe_psql('postgres',
		q{INSERT INTO event (made_at) SELECT 'west' FROM generate_series(1, 1000)});
	my @writers = start_inserting('west');
	push @writers, start_inserting('east') if $way eq 'row filter';
	subscribe('east', $way, 'true');
	subscribe('west', $way, $way eq 'row filter' ? 'true' : 'false');
	push @writers, start_inserting('east') if $way ne 'row filter';
	wait_for_clients(@writers);
	meet();

	my @ids = map { ids_of($_) } @writers;
	is(join('; ', map { errors_of($_) } @writers), '', "$way: no insert failed");
	is(count_duplicates(@ids), 0, "$way: no id was given twice");
	my $rows = 1000 + 2 * 2 * 1000;
	is(1000 + @ids, $rows, "$way: every insert returned its ids");
	my $contents = q{SELECT count(*), md5(string_agg(event::text, ',' ORDER BY id)) FROM event};
	my $west = $node{west}->safe_psql('postgres', $contents);
	like($west, qr/^$rows\|/, "$way: every row is in the west");
	is($node{east}->safe_psql('postgres', $contents), $west, "$way: the east has the same rows");
	is( $node{west}->safe_psql('postgres', q{
			SELECT made_at, snowflake_machine(id) FROM event GROUP BY 1, 2 ORDER BY 2}),
		"west|1\neast|2",
		"$way: an id says where its row was made");

	# Each changes rows that it made.
	$node{$_}->safe_psql('postgres', qq{
		UPDATE event SET note = 'changed' WHERE id IN (
			SELECT id FROM event WHERE made_at = '$_' ORDER BY id LIMIT 10);
		DELETE FROM event WHERE id IN (
			SELECT id FROM event WHERE made_at = '$_' ORDER BY id DESC LIMIT 5)}) for @servers;
	meet();
	is( $node{$_}->safe_psql('postgres',
			q{SELECT count(*), count(*) FILTER (WHERE note = 'changed') FROM event}),
		($rows - 10) . '|20',
		"$way: changes have arrived in the $_") for @servers;

	foreach my $name (@servers)
	{
		is( $node{$name}->safe_psql('postgres',
				'SELECT sum(apply_error_count + sync_error_count) FROM pg_stat_subscription_stats'),
			0, "$way: nothing failed to apply in the $name");
		is(join("\n", log_lines($node{$name}, qr/duplicate key|conflict/)),
			'', "$way: no conflict in the log of the $name");
	}
	$node{$_}->safe_psql('postgres', "DROP SUBSCRIPTION at_$_") for @servers;
	$node{$_}->safe_psql('postgres', 'DROP PUBLICATION mine; DROP TABLE event') for @servers;
}

$node{$_}->stop for @servers;
done_testing();
