# 16 writers that commit after random delays, and roll back now and then, and readers of many kinds that
# all see every committed row once, in order. One reader goes by the newest id instead of by
# snowflake_horizon(): it misses rows, which shows that the others are put to the test.
use strict;
use warnings;
use IO::Handle;
use IPC::Open2;
use POSIX ();
use PostgreSQL::Test::Utils;
use Snowflake;
use Test::More;

my $seconds = 8;
my $node = start_server(
	'horizon_load',
	'snowflake.machine_id' => '8-9',
	'max_prepared_transactions' => 20,
	'max_connections' => 60,
	'log_statement' => 'none',
	'synchronous_commit' => 'off');
$node->safe_psql('postgres', q{
	CREATE TABLE t (id bigint DEFAULT snowflake_next(), k int NOT NULL DEFAULT random() * 3) PARTITION BY HASH (k);
	CREATE TABLE t0 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	CREATE TABLE t1 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 1);
	CREATE INDEX ON t (id)});

# Readers

my $dir = PostgreSQL::Test::Utils::tempdir('readers');
my $stop = "$dir/stop";

# Statements with LAST in the place of the last id that was seen. The first one's rows count.
my $poll = 'SELECT id FROM t WHERE id > LAST AND id < snowflake_horizon() ORDER BY id;';
my %readers = (
	'plain' => $poll,
	'in pages' => 'SELECT id FROM t WHERE id > LAST AND id < snowflake_horizon() ORDER BY id LIMIT 10;',
	'by a filter' => "SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off; $poll",
	'long after the snapshot' =>
	  'SELECT id FROM (SELECT pg_sleep(0.003 * random()) OFFSET 0) s, t WHERE id > LAST AND id < snowflake_horizon() ORDER BY id;',
	'by a cursor' => "BEGIN; DECLARE c CURSOR FOR $poll SELECT 'slept' FROM pg_sleep(0.003); FETCH ALL FROM c; COMMIT;",
	'in repeatable read' =>
	  "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 'slept' FROM pg_sleep(0.003); $poll COMMIT;",
	'in two steps' => "SELECT snowflake_horizon() AS horizon\n\\gset\nSELECT id FROM t WHERE id > LAST AND id < :horizon ORDER BY id;",
	'by the newest id' => 'SELECT id FROM t WHERE id > LAST ORDER BY id;');

# A reader is a process that writes down each id that it receives. When it is asked to stop it polls till
# there is nothing new.
sub start_reader
{
	my ($name) = @_;
	my $statements = $readers{$name};
	STDOUT->flush;
	my $pid = fork // die "cannot fork: $!";
	return $pid if $pid;
	eval {
		open(my $out, '>', "$dir/$name") or die "$dir/$name: $!";
		my $psql = open2(my $from, my $to, $node->installed_command('psql'), '-XAtq', '-v', 'ON_ERROR_STOP=1',
			'-d', $node->connstr('postgres'));
		my $last = 0;
		for (my ($is_asked, $is_over) = (0, 0); !$is_over;)
		{
			$is_asked = -e $stop;
			(my $sql = $statements) =~ s/LAST/$last/;
			print $to "$sql\n\\echo done\n";
			$to->flush;
			my $count = 0;
			while (1)
			{
				my $line = <$from> // die 'psql ended';
				last if $line eq "done\n";
				next unless $line =~ /^\d+$/;
				print $out $line;
				$last = $line + 0;
				$count++;
			}
			$is_over = $is_asked && $count == 0;
		}
		close($out) or die $!;
		close($to);
		waitpid($psql, 0);
	};
	print STDERR "reader $name: $@" if $@;
	POSIX::_exit($@ ? 1 : 0);
}

# Writers

my %scripts = (
	insert => [ 6, q{BEGIN; INSERT INTO t DEFAULT VALUES;
\sleep :delay us
INSERT INTO t DEFAULT VALUES; COMMIT;} ],
	at_once => [ 3, 'INSERT INTO t DEFAULT VALUES;' ],
	rolls_back => [ 1, q{BEGIN; INSERT INTO t DEFAULT VALUES;
\sleep :delay us
ROLLBACK;} ],
	draws_early => [ 3, q{BEGIN; SELECT snowflake_next() AS drawn
\gset
\sleep :delay us
INSERT INTO t VALUES (:drawn); COMMIT;} ],
	draws_only => [ 1, q{BEGIN; SELECT snowflake_next();
\sleep :delay us
COMMIT;} ],
	subtransactions => [ 2, q{BEGIN; SAVEPOINT a; INSERT INTO t DEFAULT VALUES; ROLLBACK TO a; INSERT INTO t DEFAULT VALUES;
\sleep :delay us
SAVEPOINT b; INSERT INTO t SELECT snowflake_next(3); RELEASE b; COMMIT;} ],
	prepares => [ 2, q{BEGIN; INSERT INTO t DEFAULT VALUES; PREPARE TRANSACTION 'p:client_id';
\sleep :delay us
COMMIT PREPARED 'p:client_id';} ]);
my @files;
foreach my $name (sort keys %scripts)
{
	my ($weight, $script) = @{ $scripts{$name} };
	append_to_file("$dir/$name.sql", "\\set delay random_zipfian(1, 20000, 1.1)\n$script\n");
	push @files, '-f', "$dir/$name.sql\@$weight";
}

my @pids = map { start_reader($_) } sort keys %readers;
command_ok(
	[ $node->installed_command('pgbench'), '-n', '-M', 'simple', '-c', '16', '-j', '4', '-T', $seconds,
		'-d', $node->connstr('postgres'), @files ],
	'16 writers write');
append_to_file($stop, "stop\n");
foreach my $pid (@pids)
{
	waitpid($pid, 0);
	is($?, 0, 'a reader has ended well');
}

my $all = $node->safe_psql('postgres', 'SELECT id FROM t ORDER BY id');
my $count = () = $all =~ /\n/g;
cmp_ok($count, '>', 3000, "there are many rows: $count");
foreach my $name (sort keys %readers)
{
	chomp(my $seen = slurp_file("$dir/$name"));
	if ($name eq 'by the newest id')
	{
		my $seen_count = () = $seen =~ /\n/g;
		cmp_ok($seen_count, '<', $count, "a reader $name misses rows: " . ($count - $seen_count));
	}
	else
	{
		ok($seen eq $all, "a reader $name sees every row once, in order")
		  or diag(scalar(() = $seen =~ /\n/g) . " of $count rows");
	}
}

$node->stop;
done_testing();
