-- The settings: who may change them, and what they refuse. A session can change nothing.
SELECT name, setting, unit, context, vartype, min_val, max_val, boot_val
FROM pg_settings WHERE name LIKE 'snowflake.%' ORDER BY name COLLATE "C";
SELECT name, short_desc, extra_desc
FROM pg_settings WHERE name LIKE 'snowflake.%' ORDER BY name COLLATE "C";

-- Whichever way a session, a role, a database or a function tries it: an error.
SELECT name, attempt, e.code, e.message
FROM (VALUES ('snowflake.machine_id', '5'), ('snowflake.epoch', 'discord'),
             ('snowflake.machine_bits', '12'), ('snowflake.clock_tolerance', '5s'),
             ('snowflake.sequence_spread', '16'))
         AS settings(name, value),
     (VALUES (1, 'SET', 'SET %1$s = %2$L'),
             (2, 'SET LOCAL', 'SET LOCAL %1$s = %2$L'),
             (3, 'SET TO DEFAULT', 'SET %1$s TO DEFAULT'),
             (4, 'RESET', 'RESET %1$s'),
             (5, 'set_config', 'SELECT set_config(%1$L, %2$L, false)'),
             (6, 'pg_settings', 'UPDATE pg_settings SET setting = %2$L WHERE name = %1$L'),
             (7, 'ALTER ROLE', 'ALTER ROLE CURRENT_USER SET %1$s = %2$L'),
             (8, 'ALTER ROLE ALL', 'ALTER ROLE ALL SET %1$s = %2$L'),
             (9, 'ALTER DATABASE', 'ALTER DATABASE %3$I SET %1$s = %2$L'),
             (10, 'function', 'CREATE FUNCTION f() RETURNS bigint LANGUAGE sql SET %1$s = %2$L
                               AS ''SELECT snowflake_next()'''))
         AS attempts(n, attempt, command),
     error_of(format(command, name, value, current_database())) AS e
ORDER BY name COLLATE "C" DESC, n;
RESET ALL;
DISCARD ALL;

-- The prefix is reserved.
\x on
SELECT attempt, e.*
FROM unnest('{SET snowflake.foo = 1,
              SET LOCAL snowflake.foo = 1,
              SET snowflake.machine_ids = 5,
              "SELECT set_config(''snowflake.foo'', ''1'', false)",
              ALTER ROLE ALL SET snowflake.foo = 1}'::text[]) AS attempt,
     error_of(attempt) AS e;
\x off

-- A connection that asks for another value does not come about.
SELECT setting || '/psql' AS psql FROM pg_config() WHERE name = 'BINDIR' \gset
\setenv PSQL :psql
\getenv pgoptions PGOPTIONS
SELECT current_database() AS db \gset
\setenv PGDATABASE :db
\setenv PGOPTIONS '-c snowflake.machine_id=5'
\! "$PSQL" -X -At -c 'SELECT snowflake_machine(snowflake_next())' 2>&1 | sed 's/.*FATAL/FATAL/'
\setenv PGOPTIONS '-c snowflake.epoch=unix'
\! "$PSQL" -X -At -c 'SELECT snowflake_timestamp(0)' 2>&1 | sed 's/.*FATAL/FATAL/'
\setenv PGOPTIONS '-c snowflake.machine_bits=16'
\! "$PSQL" -X -At -c 'SELECT snowflake_machine(4096)' 2>&1 | sed 's/.*FATAL/FATAL/'
\setenv PGOPTIONS '-c snowflake.clock_tolerance=1h'
\! "$PSQL" -X -At -c 'SELECT snowflake_next()' 2>&1 | sed 's/.*FATAL/FATAL/'
\setenv PGOPTIONS :pgoptions

-- Values that were stored for a role while the library was not loaded, when PostgreSQL knew no better
-- than to take them, are not applied.
CREATE ROLE regress_snowflake_set LOGIN;
INSERT INTO pg_db_role_setting
SELECT 0, oid, '{snowflake.machine_id=5,snowflake.epoch=unix,snowflake.machine_bits=16}'
FROM pg_roles WHERE rolname = 'regress_snowflake_set';
SELECT current_user AS me \gset
\setenv PGUSER regress_snowflake_set
\! "$PSQL" -X -At -c 'SELECT snowflake_machine(snowflake_next()), snowflake_machine(4096), current_setting($$snowflake.machine_id$$)' 2>&1
\setenv PGUSER :me
DELETE FROM pg_db_role_setting
WHERE setrole = (SELECT oid FROM pg_roles WHERE rolname = 'regress_snowflake_set');
DROP ROLE regress_snowflake_set;

-- After all that, nothing is different.
SHOW snowflake.machine_id;
SHOW snowflake.epoch;
SHOW snowflake.machine_bits;
SHOW snowflake.clock_tolerance;
SELECT snowflake_machine(snowflake_next()), snowflake_floor('2025-01-01 00:00:00.001+00'),
       snowflake_machine(4096);

-- A machine id is a number from 0 to 1023, or an aligned block of a power of two.
ALTER SYSTEM SET snowflake.machine_id = '-1';
\echo SQLSTATE :SQLSTATE
ALTER SYSTEM SET snowflake.machine_id = '8-';
ALTER SYSTEM SET snowflake.machine_id = '-';
ALTER SYSTEM SET snowflake.machine_id = '8-11-12';
ALTER SYSTEM SET snowflake.machine_id = '9-12';
ALTER SYSTEM SET snowflake.machine_id = '8-10';
ALTER SYSTEM SET snowflake.machine_id = '11-8';
ALTER SYSTEM SET snowflake.machine_id = '1024';
ALTER SYSTEM SET snowflake.machine_id = '1020-1024';
ALTER SYSTEM SET snowflake.machine_id = '0-2047';
ALTER SYSTEM SET snowflake.machine_id = '99999999999999999999';
ALTER SYSTEM SET snowflake.machine_id = '0-99999999999999999999';
ALTER SYSTEM SET snowflake.machine_id = '0x7';
ALTER SYSTEM SET snowflake.machine_id = '7.0';
ALTER SYSTEM SET snowflake.machine_id = '+7';
ALTER SYSTEM SET snowflake.machine_id = '1e2';
ALTER SYSTEM SET snowflake.machine_id = '７';
ALTER SYSTEM SET snowflake.machine_id = '7 8';
ALTER SYSTEM SET snowflake.machine_id = '7,8';
ALTER SYSTEM SET snowflake.machine_id = 'seven';
ALTER SYSTEM SET snowflake.machine_id = 'hostname';
ALTER SYSTEM SET snowflake.machine_id = -1;

-- An epoch is in the past, not before 2000 and in whole milliseconds.
ALTER SYSTEM SET snowflake.epoch = '';
\echo SQLSTATE :SQLSTATE
ALTER SYSTEM SET snowflake.epoch = 'garbage';
ALTER SYSTEM SET snowflake.epoch = '1735689600';
ALTER SYSTEM SET snowflake.epoch = '0';
ALTER SYSTEM SET snowflake.epoch = '-1';
ALTER SYSTEM SET snowflake.epoch = '946684799999';
ALTER SYSTEM SET snowflake.epoch = '1735689600000000';
ALTER SYSTEM SET snowflake.epoch = '99999999999999999999';
ALTER SYSTEM SET snowflake.epoch = '1735689600000.5';
ALTER SYSTEM SET snowflake.epoch = '1735689600000 ms';
ALTER SYSTEM SET snowflake.epoch = '2400-01-01';
ALTER SYSTEM SET snowflake.epoch = '1999-12-31';
ALTER SYSTEM SET snowflake.epoch = '1999-12-31 23:59:59.999+00';
ALTER SYSTEM SET snowflake.epoch = '2025-01-01 BC';
ALTER SYSTEM SET snowflake.epoch = '2025-01-01 00:00:00.0005+00';
ALTER SYSTEM SET snowflake.epoch = 'now';
ALTER SYSTEM SET snowflake.epoch = 'today';
ALTER SYSTEM SET snowflake.epoch = 'epoch';
ALTER SYSTEM SET snowflake.epoch = 'infinity';
ALTER SYSTEM SET snowflake.epoch = '-infinity';
ALTER SYSTEM SET snowflake.epoch = '01/02/2025';
ALTER SYSTEM SET snowflake.epoch = '2025-02-30';
ALTER SYSTEM SET snowflake.epoch = '2025-13-01';
ALTER SYSTEM SET snowflake.epoch = '2025-01-01 25:00:00';
ALTER SYSTEM SET snowflake.epoch = '2025-01-01 00:00:00 Nowhere/City';
ALTER SYSTEM SET snowflake.epoch = '2025-01-01 now';
ALTER SYSTEM SET snowflake.epoch = '2024-02-29 12:00:00 Europe/Zurich';
ALTER SYSTEM SET snowflake.epoch = '2024-02-29 12:00:00 EST';

-- The numbers. (A range that has a unit is worded differently by PostgreSQL's versions.)
ALTER SYSTEM SET snowflake.machine_bits = 0;
ALTER SYSTEM SET snowflake.machine_bits = 17;
ALTER SYSTEM SET snowflake.machine_bits = -1;
ALTER SYSTEM SET snowflake.machine_bits = 'ten';
\set VERBOSITY sqlstate
ALTER SYSTEM SET snowflake.clock_tolerance = -1;
ALTER SYSTEM SET snowflake.clock_tolerance = '-1s';
ALTER SYSTEM SET snowflake.clock_tolerance = '61min';
ALTER SYSTEM SET snowflake.clock_tolerance = 'soon';
\set VERBOSITY default

-- Nothing of that has been written.
SELECT count(*) FROM pg_file_settings
WHERE name LIKE 'snowflake.%' AND sourcefile LIKE '%postgresql.auto.conf';

-- What is right is accepted, and taken back without a reload.
ALTER SYSTEM SET snowflake.machine_id = ' 7 ';
ALTER SYSTEM SET snowflake.machine_id = 7;
ALTER SYSTEM SET snowflake.machine_id = '007';
ALTER SYSTEM SET snowflake.machine_id = '0';
ALTER SYSTEM SET snowflake.machine_id = '1023';
ALTER SYSTEM SET snowflake.machine_id = '5-5';
ALTER SYSTEM SET snowflake.machine_id = '8 - 11';
ALTER SYSTEM SET snowflake.machine_id = '0-1023';
ALTER SYSTEM SET snowflake.machine_id = '';
ALTER SYSTEM SET snowflake.machine_id = '  ';
ALTER SYSTEM RESET snowflake.machine_id;
ALTER SYSTEM SET snowflake.epoch = 'unix';
ALTER SYSTEM SET snowflake.epoch = 'Twitter';
ALTER SYSTEM SET snowflake.epoch = 'DISCORD';
ALTER SYSTEM SET snowflake.epoch = 'pgedge';
ALTER SYSTEM SET snowflake.epoch = '946684800000';
ALTER SYSTEM SET snowflake.epoch = '2000-01-01';
ALTER SYSTEM SET snowflake.epoch = '2024-02-29 12:00:00.001';
ALTER SYSTEM SET snowflake.epoch = '2024-02-29T12:00:00Z';
ALTER SYSTEM SET snowflake.epoch = '2024-02-29 12:00:00+05:30';
ALTER SYSTEM RESET snowflake.epoch;
ALTER SYSTEM SET snowflake.machine_bits = 1;
ALTER SYSTEM SET snowflake.machine_bits = 16;
ALTER SYSTEM RESET snowflake.machine_bits;
ALTER SYSTEM SET snowflake.clock_tolerance = 0;
ALTER SYSTEM SET snowflake.clock_tolerance = '1h';
ALTER SYSTEM RESET snowflake.clock_tolerance;
SELECT count(*) FROM pg_file_settings
WHERE name LIKE 'snowflake.%' AND sourcefile LIKE '%postgresql.auto.conf';
