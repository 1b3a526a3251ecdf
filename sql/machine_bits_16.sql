-- snowflake.machine_bits = 16: 65536 machine ids, and 6 bits of sequence. The server's machine id is 0.
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';
SHOW snowflake.machine_bits;

SELECT id, snowflake_timestamp(id), snowflake_machine(id) AS machine,
       snowflake_sequence(id) AS sequence
FROM (VALUES (0), (1), (63), (64), (4096), (4194303), (4194304),
             (9223372036854775806), (9223372036854775807)) AS ids(id) ORDER BY id;
SELECT machine, sequence, snowflake_make('2025-01-01 00:00:00.001+00', machine, sequence)
FROM (VALUES (0, 0), (0, 63), (1, 0), (65535, 0), (65535, 63)) AS parts(machine, sequence);
SELECT count(*) AS ids,
       bool_and(snowflake_make(parts."timestamp", parts.machine, parts.sequence) = id) AS round_trip
FROM (SELECT n * 922337203685477 AS id FROM generate_series(0::bigint, 10000) n) ids,
     snowflake_parts(id) AS parts;

-- The layout changes no bound.
SELECT snowflake_floor('2025-01-01 00:00:00.001+00'), snowflake_ceil('2025-01-01 00:00:00.001+00'),
       snowflake_range('["2025-01-01 00:00:00.001+00","2025-01-01 00:00:00.002+00")');

\x on
SELECT machine, sequence, e.*
FROM (VALUES (-1, 0), (65536, 0), (0, -1), (0, 64)) AS parts(machine, sequence),
     error_of(format('SELECT snowflake_make(''2026-01-01 00:00:00+00'', %s, %s)',
                     machine, sequence)) AS e;
\x off
ALTER SYSTEM SET snowflake.machine_id = '65536';
ALTER SYSTEM SET snowflake.machine_id = '0-131071';
ALTER SYSTEM SET snowflake.machine_id = '1-65535';

-- A millisecond has 64 ids, of which machine 0 issues all but the first: its low 22 bits are zero.
-- One at a time, and in series, which carry from one millisecond into the next.
SELECT count(*), count(DISTINCT id), bool_and(id > before) AS ascending,
       max(snowflake_machine(id)) AS machine, min(snowflake_sequence(id)) >= 1 AS "from 1",
       bool_or((id & 4194303) = 0) AS "reserved one",
       count(*) <= 63 * count(DISTINCT id >> 22) AS "63 a millisecond",
       max(snowflake_timestamp(id)) <= clock_timestamp() AS "none from the future"
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before
      FROM (SELECT n, snowflake_next() AS id FROM generate_series(1, 2000) n) drawn) ordered;
SELECT count(*), count(DISTINCT id), bool_and(id > before) AS ascending,
       max(snowflake_machine(id)) AS machine, min(snowflake_sequence(id)) >= 1 AS "from 1",
       bool_or((id & 4194303) = 0) AS "reserved one",
       count(*) <= 63 * count(DISTINCT id >> 22) AS "63 a millisecond",
       max(snowflake_timestamp(id)) <= clock_timestamp() AS "none from the future"
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before
      FROM snowflake_next(2000) WITH ORDINALITY AS drawn(id, n)) ordered;
SELECT n, count(DISTINCT id), bool_or((id & 4194303) = 0) AS "reserved one"
FROM unnest('{1,2,62,63,64,65,127,128,129}'::int[]) AS n, snowflake_next(n) AS id
GROUP BY n ORDER BY n;

-- The id that is left out is not counted.
SELECT ids_used('SELECT count(snowflake_next()) FROM generate_series(1, 1000)');
SELECT n, ids_used(format('SELECT count(*) FROM snowflake_next(%s)', n))
FROM unnest('{1,63,64,65,1000}'::int[]) AS n;

-- The largest machine id, which may issue all 64.
SELECT max(id) AS id FROM snowflake_next(1) AS id \gset
ALTER SYSTEM SET snowflake.machine_id = '65535';
SELECT pg_reload_conf();
SELECT wait_until($$SELECT machine_id = '65535' FROM pg_stat_snowflake$$);
SELECT count(*), count(DISTINCT id), min(id) > :id AS larger, min(snowflake_machine(id)),
       max(snowflake_machine(id)), count(*) <= 64 * count(DISTINCT id >> 22) AS "64 a millisecond"
FROM snowflake_next(2000) AS id;
SELECT ids_used('SELECT count(snowflake_next()) FROM generate_series(1, 1000)');

-- All machine ids in one block: the 22 bits are one sequence.
SELECT max(id) AS id FROM snowflake_next(1) AS id \gset
ALTER SYSTEM SET snowflake.machine_id = '0-65535';
SELECT pg_reload_conf();
SELECT wait_until($$SELECT machine_id = '0-65535' FROM pg_stat_snowflake$$);
SELECT count(*), count(DISTINCT id), min(id) > :id AS larger,
       bool_or((id & 4194303) = 0) AS "reserved one"
FROM snowflake_next(100000) AS id;
SELECT ids_used('SELECT count(snowflake_next()) FROM generate_series(1, 100000)');
ALTER SYSTEM RESET snowflake.machine_id;
SELECT pg_reload_conf();
SELECT wait_until($$SELECT machine_id = '0' FROM pg_stat_snowflake$$);
