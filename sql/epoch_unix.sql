-- 1970 as the epoch: PostgreSQL's timestamps are negative before 2000, and rounded down there too.
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';
SELECT epoch, used_up_at FROM pg_stat_snowflake;

SELECT ts, snowflake_floor(ts) >> 22 AS ms, snowflake_timestamp(snowflake_floor(ts)) AS floor,
       snowflake_ceil(ts) - snowflake_floor(ts) AS span
FROM (VALUES (timestamptz '1970-01-01 00:00:00+00'), ('1970-01-01 00:00:00.000001+00'),
             ('1970-01-01 00:00:00.000999+00'), ('1970-01-01 00:00:00.001+00'),
             ('1999-12-31 23:59:59.998999+00'), ('1999-12-31 23:59:59.999+00'),
             ('1999-12-31 23:59:59.999001+00'), ('1999-12-31 23:59:59.999999+00'),
             ('2000-01-01 00:00:00+00'), ('2000-01-01 00:00:00.000999+00'),
             ('2000-01-01 00:00:00.001+00')) AS times(ts);
SELECT ts, snowflake_floor(ts), snowflake_ceil(ts)
FROM (VALUES (timestamptz '-infinity'), ('4714-11-24 00:00:00+00 BC'),
             ('0044-03-15 12:00:00.0005+00 BC'), ('1969-12-31 23:59:59.998999+00'),
             ('1969-12-31 23:59:59.999999+00'), ('1970-01-01 00:00:00+00'),
             ('2039-09-07 15:47:35.551999+00'), ('2039-09-07 15:47:35.552+00'),
             ('294276-12-31 23:59:59.999999+00'), ('infinity')) AS times(ts);
SELECT times, snowflake_range(times)
FROM (VALUES (tstzrange '["1969-12-31 23:59:59.9995+00","1970-01-01 00:00:00.0015+00")'),
             ('("1969-12-31 23:59:59.998+00","1970-01-01 00:00:00.0015+00"]'),
             ('["1999-12-31 23:59:59.9985+00","1999-12-31 23:59:59.9995+00")'),
             ('("1999-12-31 23:59:59.9985+00","1999-12-31 23:59:59.9995+00"]'),
             ('["1999-12-31 23:59:59.9995+00","2000-01-01 00:00:00.0005+00")')) AS ranges(times);

-- On both sides of 2000: what the bounds of a time are, and that they follow one another.
SELECT count(*) AS times,
       bool_and(snowflake_timestamp(snowflake_floor(t)) = date_trunc('milliseconds', t)) AS floors,
       bool_and(snowflake_timestamp(snowflake_ceil(t)) = date_trunc('milliseconds', t)) AS ceils,
       bool_and(snowflake_ceil(t) + 1 = snowflake_floor(t + interval '1 millisecond')) AS adjacent,
       bool_and(snowflake_timestamp(snowflake_make(t, 5, 9)) = date_trunc('milliseconds', t)) AS made
FROM (SELECT generate_series(timestamptz '1970-01-01 00:00:00.000001+00', '2039-09-01 00:00:00+00',
                             '5 days 01:02:03.456789') AS t
      UNION ALL
      SELECT generate_series(timestamptz '1999-12-31 23:59:59.99+00', '2000-01-01 00:00:00.01+00',
                             '00:00:00.000037')) AS times;
SELECT count(*) AS ids,
       bool_and(id BETWEEN snowflake_floor(snowflake_timestamp(id))
                       AND snowflake_ceil(snowflake_timestamp(id))) AS between_bounds
FROM (SELECT n * 922337203685477 AS id FROM generate_series(0::bigint, 10000) n) ids;

-- What is generated is of now.
SELECT clock_timestamp() AS before \gset
SELECT snowflake_timestamp(snowflake_next())
       BETWEEN date_trunc('milliseconds', timestamptz :'before') AND clock_timestamp() AS now;
