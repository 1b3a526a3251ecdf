-- A server with sequence_spread = 256: ids that are alone in their millisecond do not all have sequence 0.
SHOW snowflake.sequence_spread;

-- Draws ids, each in a millisecond of its own.
CREATE FUNCTION draw_slowly(n int) RETURNS SETOF bigint LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. n LOOP
        RETURN NEXT snowflake_next();
        PERFORM pg_sleep(0.001);
    END LOOP;
END $$;

CREATE TABLE slow AS
SELECT n, id, lag(id) OVER (ORDER BY n) AS before
FROM draw_slowly(400) WITH ORDINALITY AS drawn(id, n);
SELECT count(DISTINCT id >> 22) AS milliseconds, count(DISTINCT id) AS ids,
       bool_and(id > before) AS ascending, max(snowflake_sequence(id)) < 256 AS "below the spread",
       count(DISTINCT snowflake_sequence(id)) > 100 AS varied
FROM slow;
-- Of n partitions by id % n, none has more than twice its share.
SELECT n AS partitions, count(*) AS used, max(ids) < 2 * 400.0 / n AS even
FROM (VALUES (2), (4), (8), (10), (16)) AS sizes(n),
     LATERAL (SELECT count(*) AS ids FROM slow GROUP BY id % sizes.n) AS remainders
GROUP BY n ORDER BY n;

-- A millisecond that follows a full one starts at 0, so that the limit is what it was.
CREATE TABLE fast AS SELECT id FROM snowflake_next(100000) AS drawn(id);
SELECT count(*) > 0 AS "some follow", bool_and(snowflake_sequence(first) = 0) AS "and start at 0"
FROM (SELECT min(id) AS first, lag(max(id)) OVER (ORDER BY min(id)) AS before
      FROM fast GROUP BY id >> 22) AS milliseconds
WHERE before = snowflake_make(snowflake_timestamp(first) - interval '1 ms', 5, 4095);

-- No more than a machine id has ids per millisecond.
ALTER SYSTEM SET snowflake.sequence_spread = -1;
ALTER SYSTEM SET snowflake.sequence_spread = 4097;
ALTER SYSTEM SET snowflake.sequence_spread = 4194304;
\echo SQLSTATE :SQLSTATE
SET snowflake.sequence_spread = 1;

-- Off by a reload.
ALTER SYSTEM SET snowflake.sequence_spread = 0;
ALTER SYSTEM SET snowflake.machine_id = '6';
SELECT pg_reload_conf();
SELECT wait_until($$SELECT machine_id = '6' FROM pg_stat_snowflake$$);
\c -
SELECT count(DISTINCT id >> 22) AS milliseconds, max(snowflake_sequence(id)) AS "largest sequence"
FROM draw_slowly(50) AS drawn(id);
ALTER SYSTEM RESET snowflake.sequence_spread;
ALTER SYSTEM RESET snowflake.machine_id;
SELECT pg_reload_conf();
