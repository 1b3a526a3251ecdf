# What recovery replays is known however recovery comes about, and however soon the server ends after it:
# a base backup that is started without a signal file, transactions that are only prepared, and a promoted
# server that crashes at once.
use strict;
use warnings;
use File::Copy;
use List::Util qw(max min);
use PostgreSQL::Test::Utils;
use Replicas;
use Snowflake;
use Test::More;

my $hour = 3600;
my $insert = 'INSERT INTO item SELECT snowflake_next(1000) RETURNING id';
my $primary = new_primary('primary', { 'max_prepared_transactions' => 5 });
start_at($primary, 0);
$primary->safe_psql('postgres',
	'CREATE EXTENSION snowflake; CREATE TABLE item (id bigint, payload text)');
$primary->safe_psql('postgres', $insert);
$primary->backup('base');

# A backup that took an hour, in which the original went on, started where the clock is an hour behind:
# its own state, as the backup has it, is as old as the beginning of the backup.
{
	my $what = 'a long backup';
	my $session = $primary->background_psql('postgres');
	$session->query_safe(q{SELECT pg_backup_start('long', true)});
	PostgreSQL::Test::RecursiveCopy::copypath(
		$primary->data_dir,
		$primary->backup_dir . '/long',
		filterfn => sub { $_[0] !~ /^(?:postmaster\.\w+|log|pg_wal\/.+)$/ });
	move_clock($primary, $hour);
	my @ids = map { $_ + 0 } split /\n/, $primary->safe_psql('postgres', $insert);
	my $label = $session->query_safe('SELECT labelfile FROM pg_backup_stop(false)');
	$session->quit;
	append_to_file($primary->backup_dir . '/long/backup_label', "$label\n");
	my $node = new_copy($primary, 'long', 'long');
	foreach my $segment (glob($primary->data_dir . '/pg_wal/' . ('[0-9A-F]' x 24)))
	{
		copy($segment, $node->data_dir . '/pg_wal') or die "$segment: $!";
	}
	start_at($node, 0);
	is($node->safe_psql('postgres', 'SELECT count(*) FROM item WHERE id = ' . max(@ids)),
		'1', "$what: it has the newest row");
	my $missing = is_behind($node, "$what: a call is refused while the clock is behind");
	cmp_ok($missing, '>', ($hour - 60) * 1000, "$what: by the original's lead");
	move_clock($node, $hour + 10);
	my @new = await_ids($node, 1000);
	is_new([ rows_of($node) ], \@new, $what);
	cmp_ok(min(@new), '>', max(@ids), "$what: ids are above all in its data");
	$node->stop;
}

# The newest rows are of a transaction that is prepared, and no transaction has ended since.
{
	my $what = 'a prepared transaction';
	my $node = new_copy($primary, 'base', 'prepared', has_streaming => 1);
	start_at($node, 0);
	move_clock($primary, 3 * $hour);
	my @ids = map { $_ + 0 } split /\n/,
	  $primary->safe_psql('postgres', "BEGIN; $insert; PREPARE TRANSACTION 'newest'");
	$primary->wait_for_catchup($node, 'replay', $primary->lsn('flush'));
	kill_server($primary);
	$node->promote;
	$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'not promoted';
	my $missing = is_behind($node, "$what: a call is refused while the clock is behind");
	cmp_ok($missing, '>', (3 * $hour - 60) * 1000, "$what: by the old primary's lead");
	$node->safe_psql('postgres', q(COMMIT PREPARED 'newest'));
	is($node->safe_psql('postgres', 'SELECT count(*) FROM item WHERE id = ' . max(@ids)),
		'1', "$what: it has the newest row");
	move_clock($node, 3 * $hour + 10);
	my @new = await_ids($node, 1000);
	is_new([ rows_of($node) ], \@new, $what);
	cmp_ok(min(@new), '>', max(@ids), "$what: ids are above all in its data");
	$node->stop;
	start_at($primary, 3 * $hour);
	$primary->safe_psql('postgres', q(ROLLBACK PREPARED 'newest'));
}

# The promoted server crashes before its worker has come to write anything down. It is not a standby
# any more when it starts again, and the rows are there.
{
	my $what = 'crash before the first grant';
	my $node = new_copy($primary, 'base', 'crashed', has_streaming => 1);
	configure($node, 'hot_standby' => 'off', 'max_worker_processes' => 0);
	start_at($node, 0);
	is(scalar(worker_pids($node)), 0, "$what: there is no worker");
	move_clock($primary, 5 * $hour);
	my @old = map { $_ + 0 } split /\n/, $primary->safe_psql('postgres', $insert);
	$primary->wait_for_catchup($node, 'replay', $primary->lsn('flush'));
	kill_server($primary);
	$node->promote;
	$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'not promoted';
	is($node->safe_psql('postgres', 'SELECT count(*) FROM item WHERE id = ' . max(@old)),
		'1', "$what: the newest row is there");
	$node->safe_psql('postgres', 'CHECKPOINT');    # what it has replayed is not replayed again
	kill_server($node);
	configure($node, 'max_worker_processes' => 8);
	start_at($node, 0);
	my $missing = is_behind($node, "$what: a call is refused while the clock is behind");
	cmp_ok($missing, '>', (5 * $hour - 60) * 1000, "$what: by the old primary's lead");
	move_clock($node, 5 * $hour + 10);
	my @new = await_ids($node, 1000);
	is_new([ rows_of($node) ], \@new, $what);
	cmp_ok(min(@new), '>', max(@old), "$what: ids are above the old ones");
	$node->stop;
}

done_testing();
