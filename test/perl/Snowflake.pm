# What the TAP tests share: servers that preload the library, clients that draw ids without end,
# errors in their parts, and a clock that the test sets.
package Snowflake;

use strict;
use warnings;
use Exporter 'import';
use File::Path ();
use IO::Handle;
use IPC::Open2;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

our @EXPORT = qw(
  start_server configure forget_marks switch_to wait_in_server wait_event_name
  error_of is_refused
  start_client ask_to_stop stop_clients wait_for_clients
  ids_of errors_of seconds_of count_duplicates count_disorder runs_by_time block_has machine_of
  fake_clock set_clock with_fake_clock start_with_fake_clock
  wait_until pid_of_postmaster children_of worker_pids log_lines log_position
);

my $scratch;

# Where clients write, and the clock lies; removed after the test.
sub scratch
{
	$scratch //= PostgreSQL::Test::Utils::tempdir('snowflake');
	return $scratch;
}


# Servers

# A running server with these settings (a hash of name to value, without quotes) that preloads the
# library, and has the extension in database postgres.
sub start_server
{
	my ($name, %settings) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init;
	configure($node, shared_preload_libraries => 'snowflake', %settings);
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION snowflake');
	return $node;
}

# Adds settings to postgresql.conf. They hold from the next start or reload on.
sub configure
{
	my ($node, %settings) = @_;
	$node->append_conf('postgresql.conf', "$_ = '$settings{$_}'") for sort keys %settings;
	return;
}

# What pg_stat_activity calls a wait for a millisecond: before 17 extensions shared one name.
sub wait_event_name
{
	my ($node) = @_;
	my $version = $node->safe_psql('postgres', 'SHOW server_version_num');
	return $version >= 170000 ? 'SnowflakeTick' : 'Extension';
}

# The library's workers among a server's processes, by their titles: they have no connection, so
# pg_stat_activity does not show them.
sub worker_pids
{
	my ($node) = @_;
	return children_of(pid_of_postmaster($node), qr/^postgres: (?:.*: )?snowflake[\s\0]*$/);
}

# The postmaster of a running server.
sub pid_of_postmaster
{
	my ($node) = @_;
	my ($pid) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	return $pid;
}

# The processes that have this parent, of any title or of one that matches.
sub children_of
{
	my ($parent, $title) = @_;
	my @children;
	foreach my $file (glob '/proc/[0-9]*/stat')
	{
		# The name, before the parent, may be anything. The process may be gone by now.
		my ($pid, $its_parent) = (eval { slurp_file($file) } // '') =~ /^(\d+) \(.*\) \w (\d+)/s
		  or next;
		next if $its_parent != $parent;
		my $its_title = eval { slurp_file("/proc/$pid/cmdline") } // next;
		push @children, $pid if $its_title =~ ($title // qr/^/);
	}
	return @children;
}

# Sets the machine id (or block, or '') by a reload, and waits until the server has switched to it.
sub switch_to
{
	my ($node, $machine_id) = @_;
	$node->safe_psql('postgres', qq{
		ALTER SYSTEM SET snowflake.machine_id = '$machine_id';
		SELECT pg_reload_conf()});
	wait_in_server($node, "machine_id IS NOT DISTINCT FROM nullif('$machine_id', '')");
	return;
}

# Makes a server that does not run forget what it ever issued, so that it can have another layout.
sub forget_marks
{
	my ($node) = @_;
	File::Path::remove_tree($node->data_dir . '/pg_snowflake');
	return;
}

# Waits until a condition on the columns of pg_stat_snowflake holds: looks much more often than
# poll_query_until.
sub wait_in_server
{
	my ($node, $condition) = @_;
	my $timeout = $PostgreSQL::Test::Utils::timeout_default;
	$node->safe_psql('postgres', qq{
		SET statement_timeout = '${timeout}s';
		DO \$\$ BEGIN
			WHILE (SELECT ($condition) IS NOT TRUE FROM pg_stat_snowflake) LOOP
				PERFORM pg_sleep(0.001);
			END LOOP;
		END \$\$});
	return;
}

# The lines of the server's log, from a position on, that match.
sub log_lines
{
	my ($node, $pattern, $from) = @_;
	return grep { /$pattern/ } split /\n/, slurp_file($node->logfile, $from // 0);
}

# The end of the server's log as it is now.
sub log_position
{
	my ($node) = @_;
	return -s $node->logfile;
}


# Errors

# Runs a statement and returns its error as a hash of sqlstate, message, detail and hint (empty if it
# has none), or nothing if it succeeds.
sub error_of
{
	my ($node, $sql, $database) = @_;
	my ($stdout, $stderr);
	my $status = $node->psql(
		$database // 'postgres', $sql,
		stdout => \$stdout,
		stderr => \$stderr,
		extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	return if $status == 0;
	my %error = (detail => '', hint => '');
	@error{qw(sqlstate message)} = $stderr =~ /(?:ERROR|FATAL): +(\w{5}): (.*)/;
	$error{lc $1} = $2 while $stderr =~ /^(DETAIL|HINT): +(.*)/mg;
	return \%error;
}

# A statement is refused, with this SQLSTATE and message, a detail and a hint. Returns the error.
sub is_refused
{
	my ($node, $sql, $sqlstate, $message, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $error = error_of($node, $sql);
	subtest $what => sub {
		ok(defined $error, 'it fails') or return;
		is($error->{sqlstate}, $sqlstate, 'SQLSTATE');
		like($error->{message}, $message, 'message');
		isnt($error->{detail}, '', 'it has a detail');
		isnt($error->{hint}, '', 'it has a hint');
	};
	return $error;
}


# Clients
#
# A client is a process with a session of its own (a psql). It runs its statements in turn, each after
# the one before has ended, well or not, and writes down every id that it receives, in order. COPY …
# TO STDOUT sends each row when it is made, so an id counts as received even if its statement is
# cancelled or its transaction rolled back later.

my $client_count = 0;

# Options: `repeat`, how often to run the list of statements (without end, till it is asked to stop, if
# not given); `pause`, for how many seconds before each statement (pg_sleep() would sleep by the clock,
# which a test may set); `name`, the session's application_name; `database`.
sub start_client
{
	my ($node, $statements, %options) = @_;
	my $base = scratch() . '/client' . ++$client_count;
	my %client = (
		ids => "$base.ids",
		errors => "$base.err",
		seconds => "$base.seconds",
		stop => "$base.stop");
	my @psql = (
		$node->installed_command('psql'),
		'-XAtq', '-v', 'VERBOSITY=verbose', '-d',
		$node->connstr($options{database} // 'postgres')
		  . ' application_name='
		  . ($options{name} // 'client'));
	append_to_file($client{$_}, '') for qw(ids errors seconds);
	STDOUT->flush;
	STDERR->flush;
	my $pid = fork // die "cannot fork: $!";
	if ($pid == 0)
	{
		# _exit: the test's own END blocks would stop its servers.
		eval { run_client(\%client, \@psql, $statements, %options) };
		print STDERR $@ if $@;
		POSIX::_exit(0);
	}
	$client{pid} = $pid;
	return \%client;
}

# The client's process.
sub run_client
{
	my ($client, $psql, $statements, %options) = @_;
	open(my $ids, '>', $client->{ids}) or die "$client->{ids}: $!";
	open(my $seconds, '>', $client->{seconds}) or die "$client->{seconds}: $!";
	open(STDERR, '>', $client->{errors}) or die "$client->{errors}: $!";
	$SIG{PIPE} = 'IGNORE';
	my $pid = open2(my $from, my $to, @$psql);
	my $open = 1;
	for (my $round = 0; $open && $round < ($options{repeat} // 'inf'); $round++)
	{
		foreach my $statement (@$statements)
		{
			$open = 0 if -e $client->{stop};
			last unless $open;
			usleep(1e6 * $options{pause}) if $options{pause};
			my $begin = time;
			print $to "$statement\n\\echo done\n";
			$to->flush;
			my $line;
			while (defined($line = <$from>) && $line ne "done\n")
			{
				print $ids $line if $line =~ /^-?\d+$/;
			}
			printf $seconds "%.3f\n", time - $begin;
			$_->flush for $ids, $seconds;
			$open = 0 unless defined $line;
		}
	}
	close($to);
	while (my $line = <$from>) { print $ids $line if $line =~ /^-?\d+$/ }
	close($ids);
	waitpid($pid, 0);
	return;
}

# Waits for clients to end by themselves.
sub wait_for_clients
{
	my (@clients) = @_;
	foreach my $client (@clients)
	{
		next unless defined $client->{pid};
		wait_until('a client has ended',
			sub { waitpid($client->{pid}, POSIX::WNOHANG()) == $client->{pid} });
		delete $client->{pid};
	}
	return;
}

# Clients end after the statement that they are at.
sub ask_to_stop
{
	my (@clients) = @_;
	append_to_file($_->{stop}, "stop\n") for @clients;
	return;
}

sub stop_clients
{
	my (@clients) = @_;
	ask_to_stop(@clients);
	wait_for_clients(@clients);
	return;
}

# A test that dies leaves no client behind.
END
{
	my $status = $?;
	if (defined $scratch && -d $scratch)
	{
		append_to_file("$scratch/client$_.stop", "stop\n") for 1 .. $client_count;
	}
	$? = $status;
}

# The ids that a client received, in order.
sub ids_of
{
	my ($client) = @_;
	return map { $_ + 0 } split /\n/, slurp_file($client->{ids});
}

# The errors that a client received, as "SQLSTATE: message".
sub errors_of
{
	my ($client) = @_;
	my @errors;
	foreach my $line (split /\n/, slurp_file($client->{errors}))
	{
		push @errors, "$1: $2" if $line =~ /(?:ERROR|FATAL): +(\w{5}): (.*)/;
		push @errors, $line if $line =~ /connection to server was lost/;
	}
	return @errors;
}

# How many seconds each of a client's statements took.
sub seconds_of
{
	my ($client) = @_;
	return split /\n/, slurp_file($client->{seconds});
}


# Ids

# How many of these ids are there already.
sub count_duplicates
{
	my (@ids) = sort { $a <=> $b } @_;
	my $duplicates = 0;
	for my $i (1 .. $#ids)
	{
		$duplicates++ if $ids[$i] == $ids[ $i - 1 ];
	}
	return $duplicates;
}

# How many of these ids, in the order in which one client received them, are not larger than the one
# before.
sub count_disorder
{
	my (@ids) = @_;
	return scalar grep { $ids[$_] <= $ids[ $_ - 1 ] } 1 .. $#ids;
}

# What these ids are of, in the order of time, each run of equal ones given once: a server that switched
# from machine id 7 to 9 at one moment gives 7, 9. `of` tells what an id is of. A millisecond that has ids
# of two gives "both at once" between them.
sub runs_by_time
{
	my ($of, @ids) = @_;
	my @runs;
	my $last_ms = -1;
	foreach my $id (sort { $a <=> $b } @ids)
	{
		my $run = $of->($id);
		my $ms = $id >> 22;
		if (!@runs || $runs[-1] ne $run)
		{
			push @runs, 'both at once' if $ms == $last_ms;
			push @runs, $run;
		}
		$last_ms = $ms;
	}
	return @runs;
}

# Whether a machine id is in a block: "7" or "8-11".
sub block_has
{
	my ($block, $machine) = @_;
	my ($first, $last) = split /-/, $block;
	return $first <= $machine && $machine <= ($last // $first);
}

# The machine id of an id, for the given snowflake.machine_bits (10 by default).
sub machine_of
{
	my ($id, $bits) = @_;
	$bits //= 10;
	return $id >> (22 - $bits) & ((1 << $bits) - 1);
}


# The clock
#
# libfaketime reads how far the clock is off (in seconds) from a file at each reading. Only the
# server's processes see it: everything about the test itself runs by the real clock. The monotonic
# clock, by which processes sleep, is the real one.

sub clock_file { return scratch() . '/clock' }

# The environment of a server whose clock the test sets.
sub fake_clock
{
	my ($library) =
	  grep { -e } map { ("$_/libfaketime.so.1", "$_/libfaketime.so") }
	  glob('/usr/lib/*/faketime /usr/lib/faketime /usr/lib64/faketime /usr/local/lib/faketime');
	die "there is no libfaketime (script/bootstrap installs it)\n" unless defined $library;
	return (
		LD_PRELOAD => $library,
		FAKETIME_TIMESTAMP_FILE => clock_file(),
		FAKETIME_NO_CACHE => 1,
		FAKETIME_DONT_FAKE_MONOTONIC => 1,
		DONT_FAKE_MONOTONIC => 1);
}

# Sets the clock so many seconds ahead of the real one (behind it, if negative), at once.
sub set_clock
{
	my ($seconds) = @_;
	my $new = clock_file() . '.new';
	append_to_file($new, sprintf("%+.3f\n", $seconds));
	rename($new, clock_file()) or die "$new: $!";    # no reader sees half of it
	return;
}

# Runs code that starts a server, with its clock under the test's control.
sub with_fake_clock
{
	my ($code) = @_;
	local %ENV = (%ENV, fake_clock());
	set_clock(0) unless -e clock_file();
	return $code->();
}

# Starts a server that is stopped, its clock so many seconds off.
sub start_with_fake_clock
{
	my ($node, $seconds) = @_;
	set_clock($seconds);
	return with_fake_clock(sub { $node->start });
}

# Waits for a condition of the test's own.
sub wait_until
{
	my ($what, $condition) = @_;
	my $end = time + $PostgreSQL::Test::Utils::timeout_default;
	while (time < $end)
	{
		return 1 if $condition->();
		usleep(20_000);
	}
	die "timed out waiting until $what\n";
}

1;
