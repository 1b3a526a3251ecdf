-- A server that holds the machine ids 8-11: 16384 ids a millisecond, and one order for all of them.
SELECT status, machine_id FROM pg_stat_snowflake;

-- One at a time, and in series.
CREATE TABLE drawn AS
SELECT n, snowflake_next() AS id FROM generate_series(1, 100000) n;
CREATE TABLE series AS
SELECT n, id FROM snowflake_next(100000) WITH ORDINALITY AS drawn(id, n);
SELECT count(*), count(DISTINCT id), bool_and(id > before) AS ascending,
       bool_and(snowflake_machine(id) BETWEEN 8 AND 11) AS ours,
       bool_and(snowflake_timestamp(id) <= clock_timestamp()) AS "none from the future"
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM drawn) ordered;
SELECT count(*), count(DISTINCT id), bool_and(id > before) AS ascending,
       bool_and(snowflake_machine(id) BETWEEN 8 AND 11) AS ours,
       bool_and(snowflake_timestamp(id) <= clock_timestamp()) AS "none from the future"
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM series) ordered;
SELECT (SELECT max(id) FROM drawn) < (SELECT min(id) FROM series) AS "later is larger";

-- A millisecond is filled from the first machine id upwards: where one is used, the one below it has
-- used its whole sequence. (Ids of the first millisecond may have been drawn by a statement before.)
SELECT count(*) FILTER (WHERE machine > 8 AND below IS DISTINCT FROM 4096) AS "not filled below",
       max(ids) <= 4096 AS "fits in 12 bits", min(first) = 0 AND max(last) <= 4095 AS sequence
FROM (SELECT machine, ids, first, last,
             CASE WHEN lag(machine) OVER by_ms = machine - 1 THEN lag(ids) OVER by_ms END AS below, ms
      FROM (SELECT id >> 22 AS ms, snowflake_machine(id) AS machine, count(*) AS ids,
                   min(snowflake_sequence(id)) AS first, max(snowflake_sequence(id)) AS last
            FROM drawn GROUP BY 1, 2) counted
      WINDOW by_ms AS (PARTITION BY ms ORDER BY machine)) compared
WHERE ms > (SELECT min(id) >> 22 FROM drawn);

SELECT ids_used('SELECT count(snowflake_next()) FROM generate_series(1, 100000)');
SELECT ids_used('SELECT count(*) FROM snowflake_next(100000)');
SELECT snowflake_next() AS id \gset
SELECT last_id = :id AS last_id FROM pg_stat_snowflake;
DROP TABLE drawn, series;
