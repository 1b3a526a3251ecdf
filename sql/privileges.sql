-- What a role without any privilege may do: generate, decode and look. What only some may do: configure.
CREATE ROLE regress_snowflake_user;
CREATE ROLE regress_snowflake_operator;
CREATE TABLE note (id bigint PRIMARY KEY DEFAULT snowflake_next(), payload text);
GRANT SELECT, INSERT ON note TO regress_snowflake_user;

SET ROLE regress_snowflake_user;
SELECT snowflake_machine(snowflake_next());
SELECT count(*) FROM snowflake_next(3);
INSERT INTO note (payload) VALUES ('a') RETURNING snowflake_machine(id) AS machine;
SELECT snowflake_machine(4096), snowflake_floor('2025-01-01 00:00:00.001+00');
SELECT status, machine_id FROM pg_stat_snowflake;
SHOW snowflake.machine_id;
SELECT attempt, e.code, e.message
FROM unnest('{SET snowflake.machine_id = 5,
              "UPDATE pg_stat_snowflake SET machine_id = 5",
              ALTER EXTENSION snowflake UPDATE,
              DROP EXTENSION snowflake,
              "COMMENT ON FUNCTION snowflake_next() IS ''mine''",
              "CREATE OR REPLACE FUNCTION snowflake_next() RETURNS bigint LANGUAGE sql AS ''SELECT 1::bigint''"}'::text[])
         AS attempt,
     error_of(attempt) AS e;
ALTER SYSTEM SET snowflake.machine_id = '5';
RESET ROLE;

-- The extension reads the machine's clock and writes shared memory: a superuser creates it.
SELECT trusted, superuser FROM pg_available_extension_versions WHERE name = 'snowflake' AND version = '1.0';

-- EXECUTE may be taken away: then a default does not work either.
REVOKE EXECUTE ON FUNCTION snowflake_next() FROM PUBLIC;
REVOKE SELECT ON pg_stat_snowflake FROM PUBLIC;
SET ROLE regress_snowflake_user;
SELECT attempt, e.code, e.message
FROM unnest('{SELECT snowflake_next(), INSERT INTO note (payload) VALUES (NULL),
              SELECT * FROM pg_stat_snowflake}'::text[]) AS attempt,
     error_of(attempt) AS e;
INSERT INTO note VALUES (1, 'with an id of its own');
RESET ROLE;
GRANT EXECUTE ON FUNCTION snowflake_next() TO PUBLIC;
GRANT SELECT ON pg_stat_snowflake TO PUBLIC;

-- An operator can be allowed to change the machine id, for the server. SET on a setting that is the
-- server's allows nothing.
GRANT ALTER SYSTEM, SET ON PARAMETER snowflake.machine_id TO regress_snowflake_operator;
GRANT SET ON PARAMETER snowflake.epoch TO regress_snowflake_operator;
SET ROLE regress_snowflake_operator;
ALTER SYSTEM SET snowflake.machine_id = '9-12';
ALTER SYSTEM SET snowflake.machine_id = '8-11';
ALTER SYSTEM RESET snowflake.machine_id;
ALTER SYSTEM SET snowflake.epoch = 'unix';
SELECT attempt, e.code, e.message
FROM unnest('{SET snowflake.machine_id = 5, SET snowflake.epoch = unix}'::text[]) AS attempt,
     error_of(attempt) AS e;
RESET ROLE;
REVOKE ALL ON PARAMETER snowflake.machine_id FROM regress_snowflake_operator;
REVOKE ALL ON PARAMETER snowflake.epoch FROM regress_snowflake_operator;
DROP TABLE note;
DROP ROLE regress_snowflake_user, regress_snowflake_operator;
