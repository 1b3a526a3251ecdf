-- snowflake_within answers as snowflake_timestamp(id) <@ times does: 200,000 ids and ranges, the same
-- in each run. For any epoch and layout.

SET TimeZone = 'UTC';
SET DateStyle = 'ISO';

-- From 0 to below `most`, for each n and each kind of number another one.
CREATE FUNCTION pick(n bigint, kind int, most bigint) RETURNS bigint IMMUTABLE LANGUAGE sql AS
$$ SELECT (hashint8extended(n, kind) & 9223372036854775807) % most $$;

-- What the planner cannot see through: it keeps snowflake_within as it is.
CREATE FUNCTION opaque(id bigint) RETURNS bigint VOLATILE LANGUAGE plpgsql AS
$$ BEGIN RETURN id; END $$;

-- Ids from anywhere, of the first milliseconds, of the last ones, and around two years.
CREATE TABLE ids AS
SELECT n, id, snowflake_timestamp(id) AS ts
FROM (SELECT n, CASE n % 4
                    WHEN 0 THEN pick(n, 1, 9223372036854775807) + pick(n, 2, 2)
                    WHEN 1 THEN (pick(n, 1, 4) << 22) + pick(n, 2, 4194304)
                    WHEN 2 THEN 9223372036854775807 - (pick(n, 1, 4) << 22) - pick(n, 2, 4194304)
                    ELSE ((63072000000 + pick(n, 1, 1000)) << 22) + pick(n, 2, 4194304)
                END AS id
      FROM generate_series(1::bigint, 200000) n) made;

-- A bound near a time: at it, within the milliseconds around it, a whole number of milliseconds or up
-- to 12 days away, far before the epoch, infinite, or none.
CREATE FUNCTION bound_near(ts timestamptz, n bigint, kind int) RETURNS timestamptz
STABLE LANGUAGE sql AS $$
    SELECT CASE pick(n, kind, 16)
               WHEN 0 THEN NULL
               WHEN 1 THEN timestamptz '-infinity'
               WHEN 2 THEN timestamptz 'infinity'
               WHEN 3 THEN timestamptz '0044-03-15 12:00:00.0005+00 BC'
               WHEN 4 THEN ts
               WHEN 5 THEN ts
               WHEN 6 THEN ts + (pick(n, kind + 1, 9) - 4) * interval '1 ms'
               WHEN 7 THEN ts + (pick(n, kind + 1, 9) - 4) * interval '1 ms'
               WHEN 8 THEN ts + (pick(n, kind + 1, 2000000000) - 1000000000) * interval '1 ms'
               WHEN 9 THEN ts + (pick(n, kind + 1, 2000000000000) - 1000000000000) * interval '1 us'
               ELSE ts + (pick(n, kind + 1, 6001) - 3000) * interval '1 us'
           END
$$;
CREATE TABLE pairs AS
SELECT id, ts, a, b,
       CASE WHEN pick(n, 5, 100) = 0 THEN tstzrange 'empty'
            WHEN a > b THEN tstzrange(b, a, kind)
            ELSE tstzrange(a, b, kind)
       END AS times
FROM (SELECT id, ts, n, bound_near(ts, n, 10) AS a, bound_near(ts, n, 20) AS b,
             ('{[),[],(),(]}'::text[])[1 + pick(n, 3, 4)] AS kind
      FROM ids OFFSET 0) bounds; -- computed once

-- Each kind is there, in and out.
SELECT count(*), count(*) FILTER (WHERE ts <@ times) > 40000 AS "many in",
       count(*) FILTER (WHERE NOT ts <@ times) > 40000 AS "many out",
       count(*) FILTER (WHERE isempty(times)) > 1000 AS empty,
       count(*) FILTER (WHERE lower_inf(times)) > 5000 AS "no lower",
       count(*) FILTER (WHERE upper_inf(times)) > 5000 AS "no upper",
       count(*) FILTER (WHERE NOT isfinite(lower(times)) OR NOT isfinite(upper(times))) > 10000 AS infinite,
       count(*) FILTER (WHERE upper(times) < (SELECT epoch FROM pg_stat_snowflake)
                          AND isfinite(upper(times))) > 1000 AS "before the epoch",
       count(*) FILTER (WHERE date_trunc('milliseconds', lower(times)) <> lower(times)) > 10000 AS microseconds,
       count(*) FILTER (WHERE ts = lower(times) AND lower_inc(times)) > 5000 AS "at lower, in",
       count(*) FILTER (WHERE ts = lower(times) AND NOT lower_inc(times)) > 5000 AS "at lower, out",
       count(*) FILTER (WHERE ts = upper(times) AND upper_inc(times)) > 5000 AS "at upper, in",
       count(*) FILTER (WHERE ts = upper(times) AND NOT upper_inc(times)) > 5000 AS "at upper, out",
       count(*) FILTER (WHERE a > b) > 10000 AS "the wrong way round"
FROM pairs;

-- Rewritten, and not.
EXPLAIN (VERBOSE, COSTS OFF)
SELECT snowflake_within(id, times), snowflake_within(opaque(id), times) FROM pairs;
SELECT count(*) AS pairs,
       count(*) FILTER (WHERE snowflake_within(id, times) IS DISTINCT FROM (ts <@ times)) AS wrong,
       count(*) FILTER (WHERE snowflake_within(opaque(id), times) IS DISTINCT FROM (ts <@ times)) AS "wrong, not rewritten",
       count(*) FILTER (WHERE (id BETWEEN snowflake_first(times) AND snowflake_last(times))
                              IS DISTINCT FROM (ts <@ times)) AS "wrong ends"
FROM pairs;
SELECT count(*) AS pairs,
       count(*) FILTER (WHERE snowflake_within(-id - 1, times) IS DISTINCT FROM false) AS wrong,
       count(*) FILTER (WHERE snowflake_within(opaque(-id - 1), times) IS DISTINCT FROM false) AS "wrong, not rewritten"
FROM pairs WHERE times IS NOT NULL;

-- The same for two times.
WITH expected AS (
    SELECT *, (a IS NULL OR ts >= a) AND (b IS NULL OR ts < b) AS inside FROM pairs
)
SELECT count(*) AS pairs, count(*) FILTER (WHERE inside) > 20000 AS "many in",
       count(*) FILTER (WHERE snowflake_within(id, a, b) IS DISTINCT FROM inside) AS wrong,
       count(*) FILTER (WHERE snowflake_within(opaque(id), a, b) IS DISTINCT FROM inside) AS "wrong, not rewritten",
       count(*) FILTER (WHERE (id BETWEEN snowflake_first(a, b) AND snowflake_last(a, b))
                              IS DISTINCT FROM inside) AS "wrong ends"
FROM expected;

-- With constants, which the planner computes, over an index.
CREATE TABLE chosen AS SELECT DISTINCT id, ts FROM ids WHERE n % 101 = 0;
CREATE UNIQUE INDEX ON chosen (id);
ANALYZE chosen;
CREATE FUNCTION count_wrong(OUT ranges int, OUT wrong int) LANGUAGE plpgsql AS $$
DECLARE
    pair record;
    counted int;
BEGIN
    ranges := 0;
    wrong := 0;
    FOR pair IN SELECT times, a, b
                FROM (SELECT *, row_number() OVER (ORDER BY id, times, a, b) AS number FROM pairs) p
                WHERE number % 400 = 0
    LOOP
        ranges := ranges + 2;
        EXECUTE format('SELECT count(*) FROM chosen WHERE snowflake_within(id, %L)', pair.times) INTO counted;
        wrong := wrong + (counted <> (SELECT count(*) FROM chosen WHERE ts <@ pair.times))::int;
        EXECUTE format('SELECT count(*) FROM chosen WHERE snowflake_within(id, %L, %L)', pair.a, pair.b) INTO counted;
        wrong := wrong + (counted <> (SELECT count(*) FROM chosen
                                      WHERE (pair.a IS NULL OR ts >= pair.a) AND (pair.b IS NULL OR ts < pair.b)))::int;
    END LOOP;
END $$;
SELECT * FROM count_wrong();
DROP TABLE ids, pairs, chosen;
DROP FUNCTION count_wrong, bound_near, opaque, pick;
