-- What the planner makes of snowflake_within: comparisons of the column with bounds, as if they had
-- been written that way.
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';
SET max_parallel_workers_per_gather = 0;

CREATE TABLE event (id bigint PRIMARY KEY, payload text);
INSERT INTO event
SELECT snowflake_make(timestamptz '2025-01-01 00:00:00+00' + n * interval '1 minute', 7, 0), 'payload'
FROM generate_series(0, 49999) n;
CREATE TABLE period (name text, "from" timestamptz, "to" timestamptz);
INSERT INTO period VALUES ('first', '2025-01-05 00:00+00', '2025-01-05 01:00+00'),
                          ('second', '2025-01-06 00:00+00', '2025-01-06 00:30+00');
VACUUM ANALYZE event, period;

-- As now() is: the same in a statement, and unknown to the planner.
CREATE FUNCTION moment() RETURNS timestamptz STABLE LANGUAGE plpgsql AS
$$ BEGIN RETURN '2025-01-05 02:00+00'; END $$;

-- What takes long.
CREATE FUNCTION costly(ts timestamptz) RETURNS timestamptz IMMUTABLE LANGUAGE plpgsql COST 1000 AS
$$ BEGIN RETURN ts; END $$;
CREATE FUNCTION costly(id bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql COST 1000 AS
$$ BEGIN RETURN id; END $$;

-- Constants and literals: an index-only scan if nothing but the id is needed.
EXPLAIN (COSTS OFF)
SELECT * FROM event WHERE snowflake_within(id, '[2025-01-05 00:00+00,2025-01-05 01:00+00)');
EXPLAIN (COSTS OFF)
SELECT * FROM event WHERE snowflake_within(id, '2025-01-05 00:00+00', '2025-01-05 01:00+00');
EXPLAIN (COSTS OFF)
SELECT id FROM event WHERE snowflake_within(id, tstzrange('2025-01-05 00:00+00', '2025-01-05 01:00+00', '(]'));
SELECT count(*) FROM event WHERE snowflake_within(id, '[2025-01-05 00:00+00,2025-01-05 01:00+00)');

-- An end that is open costs no comparison.
EXPLAIN (COSTS OFF) SELECT * FROM event WHERE snowflake_within(id, '[2025-02-04 17:00+00,)');
EXPLAIN (COSTS OFF) SELECT * FROM event WHERE snowflake_within(id, '2025-02-04 17:00+00', NULL);
EXPLAIN (COSTS OFF) SELECT * FROM event WHERE snowflake_within(id, '2025-02-04 17:00+00', 'infinity');
EXPLAIN (COSTS OFF) SELECT * FROM event WHERE snowflake_within(id, NULL, '2025-01-01 01:00+00');
EXPLAIN (COSTS OFF) SELECT * FROM event WHERE snowflake_within(id, '(,)');
EXPLAIN (COSTS OFF) SELECT * FROM event WHERE snowflake_within(id, 'empty');
EXPLAIN (COSTS OFF) SELECT * FROM event WHERE snowflake_within(id, '[infinity,)');
EXPLAIN (COSTS OFF) SELECT * FROM event WHERE snowflake_within(id, NULL);

-- Times that are known when the plan runs.
EXPLAIN (COSTS OFF)
SELECT * FROM event WHERE snowflake_within(id, now() - interval '1 hour', now());
EXPLAIN (COSTS OFF)
SELECT * FROM event WHERE snowflake_within(id, tstzrange(now() - interval '1 hour', NULL));
SELECT count(*) FROM event WHERE snowflake_within(id, moment() - interval '1 hour', moment());
SELECT count(*) FROM event WHERE snowflake_within(id, tstzrange(moment() - interval '1 hour', moment(), '[]'));

-- Parameters, in plans for the values and in generic ones.
PREPARE in_range AS SELECT count(payload) FROM event WHERE snowflake_within(id, $1);
PREPARE from_to AS SELECT count(payload) FROM event WHERE snowflake_within(id, $1, $2);
SELECT name, parameter_types FROM pg_prepared_statements WHERE name IN ('in_range', 'from_to') ORDER BY name;
SET plan_cache_mode = force_custom_plan;
EXPLAIN (COSTS OFF) EXECUTE in_range('[2025-01-05 00:00+00,2025-01-05 01:00+00]');
EXPLAIN (COSTS OFF) EXECUTE from_to('2025-02-04 17:00+00', NULL);
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE in_range('[2025-01-05 00:00+00,2025-01-05 01:00+00]');
EXPLAIN (COSTS OFF) EXECUTE from_to('2025-02-04 17:00+00', NULL);
EXECUTE in_range('[2025-01-05 00:00+00,2025-01-05 01:00+00]');
EXECUTE in_range('empty');
EXECUTE in_range(NULL);
EXECUTE from_to('2025-02-04 17:00+00', NULL);
EXECUTE from_to('2025-01-05 00:00+00', '2025-01-05 01:00+00');
EXECUTE from_to(NULL, '2025-01-05 01:00+00');
EXECUTE from_to(NULL, NULL);

-- A plan is made again when the function is replaced, even if only an inlined function calls it.
CREATE FUNCTION is_of_the_fifth(id bigint) RETURNS boolean IMMUTABLE LANGUAGE sql AS
$$ SELECT snowflake_within(id, '[2025-01-05 00:00+00,2025-01-06 00:00+00)') $$;
PREPARE of_the_fifth AS SELECT count(payload) FROM event WHERE is_of_the_fifth(id);
EXPLAIN (COSTS OFF) EXECUTE of_the_fifth;
EXECUTE of_the_fifth;
BEGIN;
CREATE OR REPLACE FUNCTION snowflake_within(id bigint, times tstzrange) RETURNS boolean
IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN id IS NULL; END $$;
EXECUTE in_range('[2025-01-05 00:00+00,2025-01-05 01:00+00]');
EXECUTE of_the_fifth;
ROLLBACK;
EXECUTE of_the_fifth;
EXECUTE in_range('[2025-01-05 00:00+00,2025-01-05 01:00+00]');
RESET plan_cache_mode;

-- A table of periods: for each an index scan.
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF)
SELECT name, payload FROM period p JOIN event ON snowflake_within(id, tstzrange(p."from", p."to"));
EXPLAIN (COSTS OFF)
SELECT name, payload FROM period p JOIN event ON snowflake_within(id, p."from", p."to");
EXPLAIN (COSTS OFF)
SELECT name, id FROM period p,
    LATERAL (SELECT id FROM event WHERE snowflake_within(id, p."from", p."to") ORDER BY id DESC LIMIT 1) newest;
RESET enable_bitmapscan;
SELECT name, count(*) FROM period p JOIN event ON snowflake_within(id, tstzrange(p."from", p."to"))
GROUP BY name ORDER BY name;
SELECT name, count(*) FROM period p JOIN event ON snowflake_within(id, p."from", p."to")
GROUP BY name ORDER BY name;
SELECT name, count(payload) FROM period p LEFT JOIN event
    ON snowflake_within(id, p."from", p."to") AND p.name = 'first'
GROUP BY name ORDER BY name;

-- Among other conditions.
EXPLAIN (COSTS OFF)
SELECT * FROM event
WHERE NOT snowflake_within(id, '2025-01-01 00:30+00', '2025-02-04 17:00+00');
EXPLAIN (COSTS OFF)
SELECT * FROM event
WHERE snowflake_within(id, '2025-01-05 00:00+00', '2025-01-05 01:00+00') AND payload = 'payload'
   OR snowflake_within(id, '2025-01-06 00:00+00', '2025-01-06 01:00+00');
EXPLAIN (COSTS OFF)
SELECT * FROM event
WHERE snowflake_within(id, '2025-01-05 00:00+00', '2025-01-05 01:00+00')
ORDER BY id DESC LIMIT 10;
EXPLAIN (COSTS OFF) DELETE FROM event WHERE snowflake_within(id, NULL, '2025-01-01 00:10+00');

-- How many rows: what the column's statistics say, as for numbers.
CREATE FUNCTION rows_of(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
    RETURN plan -> 0 -> 'Plan' ->> 'Plan Rows';
END $$;
SELECT condition, rows_of('SELECT * FROM event WHERE ' || condition)
       = rows_of('SELECT * FROM event WHERE ' || same) AS same,
       abs(rows_of('SELECT * FROM event WHERE ' || condition) - rows) <= 1 + rows * 0.2 AS good
FROM (VALUES
    ($$snowflake_within(id, '[2025-01-05 00:00+00,2025-01-09 00:00+00)')$$,
     'id >= 1449551462400000 AND id <= 2899102924799999', 4 * 1440),
    ($$snowflake_within(id, '2025-01-05 00:00+00', '2025-01-09 00:00+00')$$,
     'id >= 1449551462400000 AND id <= 2899102924799999', 4 * 1440),
    ($$snowflake_within(id, '2025-01-05 00:00+00', NULL)$$, 'id >= 1449551462400000', 50000 - 4 * 1440),
    ($$snowflake_within(id, 'empty')$$, 'id >= 1000 AND id <= 999', 1),
    ($$snowflake_within(id, now(), NULL)$$, 'id >= 9000000000000000000', 1)) AS queries(condition, same, rows);

-- Bitmaps, and BRIN.
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
EXPLAIN (COSTS OFF)
SELECT * FROM event WHERE snowflake_within(id, '[2025-01-05 00:00+00,2025-01-05 01:00+00)');
RESET enable_indexscan;
RESET enable_indexonlyscan;
CREATE TABLE log (id bigint, payload text);
INSERT INTO log TABLE event;
CREATE INDEX log_id ON log USING brin (id) WITH (pages_per_range = 1);
VACUUM ANALYZE log;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF)
SELECT * FROM log WHERE snowflake_within(id, '[2025-01-05 00:00+00,2025-01-05 01:00+00)');
EXPLAIN (COSTS OFF)
SELECT * FROM log WHERE snowflake_within(id, moment() - interval '1 hour', moment());
SELECT count(*) FROM log WHERE snowflake_within(id, moment() - interval '1 hour', moment());
RESET enable_seqscan;

-- A partial index, whose predicate PostgreSQL proves.
DROP INDEX log_id;
CREATE INDEX log_january ON log (id) WHERE snowflake_within(id, '2025-01-01 00:00+00', '2025-02-01 00:00+00');
ANALYZE log;
EXPLAIN (COSTS OFF)
SELECT * FROM log WHERE snowflake_within(id, '2025-01-05 00:00+00', '2025-01-05 01:00+00');
EXPLAIN (COSTS OFF)
SELECT * FROM log WHERE snowflake_within(id, '2025-01-05 00:00+00', '2025-02-01 01:00+00');
DROP TABLE log;

-- An id of another kind: a domain, and an expression.
CREATE DOMAIN event_id AS bigint CHECK (VALUE >= 0);
CREATE TABLE other (id event_id PRIMARY KEY, data jsonb);
INSERT INTO other SELECT id, jsonb_build_object('id', id) FROM event;
CREATE INDEX other_data ON other (((data ->> 'id')::bigint));
VACUUM ANALYZE other;
EXPLAIN (COSTS OFF)
SELECT id FROM other WHERE snowflake_within(id, '[2025-01-05 00:00+00,2025-01-05 01:00+00)');
EXPLAIN (COSTS OFF)
SELECT * FROM other WHERE snowflake_within((data ->> 'id')::bigint, now(), NULL);
DROP TABLE other;
DROP DOMAIN event_id;

-- Partitions: pruned by constants when planning, by anything else when running.
CREATE TABLE measure (id bigint PRIMARY KEY) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE measure_%s PARTITION OF measure FOR VALUES FROM (%s) TO (%s)', n,
              snowflake_floor(day), snowflake_floor(day + interval '1 day'))
FROM generate_series(1, 9) n, LATERAL (SELECT timestamptz '2025-01-01 00:00+00' + (n - 1) * interval '1 day') d(day) \gexec
INSERT INTO measure SELECT id FROM event WHERE id < snowflake_floor('2025-01-10 00:00+00');
VACUUM ANALYZE measure;
EXPLAIN (COSTS OFF)
SELECT * FROM measure WHERE snowflake_within(id, '[2025-01-05 00:00+00,2025-01-06 00:00+00)');
EXPLAIN (COSTS OFF)
SELECT * FROM measure WHERE snowflake_within(id, '2025-01-05 00:00+00', '2025-01-06 00:00+00');
EXPLAIN (COSTS OFF)
SELECT * FROM measure WHERE snowflake_within(id, '2025-01-08 23:00+00', NULL);
EXPLAIN (COSTS OFF) SELECT * FROM measure WHERE snowflake_within(id, 'empty');
EXPLAIN (COSTS OFF)
SELECT * FROM measure WHERE snowflake_within(id, moment() - interval '1 hour', moment());
EXPLAIN (COSTS OFF)
SELECT * FROM measure WHERE snowflake_within(id, tstzrange(moment() - interval '3 hours', moment()));
EXPLAIN (COSTS OFF)
SELECT * FROM measure WHERE snowflake_within(id, costly(moment() - interval '1 hour'), moment());
PREPARE measures AS SELECT * FROM measure WHERE snowflake_within(id, $1, $2);
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE measures('2025-01-05 00:00+00', '2025-01-05 01:00+00');
EXPLAIN (COSTS OFF) EXECUTE measures('2025-01-08 00:00+00', NULL);
RESET plan_cache_mode;
-- One period at a time: partitions that a period does not touch are not even looked at.
SET enable_hashjoin = off;
SET enable_mergejoin = off;
CREATE FUNCTION partitions_read(query text) RETURNS TABLE (relation text, loops int) LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
    RETURN QUERY SELECT node ->> 'Relation Name', (node ->> 'Actual Loops')::int
        FROM jsonb_path_query(plan, 'strict $.**?(@."Relation Name" starts with "measure_")') AS node
        WHERE (node ->> 'Actual Loops')::int > 0
        GROUP BY 1, 2 ORDER BY 1;
END $$;
SELECT * FROM partitions_read('SELECT name, m.id FROM period p, measure m WHERE snowflake_within(m.id, p."from", p."to")');
RESET enable_hashjoin;
RESET enable_mergejoin;
DROP TABLE measure;

-- Where an argument may not be computed twice, the function stays, and answers the same.
CREATE FUNCTION opaque(ts timestamptz) RETURNS timestamptz VOLATILE LANGUAGE plpgsql AS
$$ BEGIN RETURN ts; END $$;
EXPLAIN (COSTS OFF)
SELECT * FROM event WHERE snowflake_within(id, opaque('2025-01-05 00:00+00'), '2025-01-05 01:00+00');
EXPLAIN (COSTS OFF)
SELECT * FROM event WHERE snowflake_within(id, tstzrange('2025-01-05 00:00+00', opaque('2025-01-05 01:00+00')));
EXPLAIN (COSTS OFF) SELECT * FROM event WHERE snowflake_within(id + (random() * 0)::int, '[2025-01-05 00:00+00,)');
SELECT count(*) FROM event WHERE snowflake_within(id, opaque('2025-01-05 00:00+00'), '2025-01-05 01:00+00');
SELECT count(*) FROM event
WHERE snowflake_within(id, tstzrange('2025-01-05 00:00+00', opaque('2025-01-05 01:00+00')));

-- So with a costly argument, unless it is a bound that is the same for all rows.
EXPLAIN (COSTS OFF) SELECT * FROM event WHERE snowflake_within(costly(id), '[2025-01-05 00:00+00,)');
EXPLAIN (COSTS OFF)
SELECT * FROM event WHERE snowflake_within(id, costly(moment() - interval '1 hour'), moment());
-- An index on the id serves for the function that stayed as well.
EXPLAIN (COSTS OFF)
SELECT name, id FROM period p JOIN event ON snowflake_within(id, costly(p."from"), p."to");
SELECT name, count(*) FROM period p JOIN event ON snowflake_within(id, costly(p."from"), p."to")
GROUP BY name ORDER BY name;

-- A subquery as well. (Its part of the plan looks different in each version of PostgreSQL.)
CREATE FUNCTION scan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        IF line ~ 'event|period|Cond:|Filter:' THEN
            RETURN NEXT regexp_replace(line, '\$\d+|\(InitPlan \d+\).col1', 'subquery', 'g');
        END IF;
    END LOOP;
END $$;
SELECT scan_of($$SELECT * FROM event
    WHERE snowflake_within(id, (SELECT tstzrange("from", "to") FROM period LIMIT 1))$$);
SELECT scan_of($$SELECT * FROM event WHERE snowflake_within(id, (SELECT min("from") FROM period), NULL)$$);
SELECT count(*) FROM event
WHERE snowflake_within(id, (SELECT tstzrange("from", "to") FROM period WHERE name = 'first'));
SELECT count(*) FROM event
WHERE snowflake_within(id, (SELECT min("from") FROM period), (SELECT max("to") FROM period));
-- One that is not the same for all rows, or not for all periods, is computed once for each.
SELECT count(*) FROM event
WHERE snowflake_within(id, (SELECT tstzrange("from", "to") FROM period
                            WHERE "from" <= snowflake_timestamp(id) ORDER BY "from" DESC LIMIT 1));
SELECT count(*) FROM scan_of($$SELECT * FROM period p JOIN event
    ON snowflake_within(id, (SELECT tstzrange(p."from", q."to") FROM period q WHERE q.name = p.name LIMIT 1))$$) AS line
WHERE line ~ 'Index Cond';
SELECT name, count(*) FROM period p JOIN event
    ON snowflake_within(id, (SELECT tstzrange(p."from", q."to") FROM period q WHERE q.name = p.name LIMIT 1))
GROUP BY name ORDER BY name;
-- An index of another kind is of no use, and no harm.
CREATE TABLE hashed_event AS TABLE event;
CREATE INDEX ON hashed_event USING hash (id);
SET enable_seqscan = off;
SELECT scan_of($$SELECT id FROM hashed_event
    WHERE snowflake_within(id, (SELECT tstzrange("from", "to") FROM period LIMIT 1))$$);
SELECT count(*) FROM hashed_event
WHERE snowflake_within(id, (SELECT tstzrange("from", "to") FROM period ORDER BY "from" LIMIT 1));
RESET enable_seqscan;
DROP TABLE hashed_event;

-- Operators and functions of others, whatever the search_path, are not taken for ours.
CREATE SCHEMA other;
CREATE FUNCTION other.never(bigint, bigint) RETURNS boolean LANGUAGE sql AS 'SELECT false';
CREATE OPERATOR other.>= (FUNCTION = other.never, LEFTARG = bigint, RIGHTARG = bigint);
CREATE OPERATOR other.<= (FUNCTION = other.never, LEFTARG = bigint, RIGHTARG = bigint);
CREATE FUNCTION other.snowflake_first(times tstzrange) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint';
SET search_path = other, public, pg_catalog;
SELECT count(*) FROM event WHERE snowflake_within(id, '[2025-01-05 00:00+00,2025-01-05 01:00+00)');
SELECT count(*) FROM event
WHERE snowflake_within(id, tstzrange(moment() - interval '1 hour', moment()));
RESET search_path;

-- The functions move together, and if they do not, snowflake_within stays.
BEGIN;
CREATE SCHEMA moved;
ALTER EXTENSION snowflake SET SCHEMA moved;
EXPLAIN (COSTS OFF)
SELECT * FROM event WHERE moved.snowflake_within(id, '[2025-01-05 00:00+00,2025-01-05 01:00+00)');
EXPLAIN (COSTS OFF)
SELECT * FROM event WHERE moved.snowflake_within(id, now(), NULL);
ALTER FUNCTION moved.snowflake_first(tstzrange) SET SCHEMA public;
EXPLAIN (COSTS OFF)
SELECT * FROM event WHERE moved.snowflake_within(id, '[2025-01-05 00:00+00,2025-01-05 01:00+00)');
SELECT count(*) FROM event WHERE moved.snowflake_within(id, '[2025-01-05 00:00+00,2025-01-05 01:00+00)');
ROLLBACK;

-- The right to call snowflake_within is what counts, as without the comparisons.
BEGIN;
CREATE ROLE regress_snowflake_reader;
GRANT SELECT ON event TO regress_snowflake_reader;
REVOKE EXECUTE ON FUNCTION snowflake_last(tstzrange) FROM PUBLIC;
SET LOCAL ROLE regress_snowflake_reader;
EXPLAIN (COSTS OFF)
SELECT * FROM event WHERE snowflake_within(id, '[2025-01-05 00:00+00,2025-01-05 01:00+00)');
SELECT count(*) > 0 AS found
FROM event WHERE snowflake_within(id, '[2025-01-05 00:00+00,2025-01-05 01:00+00)');
RESET ROLE;
REVOKE EXECUTE ON FUNCTION snowflake_within(bigint, tstzrange) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION snowflake_last(tstzrange) TO PUBLIC;
SET LOCAL ROLE regress_snowflake_reader;
SELECT count(*) FROM event WHERE snowflake_within(id, '[2025-01-05 00:00+00,2025-01-05 01:00+00)');
ROLLBACK;

-- What a view with a security barrier hides is not shown to the comparisons, so they reach the index.
CREATE VIEW visible WITH (security_barrier) AS SELECT * FROM event WHERE payload <> 'secret';
EXPLAIN (COSTS OFF)
SELECT * FROM visible WHERE snowflake_within(id, '[2025-01-05 00:00+00,2025-01-05 01:00+00)');

DROP VIEW visible;
DROP SCHEMA other CASCADE;
DROP TABLE event, period;
DROP FUNCTION moment, is_of_the_fifth, rows_of, partitions_read, opaque, costly(timestamptz), costly(bigint), scan_of;
