-- snowflake_range: the ids of a range of time. The server has the default epoch, so a millisecond
-- after 2025-01-01 00:00:00+00 is 4194304 ids.
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';

-- Each kind of bound, at the milliseconds 1 and 3.
SELECT times, snowflake_range(times)
FROM (VALUES (tstzrange '["2025-01-01 00:00:00.001+00","2025-01-01 00:00:00.003+00")'),
             ('("2025-01-01 00:00:00.001+00","2025-01-01 00:00:00.003+00")'),
             ('("2025-01-01 00:00:00.001+00","2025-01-01 00:00:00.003+00"]'),
             ('["2025-01-01 00:00:00.001+00","2025-01-01 00:00:00.003+00"]'),
             ('["2025-01-01 00:00:00.001+00","2025-01-01 00:00:00.001+00"]'),
             ('("2025-01-01 00:00:00.001+00","2025-01-01 00:00:00.002+00")')) AS ranges(times);

-- Within a millisecond, bounds are rounded down.
SELECT times, snowflake_range(times)
FROM (VALUES (tstzrange '["2025-01-01 00:00:00.0015+00","2025-01-01 00:00:00.0035+00")'),
             ('("2025-01-01 00:00:00.001999+00","2025-01-01 00:00:00.003001+00"]'),
             ('["2025-01-01 00:00:00.001001+00","2025-01-01 00:00:00.001002+00")'),
             ('["2025-01-01 00:00:00.001001+00","2025-01-01 00:00:00.001002+00"]')) AS ranges(times);

-- No bound, infinite ones, and nothing at all.
SELECT times, snowflake_range(times)
FROM (VALUES (tstzrange '(,)'),
             ('(,"2025-01-01 00:00:00.003+00")'),
             ('(,"2025-01-01 00:00:00.003+00"]'),
             ('["2025-01-01 00:00:00.001+00",)'),
             ('("2025-01-01 00:00:00.001+00",)'),
             ('[-infinity,infinity]'),
             ('(-infinity,infinity)'),
             ('[-infinity,"2025-01-01 00:00:00.003+00")'),
             ('(-infinity,"2025-01-01 00:00:00.003+00")'),
             ('["2025-01-01 00:00:00.001+00",infinity)'),
             ('["2025-01-01 00:00:00.001+00",infinity]'),
             ('[-infinity,-infinity]'),
             ('(,-infinity]'),
             ('(,-infinity)'),
             ('[infinity,infinity]'),
             ('[infinity,)'),
             ('(infinity,)'),
             ('empty')) AS ranges(times);
SELECT snowflake_range(NULL);

-- Before the epoch and past the end there are no ids; the largest id is in the last range.
SELECT times, snowflake_range(times)
FROM (VALUES (tstzrange '["4714-11-24 00:00:00+00 BC","0044-03-15 00:00:00+00 BC")'),
             ('["1969-12-31 23:59:59.9995+00","1999-12-31 23:59:59.9995+00"]'),
             ('["2020-01-01 00:00:00+00","2025-01-01 00:00:00+00")'),
             ('["2020-01-01 00:00:00+00","2025-01-01 00:00:00+00"]'),
             ('["2024-12-31 23:59:59.999999+00","2025-01-01 00:00:00.003+00")'),
             ('("2024-12-31 23:59:59.999999+00","2025-01-01 00:00:00.003+00")'),
             ('["2094-09-07 15:47:35.55+00","2094-09-07 15:47:35.551+00")'),
             ('["2094-09-07 15:47:35.551+00","2094-09-07 15:47:35.551+00"]'),
             ('["2094-09-07 15:47:35.551+00","2094-09-07 15:47:35.552+00")'),
             ('["2094-09-07 15:47:35.551+00","294276-12-31 23:59:59.999999+00"]'),
             ('("2094-09-07 15:47:35.551+00",)'),
             ('["2094-09-07 15:47:35.552+00","2095-01-01 00:00:00+00")')) AS ranges(times);
SELECT 9223372036854775807 <@ snowflake_range('["2094-09-07 15:47:35.551+00",)') AS "largest id";

-- Some ids, close to the ends and in between.
CREATE TABLE ids AS
SELECT id, snowflake_timestamp(id) AS ts, id % 5 = 0 OR id < 30000000 OR id > 9223372036840000000 AS edge
FROM (SELECT (ms << 22) + low AS id
      FROM unnest('{0,1,2,3,4,5,100,2199023255550,2199023255551}'::bigint[]) ms,
           unnest('{0,1,4096,4194303}'::bigint[]) low
      UNION ALL
      SELECT n * 92233720368547757 FROM generate_series(1::bigint, 99) n) made;

-- With bounds in whole milliseconds, an id is in the range exactly if its timestamp is.
WITH bounds AS (
    SELECT DISTINCT ts + step AS ts
    FROM ids, unnest('{-1 ms,0,1 ms}'::interval[]) AS step WHERE edge
    UNION ALL
    SELECT unnest('{-infinity,infinity,NULL}'::timestamptz[])
), ranges AS (
    SELECT tstzrange(a.ts, b.ts, kind) AS times
    FROM bounds a JOIN bounds b ON a.ts <= b.ts OR a.ts IS NULL OR b.ts IS NULL,
         unnest('{[),[],(),(]}'::text[]) AS kind
)
SELECT count(*) > 500000 AS "many checked",
       count(*) FILTER (WHERE (id <@ snowflake_range(times)) IS DISTINCT FROM (ts <@ times)) AS wrong
FROM ids, ranges;

-- Ranges that tile the time tile the ids, whatever their bounds: each id is in exactly one.
WITH bounds AS (
    SELECT t, lead(t) OVER (ORDER BY t) AS next
    FROM (SELECT timestamptz '-infinity' AS t
          UNION
          SELECT snowflake_timestamp(n << 22) + (n % 1000) * interval '1 us'
          FROM generate_series(0::bigint, 2199023255551, 3298534884) n
          UNION
          SELECT timestamptz '2025-01-01 00:00:00+00' + n * interval '333 us'
          FROM generate_series(-10, 30) n) times
)
SELECT kind, count(*) AS ids, min(ranges), max(ranges)
FROM (SELECT kind, id, count(*) AS ranges
      FROM unnest('{[),(]}'::text[]) AS kind, ids, bounds
      WHERE id <@ snowflake_range(tstzrange(t, next, kind))
      GROUP BY kind, id) counted
GROUP BY kind ORDER BY kind;

-- The range answers for a table what its bounds answer, and an index serves both.
CREATE TABLE event (id bigint PRIMARY KEY);
INSERT INTO event
SELECT snowflake_make(timestamptz '2025-06-01 00:00:00+00' + n * interval '10 minutes', 7, 0)
FROM generate_series(0, 9999) n;
ANALYZE event;
SELECT count(*) FROM event
WHERE id <@ snowflake_range('["2025-06-10 00:00:00+00","2025-06-11 00:00:00+00")');
SELECT count(*) FROM event
WHERE id >= snowflake_floor('2025-06-10 00:00:00+00')
  AND id < snowflake_floor('2025-06-11 00:00:00+00');
SELECT count(*) FROM event
WHERE snowflake_timestamp(id) >= '2025-06-10 00:00:00+00'
  AND snowflake_timestamp(id) < '2025-06-11 00:00:00+00';
SET enable_bitmapscan = off;
SET enable_indexonlyscan = off;
EXPLAIN (COSTS OFF)
SELECT * FROM event
WHERE id >= snowflake_floor('2025-06-10 00:00:00+00')
  AND id < snowflake_floor('2025-06-11 00:00:00+00');
EXPLAIN (COSTS OFF)
SELECT * FROM event
WHERE id >= lower(snowflake_range('["2025-06-10 00:00:00+00","2025-06-11 00:00:00+00")'))
  AND id < upper(snowflake_range('["2025-06-10 00:00:00+00","2025-06-11 00:00:00+00")'));
DROP TABLE event, ids;
