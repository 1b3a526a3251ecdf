-- snowflake_within on a foreign table: where the foreign server's definition says that the extension is
-- there as well, it does the comparisons, with its index.
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';
CREATE EXTENSION postgres_fdw;
DO $$
BEGIN
    EXECUTE format('CREATE SERVER here FOREIGN DATA WRAPPER postgres_fdw
                    OPTIONS (dbname %L, host %L, port %L, extensions ''snowflake'')',
                   current_database(), split_part(current_setting('unix_socket_directories'), ',', 1),
                   current_setting('port'));
END $$;
CREATE USER MAPPING FOR CURRENT_USER SERVER here;
CREATE TABLE event (id bigint PRIMARY KEY, payload text);
INSERT INTO event
SELECT snowflake_make(timestamptz '2025-01-01 00:00:00+00' + n * interval '1 minute', 7, 0), 'payload'
FROM generate_series(0, 9999) n;
CREATE FOREIGN TABLE far_event (id bigint, payload text) SERVER here OPTIONS (table_name 'event');

EXPLAIN (VERBOSE, COSTS OFF)
SELECT * FROM far_event WHERE snowflake_within(id, '[2025-01-05 00:00+00,2025-01-05 01:00+00)');
SELECT count(*) FROM far_event WHERE snowflake_within(id, '[2025-01-05 00:00+00,2025-01-05 01:00+00)');

-- Parameters are sent, and the other side computes the bounds.
PREPARE in_range AS SELECT * FROM far_event WHERE snowflake_within(id, $1);
PREPARE from_to AS SELECT count(*) FROM far_event WHERE snowflake_within(id, $1, $2);
SET plan_cache_mode = force_generic_plan;
EXPLAIN (VERBOSE, COSTS OFF) EXECUTE in_range('[2025-01-05 00:00+00,2025-01-05 01:00+00)');
EXPLAIN (VERBOSE, COSTS OFF) EXECUTE from_to('2025-01-05 00:00+00', '2025-01-05 01:00+00');
EXECUTE from_to('2025-01-05 00:00+00', '2025-01-05 01:00+00');
EXECUTE from_to('2025-01-05 00:00+00', NULL);

-- Without the extension in the server's definition it is done here.
ALTER SERVER here OPTIONS (DROP extensions);
EXPLAIN (VERBOSE, COSTS OFF) EXECUTE in_range('[2025-01-05 00:00+00,2025-01-05 01:00+00)');
EXECUTE from_to('2025-01-05 00:00+00', '2025-01-05 01:00+00');

DROP FOREIGN TABLE far_event;
DROP TABLE event;
DROP EXTENSION postgres_fdw CASCADE;
