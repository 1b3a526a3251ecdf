-- A server without a machine id: all but generating works.
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';

SHOW snowflake.machine_id;
SELECT * FROM snowflake_parts(251658240000028673);
SELECT snowflake_timestamp(251658240000028673), snowflake_machine(251658240000028673),
       snowflake_sequence(251658240000028673),
       snowflake_make('2026-11-26 10:40:00+00', 7, 1);
SELECT snowflake_floor('2025-01-01 00:00:00.001+00'), snowflake_ceil('2025-01-01 00:00:00.001+00'),
       snowflake_range('["2025-01-01 00:00:00.001+00","2025-01-01 00:00:00.002+00")');
SELECT status, machine_id, last_id, last_timestamp, ids_issued, tick_waits, clock_steps, epoch,
       used_up_at
FROM pg_stat_snowflake;

\x on
SELECT * FROM error_of('SELECT snowflake_next()');
SELECT * FROM error_of('SELECT * FROM snowflake_next(10)');
SELECT * FROM error_of('SELECT snowflake_horizon()');
CREATE TABLE event (id bigint PRIMARY KEY DEFAULT snowflake_next(), payload text);
SELECT * FROM error_of('INSERT INTO event (payload) VALUES (1)');
\x off
SELECT count(*) FROM snowflake_next(0);
SELECT count(*) FROM snowflake_next(NULL);
INSERT INTO event VALUES (251658240000028673, 'with an id of another server');
SELECT snowflake_machine(id) FROM event;
DROP TABLE event;
SELECT status, ids_issued FROM pg_stat_snowflake;

-- A session gives itself none.
SELECT code, message FROM error_of('SET snowflake.machine_id = 5');
-- A reload gives the server one, and takes it away.
ALTER SYSTEM SET snowflake.machine_id = '5';
SELECT pg_reload_conf();
SELECT wait_until($$SELECT machine_id = '5' FROM pg_stat_snowflake$$);
SELECT snowflake_machine(snowflake_next());
ALTER SYSTEM RESET snowflake.machine_id;
SELECT pg_reload_conf();
SELECT wait_until($$SELECT machine_id IS NULL FROM pg_stat_snowflake$$);
SELECT code, message FROM error_of('SELECT snowflake_next()');
SELECT status, machine_id, ids_issued FROM pg_stat_snowflake;
