# What the tests with several servers share: a primary and its standbys, each with a clock of its own,
# sessions that write rows without end, and the state file as it is on disk.
package Replicas;

use strict;
use warnings;
use Exporter 'import';
use List::Util qw(max min);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Snowflake;
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = qw(
  new_primary new_copy start_at move_clock kill_server
  start_writing rows_of draw await_ids
  count_repeats is_new is_behind is_waiting
  grants_of state_of warnings_of
);


# Servers

# A server that others can be copied from, not started yet.
sub new_primary
{
	my ($name, $settings, %init) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(allows_streaming => 1, %init);
	configure(
		$node,
		'shared_preload_libraries' => 'snowflake',
		'snowflake.machine_id' => 7,
		'wal_keep_size' => '1GB',
		'autovacuum' => 'off',
		'log_statement' => 'none',
		'log_min_error_statement' => 'panic',
		%{ $settings // {} });
	return $node;
}

# A server made from a base backup of another, not started yet. The options are those of
# init_from_backup: has_streaming makes it a standby. It must not write to the other's archive.
sub new_copy
{
	my ($of, $backup, $name, %options) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init_from_backup($of, $backup, %options);
	configure($node, 'archive_mode' => 'off');
	return $node;
}

sub clock_file
{
	my ($node) = @_;
	return $node->basedir . '/clock';
}

# Sets a server's clock so many seconds ahead of the real one, at once. No other server's changes.
sub move_clock
{
	my ($node, $seconds) = @_;
	my $file = clock_file($node);
	unlink "$file.new";
	append_to_file("$file.new", sprintf("%+.3f\n", $seconds));
	rename("$file.new", $file) or die "$file: $!";
	return;
}

# Starts a server, its clock so many seconds ahead of the real one.
sub start_at
{
	my ($node, $seconds, %options) = @_;
	move_clock($node, $seconds);
	local %ENV = (%ENV, fake_clock(), FAKETIME_TIMESTAMP_FILE => clock_file($node));
	return $node->start(%options);
}

# Ends all of a server's processes by SIGKILL, as a machine that fails does.
sub kill_server
{
	my ($node) = @_;
	my $postmaster = pid_of_postmaster($node);
	my @pids = children_of($postmaster);
	kill('STOP', $postmaster);    # so that it starts no other
	push @pids, children_of($postmaster);
	kill('KILL', @pids);
	$node->kill9;
	wait_until('the killed processes are gone', sub { !grep { kill(0, $_) } @pids });
	return;
}


# Ids

# Sessions that insert rows into table item (id, payload) without end. What is received counts as
# received when the row is made, whether or not its transaction commits.
sub start_writing
{
	my ($node, $count) = @_;
	my $insert =
	    'COPY (INSERT INTO item SELECT snowflake_next() FROM (SELECT generate_series(1, 5)) s'
	  . ' RETURNING id) TO STDOUT;';
	return map { start_client($node, [ $insert, 'SELECT pg_sleep(0.002);' ]) } 1 .. $count;
}

# The ids in table item.
sub rows_of
{
	my ($node) = @_;
	return map { $_ + 0 } split /\n/, $node->safe_psql('postgres', 'SELECT id FROM item');
}

# Ids, drawn from a server that can issue some now.
sub draw
{
	my ($node, $count) = @_;
	my $seconds = $PostgreSQL::Test::Utils::timeout_default;
	my ($ids, $waits);
	$node->psql('postgres', "SELECT snowflake_next($count)",
		stdout => \$ids, on_error_die => 1, timeout => $seconds, timed_out => \$waits);
	die "no id can be drawn within $seconds seconds\n" if $waits;
	return map { $_ + 0 } split /\n/, $ids;
}

# Ids, drawn from a server that can issue some soon, for its clock has not passed its floor yet.
sub await_ids
{
	my ($node, $count) = @_;
	$node->poll_query_until('postgres', 'SELECT snowflake_next() IS NOT NULL')
	  or die "no id can be drawn\n";
	return draw($node, $count);
}

# How many of the new ids are there already, among the old ones or the new ones.
sub count_repeats
{
	my ($old, $new) = @_;
	my %seen = map { $_ => 1 } @$old;
	return scalar grep { $seen{$_}++ } @$new;
}

# None of the new ids is an old one.
sub is_new
{
	my ($old, $new, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	die "$what: nothing to compare\n" unless @$old && @$new;
	return is(count_repeats($old, $new), 0,
		"$what: no id comes again (" . @$new . ' after ' . @$old . ')');
}

# A call is refused because the server's clock has not passed what was issued elsewhere yet or, if the
# verb is "has gone back", what was issued here. Returns how many milliseconds are missing.
sub is_behind
{
	my ($node, $what, $verb) = @_;
	$verb //= 'is behind';
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $message = qr/^cannot generate a snowflake id: the clock $verb by (\d+) ms$/;
	my ($stderr, $waits);
	$node->psql(
		'postgres', 'SELECT snowflake_next()',
		stderr => \$stderr,
		timeout => $PostgreSQL::Test::Utils::timeout_default,
		timed_out => \$waits);
	if ($waits)
	{
		fail("$what: it waits");
		return 0;
	}
	my $error = is_refused($node, 'SELECT snowflake_next()', '55000', $message, $what);
	my ($ms) = ($error->{message} // '') =~ $message;
	like(
		$error->{detail} // '',
		qr/^The clock reads .*, but ids of this machine id start at /,
		"$what: the detail says until when");
	return $ms // 0;
}

# A call waits, and can be cancelled. (Not by statement_timeout, whose timers do not know of a clock
# that is ahead of the real one.)
sub is_waiting
{
	my ($node, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $client = start_client($node, ['SELECT snowflake_next();'], repeat => 1, name => 'waiting');
	$node->poll_query_until('postgres',
		q{SELECT bool_or(pg_cancel_backend(pid)) FROM pg_stat_activity
		  WHERE application_name = 'waiting' AND wait_event_type = 'Extension'})
	  or die "$what: no call that waits\n";
	wait_for_clients($client);
	return is_deeply(
		[ ids_of($client), errors_of($client) ],
		['57014: canceling statement due to user request'], $what);
}



# The state

# The rows of snowflake_grants, each an array of these columns.
sub grants_of
{
	my ($node, $columns) = @_;
	return map { [ split /\|/, $_, -1 ] }
	  split /\n/, $node->safe_psql('postgres', "SELECT $columns FROM snowflake_grants");
}

# Warnings in the server's log, from a position on: each with its detail and hint in one string.
sub warnings_of
{
	my ($node, $pattern, $from) = @_;
	my @found;
	my $in = 0;
	foreach my $line (split /\n/, slurp_file($node->logfile, $from // 0))
	{
		if ($line =~ /\b(?:WARNING|DETAIL|HINT): /)
		{
			push @found, '' if $line =~ /WARNING: /;
			$in = @found > 0;
			$found[-1] .= "$line\n" if $in;
		}
	}
	return grep { /$pattern/ } @found;
}

my @crc_table = map {
	my $crc = $_;
	$crc = ($crc & 1) ? ($crc >> 1) ^ 0x82F63B78 : $crc >> 1 for 1 .. 8;
	$crc;
} 0 .. 255;

sub crc32c
{
	my ($bytes) = @_;
	my $crc = 0xFFFFFFFF;
	$crc = $crc_table[ ($crc ^ $_) & 0xFF ] ^ ($crc >> 8) for unpack('C*', $bytes);
	return $crc ^ 0xFFFFFFFF;
}

# The state file of a data directory, as src/lease/state.hpp lays it out: a hash. Dies if the file is
# damaged.
sub state_of
{
	my ($node) = @_;
	my $path = $node->data_dir . '/pg_snowflake/state';
	open(my $file, '<:raw', $path) or die "$path: $!";
	local $/ = undef;
	my $bytes = <$file>;
	close($file);

	my %state;
	@state{
		qw(magic version size epoch machine_bits run_count grant_count unused system_identifier node
		  floor_ms replayed_us host os_id directory device inode)
	} = unpack('a8 L L q l L L L Q H32 q q Z64 Z40 Z128 Q Q', $bytes);
	die "$path: wrong magic\n" unless $state{magic} eq 'SNOWMARK';
	die "$path: wrong size\n"
	  unless $state{size} == length($bytes)
	  && $state{size} == 328 + 16 * $state{run_count} + 256 * $state{grant_count} + 4;
	die "$path: wrong checksum\n"
	  unless unpack('L', substr($bytes, -4)) == crc32c(substr($bytes, 0, -4));
	for my $i (0 .. $state{run_count} - 1)
	{
		my ($first, $count, $mark) = unpack('l l q', substr($bytes, 328 + 16 * $i, 16));
		$state{marks}{$_} = $mark for $first .. $first + $count - 1;
	}
	return \%state;
}

1;
