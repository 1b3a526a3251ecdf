-- pgEdge's epoch, 2023-01-01.
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';
SELECT epoch, used_up_at FROM pg_stat_snowflake;
SELECT snowflake_floor('2022-12-31 23:59:59.999999+00'), snowflake_ceil('2022-12-31 23:59:59.999999+00'),
       snowflake_floor('2023-01-01 00:00:00.001+00'), snowflake_timestamp(0);
SELECT clock_timestamp() AS before \gset
SELECT snowflake_timestamp(snowflake_next())
       BETWEEN date_trunc('milliseconds', timestamptz :'before') AND clock_timestamp() AS now;
