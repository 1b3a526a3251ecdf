-- Another machine id, by a reload: the whole server switches at one moment, and the ids go on in order.
SELECT snowflake_next() AS id \gset

-- A larger one. pg_stat_snowflake tells when the switch has been made.
ALTER SYSTEM SET snowflake.machine_id = '9';
SELECT pg_reload_conf();
SELECT wait_until($$SELECT machine_id = '9' FROM pg_stat_snowflake$$);
SELECT snowflake_machine(id) AS machine, id > :id AS larger FROM snowflake_next() AS id;
SELECT snowflake_next() AS id \gset

-- A smaller one: the ids are larger all the same, for their timestamps are.
ALTER SYSTEM SET snowflake.machine_id = '0';
SELECT pg_reload_conf();
SELECT wait_until($$SELECT machine_id = '0' FROM pg_stat_snowflake$$);
SELECT snowflake_machine(id) AS machine, id > :id AS larger FROM snowflake_next() AS id;
SELECT count(*), count(DISTINCT id), min(snowflake_machine(id)), max(snowflake_machine(id)),
       bool_or((id & 4194303) = 0) AS "reserved one"
FROM snowflake_next(10000) AS id;
SELECT snowflake_next() AS id \gset

-- A block.
ALTER SYSTEM SET snowflake.machine_id = ' 16 - 31 ';
SELECT pg_reload_conf();
SELECT wait_until($$SELECT machine_id = '16-31' FROM pg_stat_snowflake$$);
SELECT count(*), bool_and(snowflake_machine(id) BETWEEN 16 AND 31) AS ours, min(id) > :id AS larger
FROM snowflake_next(10000) AS id;
SELECT snowflake_next() AS id \gset

-- None: generating is refused, decoding goes on.
ALTER SYSTEM SET snowflake.machine_id = '';
SELECT pg_reload_conf();
SELECT wait_until($$SELECT machine_id IS NULL FROM pg_stat_snowflake$$);
SELECT status, machine_id, last_id, last_timestamp, ids_issued > 0 AS counted FROM pg_stat_snowflake;
\x on
SELECT * FROM error_of('SELECT snowflake_next()');
\x off
SELECT snowflake_machine(:id) BETWEEN 16 AND 31 AS ours, snowflake_timestamp(:id) <= now() AS past;

-- Back to the configuration file's.
ALTER SYSTEM RESET snowflake.machine_id;
SELECT pg_reload_conf();
SELECT wait_until($$SELECT machine_id = '7' FROM pg_stat_snowflake$$);
SELECT snowflake_machine(id) AS machine, id > :id AS larger FROM snowflake_next() AS id;
SELECT snowflake_next() AS id \gset

-- A setting that says the same in other words, and a reload without a change, change nothing.
ALTER SYSTEM SET snowflake.machine_id = '007';
SELECT pg_reload_conf();
SELECT snowflake_machine(id) AS machine, id > :id AS larger FROM snowflake_next() AS id;
ALTER SYSTEM RESET snowflake.machine_id;
SELECT pg_reload_conf();
SELECT snowflake_machine(id) AS machine, id > :id AS larger FROM snowflake_next() AS id;

-- A reload also brings another tolerance. What takes a restart stays as it is until then, so every id
-- still means what it did. (The machine id is changed as well, for it tells when the reload is over.)
ALTER SYSTEM SET snowflake.epoch = 'unix';
ALTER SYSTEM SET snowflake.machine_bits = 4;
ALTER SYSTEM SET snowflake.clock_tolerance = '2s';
ALTER SYSTEM SET snowflake.machine_id = '9';
SELECT pg_reload_conf();
SELECT wait_until($$SELECT machine_id = '9' FROM pg_stat_snowflake$$);
\c -
SELECT name, setting, pending_restart
FROM pg_settings WHERE name LIKE 'snowflake.%' ORDER BY name COLLATE "C";
SELECT snowflake_floor('2025-01-01 00:00:00.001+00'), snowflake_machine(4096),
       snowflake_machine(snowflake_next());
ALTER SYSTEM RESET snowflake.epoch;
ALTER SYSTEM RESET snowflake.machine_bits;
ALTER SYSTEM RESET snowflake.clock_tolerance;
ALTER SYSTEM RESET snowflake.machine_id;
SELECT pg_reload_conf();
SELECT wait_until($$SELECT machine_id = '7' FROM pg_stat_snowflake$$);
