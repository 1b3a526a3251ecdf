-- A table partitioned by time, with nothing but its ids: the bounds of the partitions are ids.
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';

CREATE TABLE measure (
    id bigint PRIMARY KEY DEFAULT snowflake_next(),
    value int
) PARTITION BY RANGE (id);
CREATE TABLE measure_2025 PARTITION OF measure
    FOR VALUES FROM (snowflake_floor('2025-01-01 00:00:00+00'))
               TO (snowflake_floor('2026-01-01 00:00:00+00'));
CREATE TABLE measure_2026 PARTITION OF measure
    FOR VALUES FROM (snowflake_floor('2026-01-01 00:00:00+00'))
               TO (snowflake_floor('2026-07-01 00:00:00+00'));
CREATE TABLE measure_later PARTITION OF measure
    FOR VALUES FROM (snowflake_floor('2026-07-01 00:00:00+00')) TO (MAXVALUE);

-- The last moment of a span goes to its partition, and the first one of the next to the next.
INSERT INTO measure
SELECT snowflake_make(ts, machine, 0), 0
FROM (VALUES (timestamptz '2025-01-01 00:00:00+00', 0), ('2025-12-31 23:59:59.999999+00', 1023),
             ('2026-01-01 00:00:00+00', 0), ('2026-06-30 23:59:59.999999+00', 1023),
             ('2026-07-01 00:00:00+00', 0), ('2094-09-07 15:47:35.551+00', 1023)) AS row(ts, machine);
SELECT tableoid::regclass AS partition, min(snowflake_timestamp(id)) AS first,
       max(snowflake_timestamp(id)) AS last
FROM measure GROUP BY tableoid ORDER BY min(id);

-- New rows go where the clock says.
SELECT ids_used('INSERT INTO measure (value) SELECT generate_series(1, 1000)');
SELECT count(*), count(DISTINCT id) FROM measure WHERE value > 0;
SELECT count(*) AS misplaced
FROM measure
WHERE tableoid::regclass::text IS DISTINCT FROM
      CASE WHEN snowflake_timestamp(id) < '2026-01-01 00:00:00+00' THEN 'measure_2025'
           WHEN snowflake_timestamp(id) < '2026-07-01 00:00:00+00' THEN 'measure_2026'
           ELSE 'measure_later' END;

-- A query by time touches the partitions of that time only.
SET enable_indexscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF)
SELECT value FROM measure
WHERE id >= snowflake_floor('2026-03-01 00:00:00+00')
  AND id < snowflake_floor('2026-04-01 00:00:00+00');
DROP TABLE measure;
