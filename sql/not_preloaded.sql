-- A server whose shared_preload_libraries lacks snowflake: the extension can be created and loaded, as
-- CREATE EXTENSION, pg_restore and pg_upgrade do, and every call of it says what is missing.
SHOW shared_preload_libraries;
LOAD 'snowflake';
LOAD '$libdir/snowflake';

\x on
SELECT call, e.*
FROM unnest('{snowflake_next(),snowflake_next(0),snowflake_horizon(),snowflake_timestamp(0),snowflake_machine(0),
              snowflake_sequence(0),snowflake_parts(0),"snowflake_make(now(), 0, 0)",
              snowflake_floor(now()),snowflake_ceil(now()),"snowflake_range(''[,]'')",
              "snowflake_first(''(,)'')","snowflake_last(now(), now())","snowflake_within(0, ''(,)'')",
              "snowflake_within(0, now(), now())",
              snowflake_backfill(now()),pg_stat_get_snowflake()}'::text[]) AS call,
     error_of('SELECT ' || call) AS e;
\x off
SELECT code, message FROM error_of('SELECT * FROM pg_stat_snowflake');
SELECT code, message FROM error_of('SELECT snowflake_timestamp(-1)');

-- Without an argument nothing is called.
SELECT snowflake_timestamp(NULL), snowflake_floor(NULL), snowflake_range(NULL);
SELECT count(*) FROM snowflake_next(NULL);

-- The type and the short form need no preloaded library: they go by the number alone.
SELECT '4097'::snowflake, 4097::snowflake, to_json(4097::snowflake), snowflake_send('4097'),
       snowflake_encode(4097), snowflake_decode('0000000000401');
SELECT code, message FROM error_of($$SELECT '-1'::snowflake$$);
CREATE TABLE keys (id snowflake PRIMARY KEY DEFAULT snowflake_next());
COPY keys FROM stdin;
4097
4098
\.
SELECT id FROM keys WHERE id > 4097;
DROP TABLE keys;

-- What a dump contains can be restored, but for what has to be computed.
CREATE TABLE event (
    id bigint PRIMARY KEY DEFAULT snowflake_next(),
    created_at timestamptz GENERATED ALWAYS AS (snowflake_timestamp(id)) STORED,
    payload text
);
CREATE INDEX ON event (snowflake_timestamp(id));
CREATE VIEW recent AS
SELECT * FROM event WHERE id >= snowflake_floor(now() - interval '1 hour');
SELECT attempt, e.code, e.message
FROM unnest('{INSERT INTO event (payload) VALUES (1),
              "INSERT INTO event (id, payload) VALUES (4097, 1)",
              SELECT * FROM recent}'::text[]) AS attempt,
     error_of(attempt) AS e;
CREATE TABLE plain (id bigint DEFAULT snowflake_next(), payload text);
COPY plain FROM stdin;
4097	restored
\.
TABLE plain;

-- In a parallel worker, too, there is an error and no more.
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET parallel_leader_participation = off;
CREATE TABLE source AS SELECT n FROM generate_series(1, 10000) n;
ANALYZE source;
SELECT code, message FROM error_of('SELECT count(snowflake_machine(n)) FROM source');
SELECT code, message FROM error_of('CREATE TABLE target AS SELECT snowflake_next() AS id, n FROM source');
DROP VIEW recent;
DROP TABLE event, plain, source;

-- Its settings are names without a meaning here: a value that a session gives to one before the
-- library is loaded does not bring it to life.
SHOW snowflake.machine_id;
SHOW snowflake.machine_bits;
\c -
SET snowflake.machine_id = '5';
SET snowflake.machine_bits = '99';
SET snowflake.epoch = 'garbage';
LOAD 'snowflake';
SELECT code, message FROM error_of('SELECT snowflake_next()');
SELECT code, message FROM error_of('SELECT snowflake_timestamp(0)');
SET snowflake.machine_id = '6';
SELECT code, message FROM error_of('SELECT snowflake_next()');

-- Nor does a session that loads the library when it starts.
SELECT setting || '/psql' AS psql, current_database() AS db
FROM pg_config() WHERE name = 'BINDIR' \gset
\setenv PSQL :psql
\setenv PGDATABASE :db
\getenv pgoptions PGOPTIONS
\setenv PGOPTIONS '-c session_preload_libraries=snowflake -c snowflake.machine_id=5'
\! "$PSQL" -X -At -c 'SELECT 1' -c 'SELECT snowflake_next()' -c 'SELECT snowflake_floor(now())' 2>&1
\setenv PGOPTIONS :pgoptions

-- The extension can be dropped and created again.
DROP EXTENSION snowflake;
CREATE EXTENSION snowflake;
SELECT code, message FROM error_of('SELECT snowflake_next()');
