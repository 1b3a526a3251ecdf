# The library is taken out of shared_preload_libraries, after a clean stop and after a crash, on a primary
# and on a standby: the server starts and works, and with the library back ids go on above the old ones.
use strict;
use warnings;
use List::Util qw(max min);
use Replicas;
use Snowflake;
use Test::More;

my $hour = 3600;
my $week = 7 * 86400;
my $insert = 'INSERT INTO item SELECT snowflake_next(1000) RETURNING id';
my $not_loaded = qr/^snowflake must be loaded via shared_preload_libraries$/;

my $primary = new_primary('primary');
start_at($primary, 0);
$primary->safe_psql(
	'postgres', q{
	CREATE EXTENSION snowflake;
	CREATE TABLE item (id bigint, payload text);
	CREATE TABLE note (id bigint PRIMARY KEY DEFAULT snowflake_next(), payload text);
	INSERT INTO note (payload) VALUES ('with an id');
});
$primary->backup('base');
my $standby = new_copy($primary, 'base', 'standby', has_streaming => 1);
start_at($standby, 0);
my @inserted;
my @all;    # the inserted ones, and others that clients received

sub insert_rows
{
	my @ids = map { $_ + 0 } split /\n/, $primary->safe_psql('postgres', $insert);
	push @inserted, @ids;
	push @all, @ids;
	return;
}

sub load_library
{
	my ($node, $load) = @_;
	configure($node, 'shared_preload_libraries' => $load ? 'snowflake' : '');
	return;
}

sub catch_up
{
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('flush'));
	return;
}

# A server without the library does all but generate ids.
sub works_without
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(count_repeats([ rows_of($primary) ], \@inserted), scalar(@inserted), "$what: all rows are there");
	is_refused($primary, 'SELECT snowflake_next()', '55000', $not_loaded,
		"$what: an id is refused");
	is_refused($primary, q{INSERT INTO note (payload) VALUES ('a')},
		'55000', $not_loaded, "$what: a default is refused");
	$primary->safe_psql('postgres',
		"INSERT INTO item VALUES (-1, '$what'); INSERT INTO note SELECT max(id) + 1 FROM note");
	catch_up();
	is($standby->safe_psql('postgres', "SELECT count(*) FROM item WHERE payload = '$what'"),
		'1', "$what: rows are written, and reach the standby");
	$primary->safe_psql('postgres', 'DELETE FROM item WHERE id < 0');
	return;
}

# With the library back, the clock so many seconds ahead of the real one.
sub back_again
{
	my ($seconds, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	load_library($primary, 1);
	start_at($primary, $seconds);
	my @old = @all;
	push @all, await_ids($primary, 1000);
	my @new = @all[ @old .. $#all ];
	is_new(\@old, \@new, $what);
	cmp_ok(min(@new), '>', max(@old), "$what: ids are above the old ones");
	insert_rows();
	return;
}

# After a clean stop; and it crashes without the library.
insert_rows();
$primary->stop;
load_library($primary, 0);
start_at($primary, 0);
works_without('out after a clean stop');
kill_server($primary);
start_at($primary, 0);
works_without('a crash without the library');
$primary->stop;
back_again(0, 'back after a clean stop');

# After a crash under load.
my @clients = start_writing($primary, 3);
$primary->poll_query_until('postgres', 'SELECT count(*) > 2500 FROM item') or die 'no rows';
kill_server($primary);
wait_for_clients(@clients);
my @received = map { ids_of($_) } @clients;
load_library($primary, 0);
start_at($primary, 0);
push @all, @received;
works_without('out after a crash');
kill_server($primary);
back_again(0, 'back after a crash');

# A week without it.
$primary->stop;
load_library($primary, 0);
start_at($primary, 0);
$primary->stop;
back_again($week, 'back after a week');
$primary->stop('immediate');
load_library($primary, 0);
start_at($primary, $week);
kill_server($primary);
back_again(2 * $week, 'back after another week, and a crash');

# And with the clock of the first day again: the mark is a week above it.
$primary->stop;
load_library($primary, 1);
start_at($primary, 0);
is_behind($primary, 'the clock went back while the library was out: a call is refused', 'has gone back');
$primary->stop;
start_at($primary, 2 * $week);

# A standby: rows are replayed with the library, without it after a crash, and with it again.
insert_rows();
catch_up();
$standby->stop('immediate');
load_library($standby, 0);
start_at($standby, 0);
move_clock($primary, 2 * $week + $hour);
insert_rows();
catch_up();
is(count_repeats([ rows_of($primary) ], [ rows_of($standby) ]),
	$standby->safe_psql('postgres', 'SELECT count(*) FROM item'),
	'a standby without the library has the rows');
$primary->safe_psql('postgres', 'CHECKPOINT');
catch_up();
$standby->stop;
load_library($standby, 1);
start_at($standby, 0);
kill_server($primary);
$standby->promote;
my $missing = is_behind($standby, 'a standby, promoted with the library back: a call is refused');
cmp_ok(
	$missing, '>',
	(2 * $week + $hour - 120) * 1000,
	'a standby, promoted: what it replayed without the library counts');
move_clock($standby, 2 * $week + $hour + 10);
my @new = await_ids($standby, 1000);
is_new([ @all, rows_of($standby) ], \@new, 'a standby, promoted');
cmp_ok(min(@new), '>', max(@all), 'a standby, promoted: ids are above the old ones');
$standby->stop;

done_testing();
