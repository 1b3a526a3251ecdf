-- snowflake_grants and snowflake_advance(): who may use them, what they refuse, what they show.
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';
CREATE ROLE regress_snowflake_user;
CREATE ROLE regress_snowflake_monitor;
CREATE ROLE regress_snowflake_mover;
GRANT pg_monitor TO regress_snowflake_monitor;
SELECT snowflake_next() IS NOT NULL AS drawn;

-- Who may what.
SELECT role, has_table_privilege(role, 'snowflake_grants', 'SELECT') AS view,
       has_function_privilege(role, 'snowflake_get_grants()', 'EXECUTE') AS get,
       has_function_privilege(role, 'snowflake_advance(bigint)', 'EXECUTE') AS advance
FROM unnest('{public, regress_snowflake_user, regress_snowflake_monitor}'::text[]) AS role
ORDER BY role COLLATE "C";
SET ROLE regress_snowflake_user;
SELECT attempt, e.code, e.message
FROM unnest('{SELECT * FROM snowflake_grants, SELECT * FROM snowflake_get_grants(),
              SELECT snowflake_advance(1)}'::text[]) WITH ORDINALITY AS t(attempt, n),
     error_of(attempt) AS e
ORDER BY n;
SET ROLE regress_snowflake_monitor;
SELECT count(*) > 0 AS any FROM snowflake_grants;
SELECT code, message FROM error_of('SELECT snowflake_advance(1)');
SELECT code, message FROM error_of('DELETE FROM snowflake_grants');
RESET ROLE;
GRANT EXECUTE ON FUNCTION snowflake_advance(bigint) TO regress_snowflake_mover;
SET ROLE regress_snowflake_mover;
SELECT snowflake_advance(1);
RESET ROLE;

-- The columns, and the grant in force.
SELECT attname, format_type(atttypid, atttypmod) AS type
FROM pg_attribute WHERE attrelid = 'snowflake_grants'::regclass AND attnum > 0 ORDER BY attnum;
SELECT machine_id, source, length(host) > 0 AS host, timeline,
       data_directory = right(current_setting('data_directory'), 127) AS data_directory,
       g.system_identifier = c.system_identifier AS system_identifier,
       granted BETWEEN pg_postmaster_start_time() - interval '1 s' AND clock_timestamp() AS granted,
       ceiling BETWEEN granted AND clock_timestamp() + interval '1 h' AS ceiling
FROM snowflake_grants AS g, pg_control_system() AS c WHERE g.ended IS NULL;
SELECT @ extract(epoch FROM g.ceiling - s.ceiling) < 10 AS as_in_the_statistics
FROM pg_stat_snowflake AS s, snowflake_grants AS g WHERE g.ended IS NULL;

-- A machine id that is changed, to another and back: the old grant ends, at its true end.
SELECT count(*) AS before FROM snowflake_grants \gset
SELECT snowflake_next() AS last \gset
ALTER SYSTEM SET snowflake.machine_id = '20-23';
SELECT pg_reload_conf();
SELECT wait_until($$SELECT machine_id = '20-23' FROM pg_stat_snowflake$$);
SELECT snowflake_machine(snowflake_next());
SELECT snowflake_next() AS last_of_block \gset
ALTER SYSTEM RESET snowflake.machine_id;
SELECT pg_reload_conf();
SELECT wait_until($$SELECT machine_id = '7' FROM pg_stat_snowflake$$);
SELECT snowflake_machine(snowflake_next());
SELECT machine_id, ended IS NULL AS in_force, ended >= granted AS in_order,
       lag(ended) OVER w <= granted AS after_the_one_before,
       ceiling > lag(ceiling) OVER w AS above_the_one_before,
       CASE n WHEN 1 THEN ceiling = snowflake_timestamp(:last) + interval '1 ms'
              WHEN 2 THEN ceiling = snowflake_timestamp(:last_of_block) + interval '1 ms'
       END AS ends_with_its_last_id
FROM (SELECT row_number() OVER () - :before + 1 AS n, * FROM snowflake_grants) AS g
WHERE n > 0 WINDOW w AS (ORDER BY n);

-- snowflake_advance() refuses what is no id, and what would stop this server for long.
\x on
SELECT * FROM error_of('SELECT snowflake_advance(-1)');
SELECT * FROM error_of('SELECT snowflake_advance(-9223372036854775808)');
SELECT code, message, regexp_replace(detail, 'is [-0-9]+ [:.0-9]+[+]00;', 'is (a time);') AS detail, hint
FROM error_of($$SELECT snowflake_advance(snowflake_floor(now() + interval '61 min'))$$);
SELECT code, message FROM error_of('SELECT snowflake_advance(9223372036854775807)');
SELECT code, message FROM error_of($$SELECT snowflake_advance('x')$$);
\x off
SELECT snowflake_advance(NULL) IS NULL AS nothing;

-- An old id changes nothing. One of this very moment, or of soon, is never reached again.
SELECT count(*) AS before FROM snowflake_grants \gset
SELECT snowflake_advance(0);
SELECT snowflake_advance(4194303);
SELECT snowflake_advance(snowflake_floor(now() - interval '1 day'));
SELECT count(*) - :before AS more_grants FROM snowflake_grants;
SELECT snowflake_ceil(clock_timestamp() + interval '0.7 s') AS other \gset
SELECT snowflake_advance(:other);
SELECT snowflake_next() > :other AS above;
SELECT snowflake_ceil(clock_timestamp() + interval '0.7 s') AS other \gset
BEGIN;
SELECT snowflake_advance(:other);
ROLLBACK;
SELECT min(id) > :other AS above, count(DISTINCT id) FROM snowflake_next(10000) AS id;
SELECT snowflake_advance(:other);
SELECT count(*) - :before AS more_grants FROM snowflake_grants;

-- The function is for statements that run once: never folded, never in parallel workers.
SELECT provolatile, proparallel, proisstrict FROM pg_proc WHERE proname = 'snowflake_advance';

REVOKE ALL ON FUNCTION snowflake_advance(bigint) FROM regress_snowflake_mover;
DROP ROLE regress_snowflake_user, regress_snowflake_monitor, regress_snowflake_mover;
