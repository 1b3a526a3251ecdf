-- snowflake_next() and snowflake_next(n).
SELECT snowflake_machine(snowflake_next()), pg_typeof(snowflake_next());

-- A later call has the larger id, in the next statement as well.
SELECT snowflake_next() AS earlier \gset
SELECT snowflake_next() > :earlier AS larger;

-- So has each row of one statement; all are of this machine.
SELECT count(*), count(DISTINCT id), bool_and(id > before) AS ascending,
       min(snowflake_machine(id)), max(snowflake_machine(id))
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before
      FROM (SELECT n, snowflake_next() AS id FROM generate_series(1, 20000) n) drawn) ordered;

-- At most 4096 share a millisecond.
SELECT max(per_ms) <= 4096 AS "fits in 12 bits"
FROM (SELECT count(*) AS per_ms
      FROM (SELECT snowflake_next() AS id FROM generate_series(1, 20000) OFFSET 0) drawn
      GROUP BY id >> 22) counted;

-- No id is from the future, and none from before the call.
SELECT clock_timestamp() AS before \gset
SELECT bool_and(ts <= seen) AS "none from the future",
       bool_and(ts >= date_trunc('milliseconds', timestamptz :'before')) AS "none from the past"
FROM (SELECT ts, clock_timestamp() AS seen
      FROM (SELECT snowflake_timestamp(snowflake_next()) AS ts
            FROM generate_series(1, 20000) OFFSET 0) drawn OFFSET 0) seen;

-- It is called once per row and call, never folded to a constant, also not in a plan that is kept.
SELECT count(DISTINCT id) AS two_calls
FROM (SELECT unnest(ARRAY[snowflake_next(), snowflake_next()]) AS id) drawn;
SET plan_cache_mode = force_generic_plan;
PREPARE draw AS SELECT snowflake_next() AS id;
EXECUTE draw \gset first_
EXECUTE draw \gset second_
SELECT :second_id > :first_id AS larger;
DEALLOCATE draw;
RESET plan_cache_mode;

-- It writes nothing, so a transaction may be read only.
BEGIN READ ONLY;
SELECT snowflake_machine(snowflake_next());
SELECT count(*) FROM snowflake_next(10);
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE;
SELECT snowflake_machine(snowflake_next());
COMMIT;
BEGIN;
SELECT snowflake_machine(snowflake_next());
SELECT pg_current_xact_id_if_assigned() IS NULL AS "no transaction id used";
COMMIT;

-- n at once.
SELECT count(*) FROM snowflake_next(0);
SELECT count(*), min(snowflake_machine(id)) AS machine FROM snowflake_next(1) AS id;
SELECT count(*), count(DISTINCT id), bool_and(id > before) AS ascending,
       min(snowflake_machine(id)), max(snowflake_machine(id))
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before
      FROM snowflake_next(10000) WITH ORDINALITY AS drawn(id, n)) ordered;
SELECT min(id) > :second_id AS "larger than those before"
FROM snowflake_next(100) AS id;
SELECT count(*) FROM snowflake_next(NULL);
SELECT count(*) FROM (SELECT snowflake_next(2147483647) LIMIT 3) three;
SELECT rows, count(DISTINCT id) FROM generate_series(0, 3) AS rows, snowflake_next(rows) AS id
GROUP BY rows ORDER BY rows;

\x on
SELECT * FROM error_of('SELECT snowflake_next(-1)');
SELECT * FROM error_of('SELECT * FROM snowflake_next(-2147483648)');
\x off

-- A cursor that is given up leaves a gap, and no id comes twice.
BEGIN;
DECLARE five CURSOR FOR SELECT snowflake_next(5) AS id;
FETCH five \gset a_
SELECT snowflake_next() AS b_id \gset
FETCH five \gset c_
CLOSE five;
SELECT :a_id < :c_id AS ascending, :b_id NOT IN (:a_id, :c_id) AS "another one";
COMMIT;

-- What would take minutes ends when it is told to.
SET statement_timeout = '100ms';
SELECT count(*) FROM snowflake_next(2147483647);
SELECT count(snowflake_next()) FROM (SELECT generate_series(1, 2000000000)) AS many;
RESET statement_timeout;
SELECT snowflake_machine(snowflake_next());
