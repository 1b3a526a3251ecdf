-- Twitter's epoch, 2010-11-04 01:42:54.657. Servers whose setting names it, and says it in
-- milliseconds, agree.
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';
SELECT epoch, used_up_at FROM pg_stat_snowflake;

-- A tweet of June 2022.
SELECT * FROM snowflake_parts(1541815603606036480);
SELECT snowflake_make('2022-06-28 16:07:40.105+00', 378, 0),
       snowflake_floor('2022-06-28 16:07:40.105+00') <= 1541815603606036480 AS "floor below",
       snowflake_ceil('2022-06-28 16:07:40.105999+00') >= 1541815603606036480 AS "ceil above",
       1541815603606036480 <@ snowflake_range('["2022-06-28 16:07:40.105+00","2022-06-28 16:07:40.106+00")')
           AS "in range";

-- This epoch is not a whole second; bounds are whole milliseconds all the same.
SELECT ts, snowflake_floor(ts), snowflake_ceil(ts)
FROM (VALUES (timestamptz '2010-11-04 01:42:54.656999+00'), ('2010-11-04 01:42:54.657+00'),
             ('2010-11-04 01:42:54.657999+00'), ('2010-11-04 01:42:54.658+00'),
             ('2010-11-04 01:42:55+00'), ('2080-07-10 17:30:30.208+00'),
             ('2080-07-10 17:30:30.209+00')) AS times(ts);

-- What is generated is of now.
SELECT clock_timestamp() AS before \gset
SELECT snowflake_timestamp(snowflake_next())
       BETWEEN date_trunc('milliseconds', timestamptz :'before') AND clock_timestamp() AS now;
