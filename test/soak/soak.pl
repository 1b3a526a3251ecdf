# Random faults on a server under load, for so many minutes. Started by test/soak/run, which gives it a
# PostgreSQL of its own; writes its progress to file descriptor 3 and the figures to the file named.
use strict;
use warnings;
use Faults;
use List::Util qw(first max min shuffle sum);
use PostgreSQL::Test::Utils;
use Snowflake;
use Test::More;
use Time::HiRes qw(time usleep);

my ($minutes, $results, $seed) = @ARGV;
$seed = $seed ? srand($seed) : srand;
open(my $progress, '>&=', 3) or die "file descriptor 3: $!";
$progress->autoflush;

# Ends by way of the END blocks, which stop the server and the clients.
$SIG{INT} = $SIG{TERM} = $SIG{HUP} = sub { exit 1 };

my $reserve_ms = 1000;
my @machine_ids = (1 .. 16);
my $began = time;

sub say_progress
{
	my ($text) = @_;
	printf $progress "%6.1f s  %s\n", time - $began, $text;
	return;
}

my $node = PostgreSQL::Test::Cluster->new('soak');
$node->init;
configure(
	$node,
	'shared_preload_libraries' => 'snowflake',
	'snowflake.machine_id' => $machine_ids[0],
	'snowflake.reserve_ahead' => $reserve_ms,
	'snowflake.grant_timeout' => '2s',
	'restart_after_crash' => 'on',
	'checkpoint_timeout' => '1h',
	'log_statement' => 'none',
	'log_min_error_statement' => 'panic');


# The clock, and the machine ids whose marks it has driven ahead

my $clock = 0;    # how many seconds the server's clock is ahead of the real one
my $machine = $machine_ids[0];

# Per machine id the highest time, by the server's clock, at which it can have been used.
my %used_till = map { $_ => 0 } @machine_ids;

sub server_time { return time + $clock }

sub note_use
{
	$used_till{$machine} = max($used_till{$machine}, server_time());
	return;
}

sub turn_clock
{
	my ($seconds) = @_;
	note_use();
	$clock = $seconds;
	set_clock($clock);
	return;
}

# A machine id that the clock has passed, other than the current one; undef if there is none.
sub free_machine
{
	return first { $_ != $machine && $used_till{$_} <= server_time() } shuffle @machine_ids;
}

sub reload_machine
{
	my ($new) = @_;
	note_use();
	configure($node, 'snowflake.machine_id' => $new);
	$node->reload;
	wait_until(
		'the machine id has changed',
		sub {
			(try_query($node, 'SELECT machine_id FROM pg_stat_snowflake') // '') eq "$new";
		});
	$machine = $new;
	return;
}


# Before PostgreSQL 16, a server that lost one of its processes starts the others again from within a
# signal handler. libfaketime then shows these the real clock for good, and not the server's: so unless
# the two are the same, the server is restarted.
my $sees_real_clock = 0;

sub show_clock
{
	return unless $sees_real_clock && $clock != 0;
	$sees_real_clock = 0;
	with_fake_clock(sub { $node->restart });
	return;
}

sub lose_process
{
	my ($kill) = @_;
	$sees_real_clock = 1;
	$kill->();
	show_clock();
	return;
}

sub start
{
	$sees_real_clock = 0;
	with_fake_clock(sub { $node->start });
	return;
}


# Clients: single ids, series, ids in rows that are committed, and in rows that are not

start_with_fake_clock($node, 0);
$node->safe_psql('postgres',
	'CREATE EXTENSION snowflake; CREATE TABLE events (id bigint PRIMARY KEY DEFAULT snowflake_next())');
my $insert =
  'COPY (INSERT INTO events SELECT snowflake_next() FROM generate_series(1, 5) RETURNING id) TO STDOUT;';
my @drawers = (
	start_drawers($node, 3),
	start_drawer($node, statement => 'COPY (SELECT snowflake_next(30)) TO STDOUT;'),
	start_drawer($node, statement => $insert),
	start_drawer($node, statement => "BEGIN; $insert ROLLBACK;"));

sub pause
{
	my ($seconds) = @_;
	usleep($seconds * 1_000_000);
	return;
}

# Waits until calls are refused, which shows that the fault is in force; not for ever, for it may be
# that none is.
sub let_it_be_felt
{
	my ($seconds) = @_;
	my $errors = sum map { -s $_->{errors} } @drawers;
	my $end = time + $seconds;
	pause(0.05) until (sum map { -s $_->{errors} } @drawers) > $errors || time > $end;
	pause(rand(0.5));
	return;
}


# Faults. The code of %ends ends the server, so that something can be done while it is down; all those of
# %faults leave it running, if only again.

my %ends = (
	'pg_ctl stop -m immediate' => sub { stop_immediately($node) },
	'SIGKILL of the postmaster' => sub { kill_postmaster($node) },
	'pg_ctl stop -m fast' => sub { $node->stop('fast') },
	'pg_ctl stop -m smart' => sub { $node->stop('smart') });

my @steps = (-600, -5, 5, 600);
my $directory = $node->data_dir . '/pg_snowflake';

# The clock goes wrong by so much, between two runs of the server or while it runs, and for a while; then
# it is set right or, sometimes, goes on from there. If it has been ahead, the machine id that was in use
# is out of use till then, so a fresh one takes over; if there is none the clock stays.
sub wrong_clock
{
	my ($step, $end) = @_;
	my $right = $clock;
	$end->() if defined $end;
	turn_clock($right + $step);
	defined $end ? start() : show_clock();
	let_it_be_felt(3);
	note_use();
	if ($step > 0)
	{
		my $stays = rand() < 0.3;
		my $before = $clock;
		if (!$stays)
		{
			$clock = $right;
			my $free = free_machine();
			$clock = $before;
			if (defined $free)
			{
				$end->() if defined $end;
				turn_clock($right);
				start() if defined $end;
				let_it_be_felt(1);
				reload_machine($free);
			}
		}
	}
	else
	{
		turn_clock($right) unless $step == -5 && rand() < 0.3;
	}
	return;
}

# The directory cannot be written for some seconds, and perhaps the server ends in the meantime.
sub broken_disk
{
	my ($end) = @_;
	chmod(0500, $directory) or die "$directory: $!";
	let_it_be_felt(2 * $reserve_ms / 1000);
	if (defined $end)
	{
		$end->();
		start();
		let_it_be_felt(1);
	}
	chmod(0700, $directory) or die "$directory: $!";
	return;
}

my %faults = (
	'SIGKILL of a backend' => sub { lose_process(sub { kill_backend($node) }) },
	'SIGKILL of the worker' => sub { lose_process(sub { kill_worker($node) }) },
	'SIGTERM of the worker' => sub {
		lose_process(sub { kill('TERM', pid_of_worker($node)) });
	},
	'reload of machine_id' => sub { reload_machine(free_machine() // $machine) },
	'directory not writable' => sub { broken_disk() });
foreach my $name (keys %ends)
{
	$faults{$name} = sub { $ends{$name}->(); start() };
}

sub any_end { return (values %ends)[ rand(keys %ends) ] }
$faults{'directory not writable, a stop or SIGKILL meanwhile'} = sub { broken_disk(any_end()) };

foreach my $step (@steps)
{
	my $text = sprintf('clock %+d s', $step);
	$faults{"$text, while running"} = sub { wrong_clock($step) };
	$faults{"$text, between two runs"} = sub { wrong_clock($step, any_end()) };
}

# Each fault equally often, by and large: in rounds, each in a random order.
my %count = map { $_ => 0 } keys %faults;
my @queue;
my $failure;
my $longest = 0;
eval {
	drawers_go_on(@drawers);
	my $last = '';
	while (time - $began < $minutes * 60)
	{
		@queue = shuffle keys %faults unless @queue;
		$last = shift @queue;
		say_progress($last);
		$faults{$last}->();
		$count{$last}++;

		# Sometimes the next one follows at once.
		next if rand() < 0.25;
		my $from = time;
		drawers_go_on(@drawers);
		$longest = max($longest, time - $from);
		pause(rand(0.5));
	}
	drawers_go_on(@drawers);
};
$failure = $@ if $@;
say_progress("failed: $failure") if defined $failure;
my $ran = time - $began;
stop_drawers(@drawers);


# Figures

say_progress('counting');

# The ids of one machine id ascend for each client, whatever happened in between.
my $disorder = 0;
my %machines;
my $sessions = 0;
foreach my $drawer (@drawers)
{
	open(my $file, '<', $drawer->{ids}) or die "$drawer->{ids}: $!";
	my %before;
	while (my $id = <$file>)
	{
		if ($id =~ /^#/)
		{
			$sessions++;
			next;
		}
		chomp $id;
		my $of = ($id >> 12) & 1023;
		$disorder++ if defined $before{$of} && $id <= $before{$of};
		$before{$of} = $id;
	}
	close($file);
	$machines{$_} = 1 for keys %before;
}

# What was committed is there, and was drawn by somebody or lost on its way: so only an id in the table
# that another client received would be a duplicate, which sorting finds among the ids received.
my ($repeats, $all) = count_repeats(\@drawers);
my $rows = defined $failure ? '' : $node->safe_psql('postgres', 'SELECT count(*) FROM events');
my ($version) = `postgres --version` =~ /(\d+\.\d+)/;
my %errors;
$errors{ s/\d+ ms/… ms/r }++ for errors_of_drawers(@drawers);
$node->stop('immediate') if !defined $failure;

sub with_commas
{
	my ($number) = @_;
	1 while $number =~ s/^(\d+)(\d{3})/$1,$2/;
	return $number;
}

my @figures = (
	[ 'minutes', sprintf('%.1f', $ran / 60) ],
	[ 'faults', sum(values %count) ],
	[ 'ids received', with_commas($all) ],
	[ '**duplicates among them**', "**$repeats**" ],
	[ 'ids of a machine id not above the one before, per client', $disorder ],
	[ 'clients', scalar @drawers ],
	[ 'their sessions', with_commas($sessions) ],
	[ 'machine ids used', scalar keys %machines ],
	[ 'rows committed', with_commas($rows) ],
	[ 'longest wait for ids to flow again, all clients', sprintf('%.1f s', $longest) ]);
my $text = "# Soak\n\n`test/soak/run $minutes $seed`, PostgreSQL $version, reserve_ahead $reserve_ms ms.\n\n";
$text .= "| | |\n|---|---:|\n" . join('', map { "| $_->[0] | $_->[1] |\n" } @figures);
$text .= "\nFailed: $failure\n" if defined $failure;
$text .= "\n| fault | times |\n|---|---:|\n";
$text .= join('', map { "| $_ | $count{$_} |\n" } sort keys %count);
$text .= "\n| error that clients got | times |\n|---|---:|\n";
$text .= join('', map { "| $_ | " . with_commas($errors{$_}) . " |\n" } sort keys %errors);
append_to_file($results, $text);
ok($repeats == 0 && $disorder == 0 && !defined $failure, 'no id came twice');
done_testing();
