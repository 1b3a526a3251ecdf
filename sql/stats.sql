-- pg_stat_snowflake: one row that tells what the server does.
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';

SELECT status, machine_id, epoch, used_up_at FROM pg_stat_snowflake;
SELECT count(*) FROM pg_stat_snowflake;
SELECT ids_issued >= 0 AS ids, tick_waits >= 0 AS waits, clock_steps >= 0 AS steps,
       (largest_clock_step = '0') = (clock_steps = 0) AS largest, isfinite(used_up_at) AS used_up
FROM pg_stat_snowflake;

-- The last id is the one just drawn.
SELECT snowflake_next() AS id \gset
SELECT last_id = :id AS last_id, last_timestamp = snowflake_timestamp(:id) AS last_timestamp
FROM pg_stat_snowflake;
SELECT max(id) AS id FROM snowflake_next(5000) AS id \gset
SELECT last_id = :id AS last_id, last_timestamp = snowflake_timestamp(:id) AS last_timestamp
FROM pg_stat_snowflake;

-- The count is exact, whether an id was waited for or not, and looking changes nothing.
SELECT ids_used('SELECT 1');
SELECT ids_used('SELECT * FROM pg_stat_snowflake');
SELECT ids_used('SELECT snowflake_timestamp(0), snowflake_floor(now()), snowflake_make(now(), 0, 0)');
SELECT ids_used('SELECT snowflake_next()');
SELECT ids_used('SELECT snowflake_next(), snowflake_next()');
SELECT ids_used('SELECT count(snowflake_next()) FROM generate_series(1, 4096)');
SELECT ids_used('SELECT count(snowflake_next()) FROM generate_series(1, 100000)');
SELECT ids_used('SELECT count(*) FROM snowflake_next(0)');
SELECT ids_used('SELECT count(*) FROM snowflake_next(1)');
SELECT ids_used('SELECT count(*) FROM snowflake_next(4096)');
SELECT ids_used('SELECT count(*) FROM snowflake_next(4097)');
SELECT ids_used('SELECT count(*) FROM snowflake_next(100000)');
SELECT ids_used('SELECT error_of(''SELECT snowflake_next(-1)'')');

-- The counts only grow.
CREATE TEMPORARY TABLE seen AS SELECT * FROM pg_stat_snowflake;
SELECT count(snowflake_next()) FROM generate_series(1, 20000);
SELECT now.ids_issued - seen.ids_issued AS ids_issued, now.tick_waits >= seen.tick_waits AS waits,
       now.clock_steps >= seen.clock_steps AS steps, now.last_id > seen.last_id AS last_id,
       now.epoch = seen.epoch AND now.used_up_at = seen.used_up_at AS fixed
FROM pg_stat_snowflake AS now, seen;
