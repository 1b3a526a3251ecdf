# A reload of snowflake.machine_id switches the whole server at one moment, also while sessions draw ids:
# no call fails, no id comes twice, and no millisecond has ids of two machine ids.
use strict;
use warnings;
use Snowflake;
use Test::More;

my $node = start_server(
	'reload',
	'snowflake.machine_id' => 7,
	'log_statement' => 'none');
my $changes = qr/machine id is now|no machine id any more/;
my @clients;

# Sets something that the server must not take, and waits until it has said so.
sub set_wrong
{
	my ($machine_id) = @_;
	my $log = log_position($node);
	$node->append_conf('postgresql.conf', "snowflake.machine_id = '$machine_id'");
	$node->reload;
	$node->wait_for_log(qr/invalid value for parameter "snowflake.machine_id": "$machine_id"/, $log);
	return $log;
}

# Sessions that draw ids: one call a statement (each statement may find a reloaded configuration), many
# calls in one statement (which goes on with the one that it has), and series.
sub start_drawing
{
	my @kinds = (
		'SELECT snowflake_next();',
		'COPY (SELECT snowflake_next() FROM (SELECT generate_series(1, 500)) s) TO STDOUT;',
		'COPY (SELECT snowflake_next(200)) TO STDOUT;',
		'BEGIN; SELECT snowflake_next(); COPY (SELECT snowflake_next(10)) TO STDOUT; ROLLBACK;');
	@clients = map { start_client($node, [$_], pause => 0.004) } @kinds;
	return;
}

# Waits until each session has received ids under the machine id that the server has now.
sub wait_for_ids
{
	my @sizes = map { -s $_->{ids} } @clients;
	wait_until('each session has received ids',
		sub { !grep { -s $clients[$_]{ids} <= $sizes[$_] + 100 } 0 .. $#clients });
	return;
}

# Stops the sessions and checks what they received. If `blocks` are given, these are what the server
# switched to, in order, and none of them overlap but those that are equal.
sub stop_drawing
{
	my ($what, @blocks) = @_;
	stop_clients(@clients);
	my @ids = map { [ ids_of($_) ] } @clients;
	my @all = map { @$_ } @ids;
	my $disorder = 0;
	$disorder += count_disorder(@$_) for @ids;
	is_deeply([ map { errors_of($_) } @clients ], [], "$what: no call fails");
	is(count_duplicates(@all), 0, "$what: no id comes twice (of " . @all . ')');
	is($disorder, 0, "$what: each session receives ascending ids");
	return unless @blocks;

	my %block_of;
	foreach my $machine (0 .. 1023)
	{
		($block_of{$machine}) = ((grep { block_has($_, $machine) } @blocks), 'no block');
	}
	is_deeply([ runs_by_time(sub { $block_of{ machine_of($_[0]) } }, @all) ],
		\@blocks, "$what: the switch is at one moment");
	return;
}

# Once.
my $log = log_position($node);
start_drawing();
wait_for_ids();
switch_to($node, '9');
wait_for_ids();
stop_drawing('once', 7, 9);
my @lines = log_lines($node, $changes, $log);
is(scalar(@lines), 1, 'once: one line in the log');
like($lines[0], qr/LOG: +snowflake: machine id is now 9, was 7$/, 'once: what it says');

# A reload that changes nothing.
$log = log_position($node);
$node->reload;
$node->wait_for_log(qr/received SIGHUP/, $log);
is($node->safe_psql('postgres', 'SELECT snowflake_machine(snowflake_next())'),
	'9', 'a reload that changes nothing keeps the machine id');
switch_to($node, '7');
is(scalar(log_lines($node, $changes, $log)), 1, 'a reload that changes nothing is not logged');

# To and fro.
$log = log_position($node);
my @machines = (7);
start_drawing();
for (1 .. 20)
{
	foreach my $machine (9, 7)
	{
		switch_to($node, $machine);
		# Enough for one session to receive ids, however many tickets the others hold and may lose.
		my $issued = $node->safe_psql('postgres', 'SELECT ids_issued FROM pg_stat_snowflake');
		wait_in_server($node, "ids_issued > $issued + 2000");
		push @machines, $machine;
	}
}
wait_for_ids();
stop_drawing('to and fro', @machines);
is(scalar(log_lines($node, $changes, $log)), 40, 'to and fro: one line in the log for each switch');

# To blocks and back; and to such that overlap.
foreach my $case (
	[ 'blocks', '7', '8-11', '12', '512-1023', '7' ],
	[ 'overlapping blocks', '7', '4-7', '6', '0-1023', '7', '6-7', '6' ])
{
	my ($what, @blocks) = @$case;
	switch_to($node, $blocks[0]);
	start_drawing();
	foreach my $block (@blocks)
	{
		switch_to($node, $block);
		wait_for_ids();
	}
	stop_drawing($what, $what eq 'blocks' ? @blocks : ());
}

# Emptied, and set again.
switch_to($node, '');
my $error = is_refused($node, 'SELECT snowflake_next()', '55000',
	qr/^cannot generate a snowflake id: this server has no machine id$/,
	'emptied: a call is refused');
like($error->{hint}, qr/^Set snowflake\.machine_id .* reload/, 'emptied: the hint says what to do');
is($node->safe_psql('postgres', 'SELECT status, machine_id IS NULL, last_id IS NULL FROM pg_stat_snowflake'),
	'no machine id|t|t', 'emptied: the view has the state');
is($node->safe_psql('postgres', "SELECT snowflake_machine(snowflake_make('2030-01-01', 5, 6))"),
	'5', 'emptied: ids are made and read');
ok( scalar(log_lines($node, qr/LOG: +snowflake: no machine id any more, was 6$/)),
	'emptied: the log says so');
switch_to($node, '5');
is($node->safe_psql('postgres', 'SELECT snowflake_machine(snowflake_next())'),
	'5', 'emptied: ids flow when it is set again');

# Values that are wrong.
$node->safe_psql('postgres', 'ALTER SYSTEM RESET snowflake.machine_id');
configure($node, 'snowflake.machine_id' => '5');
foreach my $case (
	[ '1024', qr/DETAIL: +Machine id 1024 is outside the permitted range 0 \.\. 1023/ ],
	[ '9-12', qr/DETAIL: +The block "9-12" .*does not start at a multiple of 4/ ],
	[ '8-10', qr/DETAIL: +The block "8-10" .*not a power of two/ ],
	[ 'seven', qr/DETAIL: +"seven" is neither a machine id nor a block/ ])
{
	my ($wrong, $detail) = @$case;
	my $log = set_wrong($wrong);
	ok($node->wait_for_log($detail, $log), "a wrong value is logged, with a detail: $wrong");
	is($node->safe_psql('postgres', 'SELECT snowflake_machine(snowflake_next())'),
		'5', "a wrong value keeps the old machine id: $wrong");
}
configure($node, 'snowflake.machine_id' => '6');
$node->reload;
ok( $node->poll_query_until('postgres', "SELECT machine_id = '6' FROM pg_stat_snowflake"),
	'a right value is taken after wrong ones');

# What can be set at the start only is not taken by a reload.
$log = log_position($node);
configure($node, 'snowflake.machine_bits' => '12', 'snowflake.epoch' => 'unix');
$node->reload;
$node->wait_for_log(qr/parameter "snowflake.machine_bits" cannot be changed without restarting/, $log);
$node->wait_for_log(qr/parameter "snowflake.epoch" cannot be changed without restarting/, $log);
is( $node->safe_psql('postgres', 'SELECT snowflake_machine(id), abs(extract(epoch FROM now() - snowflake_timestamp(id))) < 10 FROM snowflake_next(1) id'),
	'6|t', 'a reload changes neither the layout nor the epoch');

$node->stop;
done_testing();
