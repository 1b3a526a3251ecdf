use strict;
use warnings;
use Snowflake;
use Test::More;

my $node = start_server('concurrency', 'snowflake.machine_id' => 42);
is($node->safe_psql('postgres', 'SELECT snowflake_machine(snowflake_next())'), '42', 'machine id');
done_testing();
