-- snowflake_make: from the parts to the id. The server has the default layout and epoch.
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';

SELECT ts, machine, sequence, snowflake_make(ts, machine, sequence)
FROM (VALUES (timestamptz '2025-01-01 00:00:00+00', 0, 0),
             ('2025-01-01 00:00:00+00', 0, 4095),
             ('2025-01-01 00:00:00+00', 1, 0),
             ('2025-01-01 00:00:00+00', 1023, 4095),
             ('2025-01-01 00:00:00.001+00', 0, 0),
             ('2025-01-01 00:00:00.001999+00', 0, 0),
             ('2026-11-25 10:40:00.000+00', 7, 1),
             ('2094-09-07 15:47:35.551+00', 1023, 4095),
             ('2094-09-07 15:47:35.551999+00', 1023, 4095)) AS parts(ts, machine, sequence);

-- There and back, with the timestamp rounded down to the millisecond.
SELECT count(*) AS ids,
       bool_and(snowflake_timestamp(id) = date_trunc('milliseconds', ts)) AS timestamps,
       bool_and(snowflake_machine(id) = machine) AS machines,
       bool_and(snowflake_sequence(id) = sequence) AS sequences
FROM (SELECT ts, machine, sequence, snowflake_make(ts, machine, sequence) AS id
      FROM generate_series(timestamptz '2025-01-01 00:00:00.000123+00',
                           '2094-09-01 00:00:00+00', '1 year 11.1217 days') AS ts,
           unnest('{0,1,7,512,1022,1023}'::int[]) AS machine,
           unnest('{0,1,2047,4094,4095}'::int[]) AS sequence) made;

SELECT snowflake_make(NULL, 0, 0), snowflake_make(now(), NULL, 0), snowflake_make(now(), 0, NULL);

-- Each part has its range.
\x on
SELECT machine, sequence, e.*
FROM (VALUES (-1, 0), (1024, 0), (-2147483648, 0), (2147483647, 0),
             (0, -1), (0, 4096), (0, -2147483648), (0, 2147483647), (1024, 4096))
         AS parts(machine, sequence),
     error_of(format('SELECT snowflake_make(''2026-01-01 00:00:00+00'', %s, %s)',
                     machine, sequence)) AS e;
SELECT ts, e.*
FROM unnest('{-infinity,4714-11-24 00:00:00+00 BC,2024-12-31 23:59:59.999999+00,
              2094-09-07 15:47:35.552+00,294276-12-31 23:59:59.999999+00,infinity}'::timestamptz[]) AS ts,
     error_of(format('SELECT snowflake_make(%L, 0, 0)', ts)) AS e;
\x off
