-- From an id to its parts: snowflake_timestamp, snowflake_machine, snowflake_sequence, snowflake_parts.
-- The server has the default layout and epoch.
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';

SELECT id, snowflake_timestamp(id), snowflake_machine(id) AS machine,
       snowflake_sequence(id) AS sequence
FROM (VALUES (0), (1), (4095), (4096), (4194303), (4194304), (8388607),
             (1::bigint << 32), (251658240000028672),
             (9223372036854775806), (9223372036854775807)) AS ids(id)
ORDER BY id;

SELECT (snowflake_parts(251658240000028673)).*;
SELECT * FROM snowflake_parts(9223372036854775807);

-- snowflake_parts answers what the others answer, and snowflake_make undoes it.
SELECT count(*) AS ids,
       bool_and(parts."timestamp" = snowflake_timestamp(id)) AS timestamps,
       bool_and(parts.machine = snowflake_machine(id)) AS machines,
       bool_and(parts.sequence = snowflake_sequence(id)) AS sequences,
       bool_and(snowflake_make(parts."timestamp", parts.machine, parts.sequence) = id) AS round_trip
FROM (SELECT n * 922337203685477 AS id FROM generate_series(0::bigint, 10000) n) ids,
     snowflake_parts(id) AS parts;

-- Without an id there are no parts.
SELECT snowflake_timestamp(NULL), snowflake_machine(NULL), snowflake_sequence(NULL),
       snowflake_parts(NULL);
SELECT * FROM snowflake_parts(NULL);

-- A negative number is no id.
\x on
SELECT function, e.*
FROM unnest('{timestamp,machine,sequence,parts}'::text[]) AS function,
     error_of(format('SELECT snowflake_%s(-1)', function)) AS e;
SELECT * FROM error_of('SELECT snowflake_timestamp(-9223372036854775808)');
\x off

-- The session's time zone decides how a timestamp looks, not which one it is.
CREATE TABLE seen AS SELECT snowflake_timestamp(251658240000028672) AS ts;
SET TimeZone = 'Asia/Kolkata';
SELECT snowflake_timestamp(251658240000028672) AS here,
       snowflake_timestamp(251658240000028672) = ts AS same FROM seen;
DROP TABLE seen;
