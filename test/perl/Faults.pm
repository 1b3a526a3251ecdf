# What the tests of durability share, beyond Snowflake.pm: clients that reconnect and so outlive the
# server, ways to take a server down, its state file, and counting over more ids than fit in memory.
package Faults;

use strict;
use warnings;
use Exporter 'import';
use File::Temp;
use IPC::Open2;
use List::Util qw(all max);
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Snowflake;
use Test::More;
use Time::HiRes qw(time usleep);

our @EXPORT = qw(
  start_drawer start_drawers stop_drawers drawers_go_on
  ids_of_drawer errors_of_drawers
  count_repeats examine_runs count_overlaps
  start_session ask
  run_of try_query stop_immediately kill_backend kill_worker kill_postmaster
  pid_of_worker
  next_id first_call ms_of_id ms_now
  state_file state_bytes put_state fails_to_start
  ceiling_ms check_broken_disk
);

my $scratch = File::Temp->newdir(PATTERN => 'snowflake_XXXXXX', TMPDIR => 1);

# The default snowflake.epoch, 2025-01-01, in milliseconds since 1970.
my $epoch = 1_735_689_600_000;


# Clients that outlive the server
#
# A drawer is a process that draws ids all the time. It has one session after the other, and tries
# again when it cannot connect or its session ends, by an error or with the server. Every id that it
# receives goes into its file, in order; each session begins with a line that says in which run of the
# server it takes place (see run_of).

my $drawer_count = 0;
my @running;

# Where the checkpoint was from which this run of the server began, in bytes of WAL: a server that was
# started, or has recovered from a crash of one of its processes, has a higher one than before. (Only
# as long as there are no other checkpoints: see checkpoint_timeout.)
my $run_query = q{SELECT checkpoint_lsn - '0/0' FROM pg_control_checkpoint()};

# Options: `statement`, what to run all the time; `per_session`, how often in one session.
sub start_drawer
{
	my ($node, %options) = @_;
	my $base = "$scratch/drawer" . ++$drawer_count;
	my %drawer = (ids => "$base.ids", errors => "$base.err", stop => "$base.stop");
	my $statement = $options{statement}
	  // 'COPY (SELECT snowflake_next() FROM (SELECT generate_series(1, 10)) s) TO STDOUT;';
	append_to_file("$base.sql",
		    $run_query =~ s/SELECT (.*) FROM/SELECT '# ' || ($1) FROM/r . ";\n"
		  . "$statement\n" x ($options{per_session} // 300));
	append_to_file($drawer{$_}, '') for qw(ids errors);
	my @psql = (
		$node->installed_command('psql'),
		'-XAtq', '-v', 'VERBOSITY=verbose', '-v', 'ON_ERROR_STOP=1', '-f', "$base.sql", '-d',
		$node->connstr('postgres') . ' application_name=drawer');
	STDOUT->flush;
	STDERR->flush;
	my $pid = fork // die "cannot fork: $!";
	if ($pid == 0)
	{
		# _exit: the test's own END blocks would stop its servers.
		open(STDOUT, '>>', $drawer{ids}) or POSIX::_exit(1);
		open(STDERR, '>>', $drawer{errors}) or POSIX::_exit(1);
		my $parent = getppid;
		until (-e $drawer{stop} || getppid != $parent)
		{
			usleep(20_000) if system(@psql) != 0;
		}
		POSIX::_exit(0);
	}
	$drawer{pid} = $pid;
	push @running, \%drawer;
	return \%drawer;
}

# The given number of drawers, all with these options.
sub start_drawers
{
	my ($node, $count, %options) = @_;
	return map { start_drawer($node, %options) } 1 .. $count;
}

# Drawers end after the session that they are in.
sub stop_drawers
{
	my (@drawers) = @_;
	append_to_file($_->{stop}, "stop\n") for @drawers;
	foreach my $drawer (@drawers)
	{
		waitpid($drawer->{pid}, 0) if defined $drawer->{pid};
		delete $drawer->{pid};
	}
	return;
}

# A test that dies leaves no drawer behind.
END
{
	my $status = $?;
	foreach my $drawer (@running)
	{
		append_to_file($drawer->{stop}, "stop\n") if defined $drawer->{pid} && -d $scratch;
	}
	$? = $status;
}

# Waits until every drawer has received an id from now on.
sub drawers_go_on
{
	my (@drawers) = @_;
	my @from = map { -s $_->{ids} } @drawers;
	wait_until(
		'all clients draw ids',
		sub {
			all { slurp_file($drawers[$_]{ids}, $from[$_]) =~ /^\d+\n/m } 0 .. $#drawers;
		});
	return;
}

# The ids that a drawer received, in order.
sub ids_of_drawer
{
	my ($drawer) = @_;
	return map { $_ + 0 } grep { !/^#/ } split /\n/, slurp_file($drawer->{ids});
}

# The errors of SQL that drawers received, as "SQLSTATE: message": those of a server that ends, starts
# or cannot be reached are left out.
sub errors_of_drawers
{
	my (@drawers) = @_;
	my @errors;
	foreach my $drawer (@drawers)
	{
		foreach my $line (split /\n/, slurp_file($drawer->{errors}))
		{
			push @errors, "$1: $2"
			  if $line =~ /(?:ERROR|FATAL): +(\w{5}): (.*)/ && $1 !~ /^57P0/;
		}
	}
	return @errors;
}


# Counting

# How many ids there are more than once, among those that the drawers received and the given others.
# Returns the number of all ids as well.
sub count_repeats
{
	my ($drawers, @others) = @_;
	my $others = File::Temp->new(DIR => $scratch);
	append_to_file($others->filename, join('', map { "$_\n" } @others));
	my @files = ($others->filename, map { $_->{ids} } @$drawers);
	local $ENV{LC_ALL} = 'C';
	my $lines = "cat @files | grep -v '^#'";
	my ($repeats) = `$lines | sort -S 25% -T $scratch | uniq -d | wc -l` =~ /(\d+)/;
	die "cannot count: $?\n" if $? != 0;
	my ($all) = `$lines | wc -l` =~ /(\d+)/;
	return ($repeats, $all);
}

# Goes through all that the drawers received. Returns how many ids are not larger than the one that the
# same drawer received before, and for each run of the server in which they drew its lowest and highest
# id.
sub examine_runs
{
	my (@drawers) = @_;
	my %runs;
	my $disorder = 0;
	foreach my $drawer (@drawers)
	{
		open(my $file, '<', $drawer->{ids}) or die "$drawer->{ids}: $!";
		my $before = 0;
		my $run;
		while (my $line = <$file>)
		{
			if ($line =~ /^# (\d+)$/)
			{
				$run = $runs{$1} //= { low => ~0, high => 0 };
				next;
			}
			my $id = $line + 0;
			$disorder++ if $id <= $before;
			$before = $id;
			$run->{low} = $id if $id < $run->{low};
			$run->{high} = $id if $id > $run->{high};
		}
		close($file);
	}
	return ($disorder, map { $runs{$_} } sort { $a <=> $b } keys %runs);
}

# How many runs of the server have an id that is not larger than all ids of earlier runs.
sub count_overlaps
{
	my (@runs) = @_;
	my $overlaps = 0;
	my $high = 0;
	foreach my $run (@runs)
	{
		$overlaps++ if $run->{low} <= $high;
		$high = max($high, $run->{high});
	}
	return $overlaps;
}


# Sessions of the test itself

# A session that stays open, for what must not wait for a connection.
sub start_session
{
	my ($node) = @_;
	my %session;
	$session{pid} = open2(
		$session{from}, $session{to},
		$node->installed_command('psql'), '-XAtq', '-v', 'VERBOSITY=verbose', '-d',
		$node->connstr('postgres') . ' application_name=session');
	return \%session;
}

# Runs a statement (without its semicolon) in it, and returns the answer.
sub ask
{
	my ($session, $sql) = @_;
	my $to = $session->{to};
	print $to "$sql;\n\\echo done\n";
	$to->flush;
	my @lines;
	while (1)
	{
		my $line = readline($session->{from}) // die "the session was lost\n";
		chomp $line;
		last if $line eq 'done';
		push @lines, $line;
	}
	return join("\n", @lines);
}


# Ids and time

# The moment of an id, and now, in milliseconds since 1970.
sub ms_of_id
{
	my ($id) = @_;
	return ($id >> 22) + $epoch;
}

sub ms_now { return int(time * 1000) }

sub next_id
{
	my ($node) = @_;
	return $node->safe_psql('postgres', 'SELECT snowflake_next()');
}

# Draws an id in a new session. Returns it, and how many milliseconds the call took by the server's
# own clock.
sub first_call
{
	my ($node) = @_;
	my $answer = $node->safe_psql(
		'postgres', q{
		SELECT extract(epoch FROM clock_timestamp()), snowflake_next(),
			extract(epoch FROM clock_timestamp())});
	my ($begin, $id, $end) = split /\|/, $answer;
	return ($id, int(($end - $begin) * 1000));
}


# Faults

# Which run of the server this is (see $run_query); undef if one cannot connect.
sub run_of
{
	my ($node) = @_;
	return try_query($node, $run_query);
}

# The answer of a server that may be going down or coming up; undef if there is none.
sub try_query
{
	my ($node, $sql) = @_;
	my ($stdout) = run_command(
		[ $node->installed_command('psql'), '-XAtq', '-d', $node->connstr('postgres'), '-c', $sql ]);
	return $stdout eq '' ? undef : $stdout;
}

# The faults: each takes the server down, and returns when it is down or, if it starts again by itself,
# when it has.

sub stop_immediately
{
	my ($node) = @_;
	$node->stop('immediate');
	return;
}

# Kills the process that the code finds, waits until the server has started again, and returns when the
# kill was. A process that was about to end by itself is no loss to the server: then it is another one's
# turn.
sub kill_one
{
	my ($node, $find) = @_;
	my $run = run_of($node);
	my $at;
	wait_until(
		'the server has lost a process and recovered',
		sub {
			my $pid = $find->();
			return 0 unless defined $pid && kill('KILL', $pid) == 1;
			$at = ms_now();
			my $end = time + 5;
			while (time < $end)
			{
				return 1 if (run_of($node) // $run) ne $run;
				usleep(20_000);
			}
			return 0;
		});
	return $at;
}

sub kill_backend
{
	my ($node) = @_;
	return kill_one(
		$node,
		sub {
			return try_query($node,
				"SELECT pid FROM pg_stat_activity WHERE application_name = 'drawer' LIMIT 1");
		});
}

sub kill_worker
{
	my ($node) = @_;
	return kill_one($node, sub { return pid_of_worker($node) });
}

# The worker. Waits until it runs.
sub pid_of_worker
{
	my ($node) = @_;
	my $pid;
	wait_until('the worker runs', sub { ($pid) = worker_pids($node); return defined $pid });
	return $pid;
}

sub kill_postmaster
{
	my ($node) = @_;
	my $postmaster = pid_of_postmaster($node);

	# Stopped first, so that it has no new children.
	kill('STOP', $postmaster);
	my @children = children_of($postmaster);
	$node->kill9;
	wait_until('the postmaster and its children are gone',
		sub { all { !kill(0, $_) } $postmaster, @children });
	return;
}


# The state file

sub state_file
{
	my ($node) = @_;
	return $node->data_dir . '/pg_snowflake/state';
}

sub state_bytes
{
	my ($node) = @_;
	my $path = state_file($node);
	open(my $file, '<:raw', $path) or die "$path: $!";
	local $/;
	my $bytes = <$file>;
	close($file);
	return $bytes;
}

sub put_state
{
	my ($node, $bytes) = @_;
	my $path = state_file($node);
	open(my $file, '>:raw', $path) or die "$path: $!";
	print $file $bytes;
	close($file) or die "$path: $!";
	return;
}

# The moment up to which ids may be generated, in milliseconds since 1970.
sub ceiling_ms
{
	my ($node) = @_;
	return $node->safe_psql('postgres',
		'SELECT (extract(epoch FROM ceiling) * 1000)::bigint FROM pg_stat_snowflake');
}

# The file cannot be written, with the given error, and then can again, by the code to break and to
# mend it, while drawers draw.
sub check_broken_disk
{
	my ($node, $drawers, $cannot, $break, $mend) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $stat_of =
	  sub { return $node->safe_psql('postgres', "SELECT $_[0] FROM pg_stat_snowflake") };
	my $timeout_ms = $node->safe_psql('postgres',
		"SELECT setting FROM pg_settings WHERE name = 'snowflake.grant_timeout'");

	drawers_go_on(@$drawers);
	my $from = log_position($node);
	$break->();
	drawers_go_on(@$drawers);    # on to the ceiling
	wait_until('calls fail', sub { (() = errors_of_drawers(@$drawers)) >= 2 * @$drawers });
	my $ceiling_ms = ceiling_ms($node);
	cmp_ok(ms_now(), '>=', $ceiling_ms, 'no call failed before the clock was at the ceiling');
	my $begin_ms = ms_now();
	my $error = is_refused(
		$node,
		'SELECT snowflake_next()',
		'55000',
		qr/^cannot generate a snowflake id: the right to do so could not be recorded in time$/,
		'beyond the ceiling calls fail');
	my $took_ms = ms_now() - $begin_ms;
	like($error->{detail}, qr/\Q$cannot\E/, 'the detail has the error of the disk');
	like($error->{hint}, qr/"pg_snowflake\/state".*can be written/, 'the hint names the file');
	cmp_ok($took_ms, '>=', $timeout_ms, 'a call waits for snowflake.grant_timeout');
	cmp_ok($took_ms, '<', $timeout_ms + 2000, 'and not for longer');
	is($stat_of->('status'), 'not recorded', 'pg_stat_snowflake shows the status');
	is($stat_of->('last_error'), $cannot, 'and the error');
	cmp_ok($stat_of->('store_errors'), '>', 1, 'and counts the attempts');
	is(scalar log_lines($node, qr/LOG:.*could not/, $from), 1, 'the log has one line of it');

	my $highest = max map { ids_of_drawer($_) } @$drawers;
	cmp_ok(ms_of_id($highest), '<', $ceiling_ms, 'no id is beyond the ceiling');
	cmp_ok(ms_of_id($highest), '>', $ceiling_ms - 1000, 'ids went on to the ceiling');
	is_deeply([ grep { !/^55000: .*could not be recorded in time/ } errors_of_drawers(@$drawers) ],
		[], 'clients get no other error');

	$mend->();
	drawers_go_on(@$drawers);
	is($stat_of->('status'), 'issuing', 'it goes on by itself when the file can be written');
	is($stat_of->('last_error IS NULL'), 't', 'the error is over');
	is(scalar log_lines($node, qr/LOG:.*"pg_snowflake\/state" can be written again/, $from),
		1, 'the log says so');
	return;
}

# A stopped server refuses to start, with this message, and a detail and a hint that match.
sub fails_to_start
{
	my ($node, $what, $message, $detail, $hint) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $from = log_position($node);
	my $started = $node->start(fail_ok => 1);
	$node->stop('immediate') if $started;
	my $log = slurp_file($node->logfile, $from);
	my ($said) = $log =~ /FATAL: +(.*)/;
	my ($said_detail) = $log =~ /FATAL: .*\n.*DETAIL: +(.*)/;
	my ($said_hint) = $log =~ /HINT: +(.*)/;
	subtest $what => sub {
		ok(!$started, 'the server does not start');
		like($said // '', $message, 'message');
		like($said_detail // '', $detail, 'detail');
		like($said_hint // '', $hint, 'hint');
	};
	return;
}

1;
