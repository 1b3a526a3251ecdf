-- snowflake_within: whether the timestamp of an id is in a range of time, exactly as
-- snowflake_timestamp(id) <@ times; snowflake_first and snowflake_last, its ends. The server has the
-- default epoch, so a millisecond after 2025-01-01 00:00:00+00 is 4194304 ids.
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';

-- What the planner cannot see through: it keeps snowflake_within as it is.
CREATE FUNCTION opaque(id bigint) RETURNS bigint VOLATILE LANGUAGE plpgsql AS
$$ BEGIN RETURN id; END $$;

-- Some ids around the milliseconds 0 to 4, and the largest one.
CREATE TABLE ids AS
SELECT id FROM unnest('{0,1,4194303,4194304,8388607,8388608,12582911,12582912,16777215,16777216,
                        20971519,9223372036850581504,9223372036854775807}'::bigint[]) AS id;

-- The ids in a range, and both answers of snowflake_within about them, which have to be the same as
-- that of <@: where the planner turns it into comparisons, and where it cannot.
CREATE FUNCTION ids_in(times tstzrange,
                       OUT first bigint, OUT last bigint, OUT ids int, OUT right_ones int)
LANGUAGE sql AS $$
    SELECT snowflake_first(times), snowflake_last(times),
           count(*) FILTER (WHERE snowflake_within(id, times)),
           count(*) FILTER (WHERE snowflake_within(id, times) = (snowflake_timestamp(id) <@ times)
                              AND snowflake_within(opaque(id), times) = (snowflake_timestamp(id) <@ times)
                              AND (id BETWEEN snowflake_first(times) AND snowflake_last(times))
                                  = (snowflake_timestamp(id) <@ times))
    FROM ids
$$;

-- Each kind of bound, at the milliseconds 1 and 3; and within a millisecond.
SELECT times, i.*
FROM (VALUES (tstzrange '["2025-01-01 00:00:00.001+00","2025-01-01 00:00:00.003+00")'),
             ('("2025-01-01 00:00:00.001+00","2025-01-01 00:00:00.003+00")'),
             ('("2025-01-01 00:00:00.001+00","2025-01-01 00:00:00.003+00"]'),
             ('["2025-01-01 00:00:00.001+00","2025-01-01 00:00:00.003+00"]'),
             ('["2025-01-01 00:00:00.001+00","2025-01-01 00:00:00.001+00"]'),
             ('("2025-01-01 00:00:00.001+00","2025-01-01 00:00:00.002+00")'),
             ('["2025-01-01 00:00:00.000001+00","2025-01-01 00:00:00.003001+00")'),
             ('("2025-01-01 00:00:00.000999+00","2025-01-01 00:00:00.002999+00"]'),
             ('["2025-01-01 00:00:00.001001+00","2025-01-01 00:00:00.001999+00"]')) AS ranges(times),
     ids_in(times) AS i;

-- No bound, infinite ones, and nothing at all.
SELECT times, i.*
FROM (VALUES (tstzrange '(,)'),
             ('(,"2025-01-01 00:00:00.003+00")'),
             ('(,"2025-01-01 00:00:00.003+00"]'),
             ('["2025-01-01 00:00:00.001+00",)'),
             ('("2025-01-01 00:00:00.001+00",)'),
             ('[-infinity,infinity]'),
             ('(-infinity,infinity)'),
             ('["2025-01-01 00:00:00.001+00",infinity)'),
             ('["2025-01-01 00:00:00.001+00",infinity]'),
             ('[-infinity,-infinity]'),
             ('(,-infinity]'),
             ('(,-infinity)'),
             ('[infinity,infinity]'),
             ('[infinity,)'),
             ('(infinity,)'),
             ('empty')) AS ranges(times),
     ids_in(times) AS i;

-- Before the epoch and past the end there are no ids; the largest id is in the last range.
SELECT times, i.*
FROM (VALUES (tstzrange '["4714-11-24 00:00:00+00 BC","0044-03-15 00:00:00+00 BC")'),
             ('["1969-12-31 23:59:59.9995+00","1999-12-31 23:59:59.9995+00"]'),
             ('["2020-01-01 00:00:00+00","2025-01-01 00:00:00+00")'),
             ('["2020-01-01 00:00:00+00","2025-01-01 00:00:00+00"]'),
             ('("2024-12-31 23:59:59.999999+00","2025-01-01 00:00:00.000001+00")'),
             ('["2094-09-07 15:47:35.551+00","2094-09-07 15:47:35.551+00"]'),
             ('["2094-09-07 15:47:35.551+00","2094-09-07 15:47:35.552+00")'),
             ('["2094-09-07 15:47:35.551+00","294276-12-31 23:59:59.999999+00"]'),
             ('("2094-09-07 15:47:35.551+00",)'),
             ('["2094-09-07 15:47:35.551001+00",)'),
             ('["2094-09-07 15:47:35.552+00","2095-01-01 00:00:00+00")')) AS ranges(times),
     ids_in(times) AS i;

-- From a time on and before another: half open, and NULL and infinity are no bound. A span that ends
-- before it begins holds nothing, and is no error.
SELECT "from", "to", snowflake_first("from", "to"), snowflake_last("from", "to"),
       count(*) FILTER (WHERE snowflake_within(id, "from", "to")) AS ids,
       count(*) FILTER (WHERE snowflake_within(opaque(id), "from", "to")) AS "not rewritten"
FROM ids,
     (VALUES (timestamptz '2025-01-01 00:00:00.001+00', timestamptz '2025-01-01 00:00:00.003+00'),
             ('2025-01-01 00:00:00.000001+00', '2025-01-01 00:00:00.003001+00'),
             ('2025-01-01 00:00:00.001+00', '2025-01-01 00:00:00.001+00'),
             ('2025-01-01 00:00:00.003+00', '2025-01-01 00:00:00.001+00'),
             ('2025-01-01 00:00:00.003+00', NULL), (NULL, '2025-01-01 00:00:00.003+00'),
             ('2025-01-01 00:00:00.003+00', 'infinity'), ('-infinity', '2025-01-01 00:00:00.003+00'),
             (NULL, NULL), ('-infinity', 'infinity'), ('infinity', NULL), ('infinity', 'infinity'),
             (NULL, '-infinity'), ('-infinity', '-infinity'), ('infinity', '-infinity'),
             ('1999-12-31 00:00:00+00', '2025-01-01 00:00:00+00'),
             ('2094-09-07 15:47:35.551+00', '2094-09-07 15:47:35.552+00'),
             ('2094-09-07 15:47:35.551001+00', NULL)) AS spans("from", "to")
GROUP BY "from", "to" ORDER BY "from" NULLS FIRST, "to" NULLS FIRST;

-- A negative number is no id, and in no range; NULL is unknown. The planner changes nothing about it.
SELECT times, snowflake_within(-1, times), snowflake_within(opaque(-1), times),
       snowflake_within('-9223372036854775808', times) AS smallest,
       snowflake_within(NULL, times), snowflake_within(opaque(NULL), times)
FROM (VALUES (tstzrange '(,)'), ('["2024-12-31 00:00:00+00","2025-01-02 00:00:00+00")'),
             ('[infinity,]'), ('empty'), (NULL)) AS ranges(times);
SELECT "from", "to", snowflake_within(-1, "from", "to"), snowflake_within(opaque(-1), "from", "to"),
       snowflake_within(NULL, "from", "to"), snowflake_within(opaque(NULL), "from", "to")
FROM (VALUES (NULL::timestamptz, NULL::timestamptz), ('2024-12-31 00:00:00+00', NULL),
             (NULL, '2025-01-02 00:00:00+00'), ('infinity', NULL)) AS spans("from", "to");
SELECT snowflake_within(NULL, NULL), snowflake_within(5, NULL), snowflake_within(NULL, '(,)'),
       snowflake_first(NULL), snowflake_last(NULL),
       snowflake_within(NULL, NULL, NULL), snowflake_within(5, NULL, NULL),
       snowflake_first(NULL, NULL), snowflake_last(NULL, NULL);

-- Literals and names.
SELECT snowflake_within(12582912, '["2025-01-01 00:00:00.003+00","2025-01-01 00:00:00.004+00")'),
       snowflake_within('12582912', '2025-01-01 00:00:00.003+00', '2025-01-01 00:00:00.004+00'),
       snowflake_within(id => 12582912, times => '[2025-01-01,2025-01-02)'),
       snowflake_within(12582912, "to" => '2025-01-02', "from" => '2025-01-01'),
       snowflake_first(times => '[2025-01-01,2025-01-02)'), snowflake_last('2025-01-01', '2025-01-02');

-- The session's time zone decides what a literal without an offset means, and nothing else.
SET TimeZone = 'Asia/Kolkata';
SELECT count(*) FILTER (WHERE snowflake_within(id, '[2025-01-01 05:30,2025-01-01 05:30:00.003)')) AS here,
       count(*) FILTER (WHERE snowflake_within(id, '2025-01-01 00:00+00', '2025-01-01 00:00:00.003+00')) AS there
FROM ids;

-- It can be in a CHECK. NULL passes, as it does everywhere.
CREATE TABLE january (id bigint CHECK (snowflake_within(id, '2025-01-01 00:00+00', '2025-02-01 00:00+00')));
INSERT INTO january VALUES (0), (snowflake_floor('2025-02-01 00:00+00') - 1), (NULL);
SELECT code, message FROM error_of($$INSERT INTO january VALUES (snowflake_floor('2025-02-01 00:00+00'))$$);
SELECT code, message FROM error_of('INSERT INTO january VALUES (-1)');
DROP TABLE january, ids;
DROP FUNCTION ids_in;
DROP FUNCTION opaque;
