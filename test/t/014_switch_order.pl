# Switches to a smaller machine id and back, over and over, while clients draw as fast as ids come (64 in
# a millisecond), so that some of them always wait for a millisecond that has not begun. Ids stay in order though those of
# the smaller machine id sort first within a millisecond; and no call fails though the clock is behind
# the end of the old grant and nothing is tolerated.
use strict;
use warnings;
use Faults;
use Snowflake;
use Test::More;

my $node = start_server(
	'switch_order',
	'snowflake.machine_bits' => 16,
	'snowflake.machine_id' => 900,
	'snowflake.clock_tolerance' => 0,
	'fsync' => 'off',    # so that a switch is over before the next millisecond
	'log_statement' => 'none');
my @drawers = start_drawers(
	$node, 4,
	statement => 'COPY (SELECT snowflake_next() FROM (SELECT generate_series(1, 2000)) s) TO STDOUT;',
	per_session => 20);
drawers_go_on(@drawers);
my $switches = 60;
switch_to($node, $_ % 2 ? 3 : 900) for 1 .. $switches;
drawers_go_on(@drawers);
stop_drawers(@drawers);

is($node->safe_psql('postgres', 'SELECT count(*) FROM snowflake_grants'),
	$switches + 1, "there were $switches switches");
my ($repeats, $all) = count_repeats(\@drawers);
my ($disorder) = examine_runs(@drawers);
note("$all ids");
is($repeats, 0, 'no id comes twice');
is($disorder, 0, 'each client received its ids in ascending order');
is_deeply([ errors_of_drawers(@drawers) ], [], 'no call failed');

$node->stop;
done_testing();
