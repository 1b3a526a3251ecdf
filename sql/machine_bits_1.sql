-- snowflake.machine_bits = 1: two machine ids, and 21 bits of sequence. The server's machine id is 1.
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';
SHOW snowflake.machine_bits;

SELECT id, snowflake_timestamp(id), snowflake_machine(id) AS machine,
       snowflake_sequence(id) AS sequence
FROM (VALUES (0), (1), (4096), (2097151), (2097152), (4194303), (4194304),
             (9223372036854775806), (9223372036854775807)) AS ids(id) ORDER BY id;
SELECT machine, sequence, snowflake_make('2025-01-01 00:00:00.001+00', machine, sequence)
FROM (VALUES (0, 0), (0, 1), (0, 2097151), (1, 0), (1, 2097151)) AS parts(machine, sequence);
SELECT count(*) AS ids,
       bool_and(snowflake_make(parts."timestamp", parts.machine, parts.sequence) = id) AS round_trip
FROM (SELECT n * 922337203685477 AS id FROM generate_series(0::bigint, 10000) n) ids,
     snowflake_parts(id) AS parts;

-- The layout changes no bound.
SELECT snowflake_floor('2025-01-01 00:00:00.001+00'), snowflake_ceil('2025-01-01 00:00:00.001+00'),
       snowflake_range('["2025-01-01 00:00:00.001+00","2025-01-01 00:00:00.002+00")');

\x on
SELECT machine, sequence, e.*
FROM (VALUES (-1, 0), (2, 0), (0, -1), (0, 2097152)) AS parts(machine, sequence),
     error_of(format('SELECT snowflake_make(''2026-01-01 00:00:00+00'', %s, %s)',
                     machine, sequence)) AS e;
\x off
ALTER SYSTEM SET snowflake.machine_id = '2';
ALTER SYSTEM SET snowflake.machine_id = '0-3';
ALTER SYSTEM SET snowflake.machine_id = '1-2';

-- Generated ids are of machine 1.
SELECT count(*), count(DISTINCT id), bool_and(id > before) AS ascending,
       min(snowflake_machine(id)), max(snowflake_machine(id))
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before
      FROM (SELECT n, snowflake_next() AS id FROM generate_series(1, 100000) n) drawn) ordered;
SELECT ids_used('SELECT count(snowflake_next()) FROM generate_series(1, 100000)');

-- A series draws up to a millisecond's worth at a time, which here are two million.
SELECT count(*), count(DISTINCT id), bool_and(snowflake_machine(id) = 1) AS ours,
       max(snowflake_timestamp(id)) <= clock_timestamp() AS "none from the future"
FROM snowflake_next(100000) AS id;

-- Both machine ids in one block: all 22 bits are the sequence, but for the one that is never issued.
SELECT max(id) AS id FROM snowflake_next(1) AS id \gset
ALTER SYSTEM SET snowflake.machine_id = '0-1';
SELECT pg_reload_conf();
SELECT wait_until($$SELECT machine_id = '0-1' FROM pg_stat_snowflake$$);
SELECT count(*), count(DISTINCT id), min(id) > :id AS larger,
       bool_or((id & 4194303) = 0) AS "reserved one"
FROM snowflake_next(100000) AS id;
SELECT ids_used('SELECT count(snowflake_next()) FROM generate_series(1, 100000)');
ALTER SYSTEM RESET snowflake.machine_id;
SELECT pg_reload_conf();
SELECT wait_until($$SELECT machine_id = '1' FROM pg_stat_snowflake$$);
