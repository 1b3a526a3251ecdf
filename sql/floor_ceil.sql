-- snowflake_floor and snowflake_ceil: the ids that bound a millisecond. The server has the default
-- epoch, so a millisecond after 2025-01-01 00:00:00+00 is 4194304 ids.
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';

SELECT ts, snowflake_floor(ts), snowflake_ceil(ts)
FROM (VALUES (timestamptz '-infinity'),
             ('4714-11-24 00:00:00+00 BC'), -- the smallest timestamptz
             ('0044-03-15 12:00:00.0005+00 BC'),
             ('1969-12-31 23:59:59.999999+00'),
             ('1970-01-01 00:00:00+00'),
             ('1999-12-31 23:59:59.999999+00'),
             ('2000-01-01 00:00:00+00'),
             ('2024-12-31 23:59:59.999+00'),
             ('2024-12-31 23:59:59.999001+00'),
             ('2024-12-31 23:59:59.999999+00'),
             ('2025-01-01 00:00:00+00'),
             ('2025-01-01 00:00:00.000001+00'),
             ('2025-01-01 00:00:00.000999+00'),
             ('2025-01-01 00:00:00.001+00'),
             ('2025-01-01 00:00:00.0015+00'),
             ('2026-11-25 10:40:00+00'),
             ('2094-09-07 15:47:35.550999+00'),
             ('2094-09-07 15:47:35.551+00'), -- the last millisecond of the 41 bits
             ('2094-09-07 15:47:35.551999+00'),
             ('2094-09-07 15:47:35.552+00'),
             ('294276-12-31 23:59:59.999999+00'), -- the largest timestamptz
             ('infinity')) AS times(ts)
ORDER BY ts;

SELECT snowflake_floor(NULL), snowflake_ceil(NULL);

-- Every id lies between the bounds of its own timestamp.
SELECT count(*) AS ids,
       bool_and(snowflake_floor(snowflake_timestamp(id)) <= id) AS "floor below",
       bool_and(id <= snowflake_ceil(snowflake_timestamp(id))) AS "ceil above"
FROM (SELECT n * 922337203685477 AS id FROM generate_series(0::bigint, 10000) n
      UNION ALL
      SELECT (n << 22) + low FROM generate_series(0::bigint, 2199023255551, 21990232551) n,
                                  unnest('{0,1,4095,4096,4194302,4194303}'::bigint[]) low
      UNION ALL
      SELECT unnest('{0,1,4194303,4194304,9223372036854775806,9223372036854775807}'::bigint[])) ids;

-- So does every one that is generated, above the floor: that one is never generated, so > and >=
-- select the same rows.
SELECT bool_and(id > snowflake_floor(snowflake_timestamp(id))) AS "floor below",
       bool_and(id <= snowflake_ceil(snowflake_timestamp(id))) AS "ceil above"
FROM snowflake_next(10000) AS id;

-- The bounds of a time are those of its millisecond, and the next millisecond follows at once.
SELECT count(*) AS times,
       bool_and(snowflake_timestamp(snowflake_floor(t)) = date_trunc('milliseconds', t)) AS floors,
       bool_and(snowflake_timestamp(snowflake_ceil(t)) = date_trunc('milliseconds', t)) AS ceils,
       bool_and(snowflake_ceil(t) + 1 = snowflake_floor(t + interval '1 millisecond')) AS adjacent
FROM generate_series(timestamptz '2025-01-01 00:00:00.000001+00', '2094-09-01 00:00:00+00',
                     '5 days 01:02:03.456789') AS t;

-- The session's time zone changes no bound.
CREATE TABLE bounds AS
SELECT t, snowflake_floor(t) AS lower, snowflake_ceil(t) AS upper
FROM generate_series(timestamptz '2024-12-31 00:00:00+00', '2026-01-02 00:00:00+00',
                     '1 hour') AS t;
CREATE FUNCTION same_bounds() RETURNS boolean LANGUAGE sql AS
$$ SELECT bool_and(snowflake_floor(t) = lower AND snowflake_ceil(t) = upper) FROM bounds $$;
SELECT same_bounds(), snowflake_floor('2025-06-01 00:00:00+00');
SET TimeZone = 'America/New_York';
SELECT same_bounds(), snowflake_floor('2025-06-01 00:00:00+00');
SET TimeZone = 'Asia/Kolkata';
SELECT same_bounds(), snowflake_floor('2025-06-01 00:00:00+00');
SET TimeZone = 'Pacific/Kiritimati';
SELECT same_bounds(), snowflake_floor('2025-06-01 00:00:00+00');
DROP FUNCTION same_bounds;
DROP TABLE bounds;
