\pset footer off
\set ECHO none
\echo
\echo '--- The settings of this server (postgresql.conf)'
\echo 'shared_preload_libraries = ''snowflake'''
\echo 'snowflake.machine_id = ''7'''
\set ECHO queries
\echo

CREATE EXTENSION snowflake;

CREATE TABLE events (
    id      bigint PRIMARY KEY DEFAULT snowflake_next(),
    payload text NOT NULL
);

INSERT INTO events (payload) VALUES ('first'), ('second'), ('third') RETURNING *;

\echo '--- An id tells when it was made, by which server, and its place in that millisecond'
SELECT id, (snowflake_parts(id)).* FROM events ORDER BY id;

\echo '--- Three hours of history: ids made for past times, of a machine id that no server has'
INSERT INTO events (id, payload)
SELECT snowflake_make(now() - interval '3 hours' + n * interval '108 ms', 1000, 0), 'event ' || n
FROM generate_series(1, 100000) AS n;
VACUUM ANALYZE events;

\echo '--- Page through in the order of time: the last id of a page is where the next one starts'
SELECT id, snowflake_timestamp(id), payload FROM events
WHERE id > 0 ORDER BY id LIMIT 3;

\set ECHO none
SELECT max(id) AS last FROM (SELECT id FROM events WHERE id > 0 ORDER BY id LIMIT 3) AS page \gset
\set ECHO queries
\echo '--- The next page: id >' :last
SELECT id, snowflake_timestamp(id), payload FROM events
WHERE id > :last ORDER BY id LIMIT 3;

EXPLAIN (COSTS OFF)
SELECT * FROM events WHERE id > :last ORDER BY id LIMIT 3;

\echo '--- One hour, two hours ago: the primary key is the index on time'
SELECT count(*), min(snowflake_timestamp(id)), max(snowflake_timestamp(id)) FROM events
WHERE snowflake_within(id, now() - interval '2 hours', now() - interval '1 hour');

EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
SELECT count(*) FROM events
WHERE snowflake_within(id, now() - interval '2 hours', now() - interval '1 hour');

\echo '--- A million ids, and what the generator says of itself'
SELECT count(DISTINCT id) FROM snowflake_next(1000000) AS id;
\x on
SELECT * FROM pg_stat_snowflake;
