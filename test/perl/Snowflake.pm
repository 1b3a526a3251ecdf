# What the TAP tests share: servers that preload the library, and looking at ids.
package Snowflake;

use strict;
use warnings;
use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(start_server);

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

sub configure
{
    my ($node, %settings) = @_;
    $node->append_conf('postgresql.conf', "$_ = '$settings{$_}'") for sort keys %settings;
}

1;
