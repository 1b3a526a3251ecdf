-- Discord's epoch, 2015-01-01. Servers whose setting names it, and says it in other words, agree.
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';
SELECT epoch, used_up_at FROM pg_stat_snowflake;

-- The example of Discord's documentation. (It splits the ten bits into worker 1 and process 0.)
SELECT * FROM snowflake_parts(175928847299117063);
SELECT snowflake_make('2016-04-30 11:18:25.796+00', 32, 7),
       snowflake_floor('2016-04-30 11:18:25.796+00') <= 175928847299117063 AS "floor below",
       snowflake_ceil('2016-04-30 11:18:25.796999+00') >= 175928847299117063 AS "ceil above",
       175928847299117063 <@ snowflake_range('["2016-04-30 11:18:25.796+00","2016-04-30 11:18:25.797+00")')
           AS "in range";

SELECT ts, snowflake_floor(ts), snowflake_ceil(ts)
FROM (VALUES (timestamptz '2014-12-31 23:59:59.999999+00'), ('2015-01-01 00:00:00+00'),
             ('2015-01-01 00:00:00.001999+00'), ('2084-09-06 15:47:35.551+00'),
             ('2084-09-06 15:47:35.552+00')) AS times(ts);
SELECT code, detail FROM error_of($$SELECT snowflake_make('2014-12-31 23:59:59.999999+00', 0, 0)$$);

-- What is generated is of now.
SELECT clock_timestamp() AS before \gset
SELECT snowflake_timestamp(snowflake_next())
       BETWEEN date_trunc('milliseconds', timestamptz :'before') AND clock_timestamp() AS now;
