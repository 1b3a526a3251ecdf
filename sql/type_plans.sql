-- What queries do with the type snowflake: all that they do with bigint, by bigint's own operators.
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';

CREATE TABLE event (id snowflake PRIMARY KEY DEFAULT snowflake_next(), n bigint NOT NULL, payload text);
INSERT INTO event SELECT g * 1000000, g, 'event ' || g FROM generate_series(1::bigint, 10000) g;
CREATE TABLE other (event_id bigint, id snowflake);
INSERT INTO other SELECT g * 3000000, g * 2000000 FROM generate_series(1::bigint, 3000) g;
VACUUM ANALYZE event, other;
SET max_parallel_workers_per_gather = 0;

-- The lines of a plan that say how rows are found, joined and sorted.
CREATE FUNCTION plan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        IF line ~ ' Scan|Cond|Filter|Join|Nested|Sort Key|Aggregate|Group Key' THEN
            RETURN NEXT regexp_replace(line, '^[ >-]*', '');
        END IF;
    END LOOP;
END $$;

-- Comparisons with literals: the index.
SELECT plan_of('SELECT * FROM event WHERE id = 5000000');
SELECT plan_of('SELECT * FROM event WHERE id = 5000000000');
SELECT plan_of($$SELECT * FROM event WHERE id = '5000000'$$);
SELECT plan_of('SELECT * FROM event WHERE id = 5::smallint');
SELECT plan_of('SELECT * FROM event WHERE id = 5000000::snowflake');
SELECT plan_of('SELECT id FROM event WHERE id BETWEEN 5000000 AND 6000000');
SELECT plan_of('SELECT id FROM event WHERE 9999000000 < id');
SELECT plan_of($$SELECT id FROM event WHERE id = ANY('{1000000,2000000}')$$);
SELECT plan_of('SELECT id FROM event WHERE id = ANY(ARRAY[1000000,2000000])');
SELECT plan_of('SELECT id FROM event WHERE id IN (1000000, 2000000)');
SELECT plan_of($$SELECT id FROM event WHERE id IN (1000000, '2000000', 3000000000)$$);
SELECT plan_of('SELECT id FROM event WHERE (id, n) > (9999000000, 5) ORDER BY id, n');
SELECT array_agg(id) FROM event
WHERE id = 1000000 OR id = '2000000' OR id = ANY('{3000000}') OR id = ANY(ARRAY[4000000]) OR id IN (5000000, 6000000000);
SELECT plan_of($$SELECT id FROM event WHERE id >= snowflake_floor('2025-01-01 00:00:00.1+00')
                                         AND id < snowflake_floor('2025-01-01 00:00:00.2+00')$$);

-- The rows expected are those of the column's statistics.
CREATE FUNCTION rows_expected(query text) RETURNS float LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
    RETURN plan->0->'Plan'->>'Plan Rows';
END $$;
SELECT rows_expected('SELECT * FROM event WHERE id > 9000000000') BETWEEN 900 AND 1100 AS range,
       rows_expected('SELECT * FROM event WHERE id = 5000000') AS one,
       rows_expected($$SELECT * FROM event WHERE id = ANY('{1,2,3}')$$) AS three;

-- Parameters: an untyped one is a bigint when it is compared, and the column's type when it is stored.
-- Every integer type is taken, and both plans use the index.
PREPARE untyped AS SELECT n FROM event WHERE id = $1;
PREPARE untyped_greater AS SELECT min(n) FROM event WHERE id > $1;
PREPARE untyped_any AS SELECT sum(n) FROM event WHERE id = ANY($1);
PREPARE untyped_in AS SELECT sum(n) FROM event WHERE id IN ($1, $2);
PREPARE untyped_insert AS INSERT INTO event VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET n = EXCLUDED.n;
PREPARE with_smallint(smallint) AS SELECT n FROM event WHERE id = $1;
PREPARE with_integer(integer) AS SELECT n FROM event WHERE id = $1;
PREPARE with_bigint(bigint) AS SELECT n FROM event WHERE id = $1;
PREPARE with_bigint_array(bigint[]) AS SELECT sum(n) FROM event WHERE id = ANY($1);
PREPARE with_snowflake(snowflake) AS SELECT n FROM event WHERE id = $1;
PREPARE with_snowflake_array(snowflake[]) AS SELECT sum(n) FROM event WHERE id = ANY($1);
PREPARE with_text(text) AS SELECT n FROM event WHERE id = $1::snowflake;
PREPARE insert_bigint(bigint) AS INSERT INTO event VALUES ($1, 1) ON CONFLICT DO NOTHING;
PREPARE insert_smallint(smallint) AS INSERT INTO event VALUES ($1, 1) ON CONFLICT DO NOTHING;
PREPARE insert_numeric(numeric) AS INSERT INTO event VALUES ($1, 1) ON CONFLICT DO NOTHING;
SELECT name, parameter_types FROM pg_prepared_statements WHERE name LIKE 'untyped%' ORDER BY name;
EXECUTE untyped(5000000);
EXECUTE untyped_greater(5000000);
EXECUTE untyped_any('{5000000,6000000}');
EXECUTE untyped_in(5000000, '6000000');
EXECUTE untyped_insert(5000000, 5);
EXECUTE with_smallint(5);
EXECUTE with_integer(5000000);
EXECUTE with_bigint(5000000);
EXECUTE with_bigint_array('{5000000,6000000}');
EXECUTE with_snowflake(5000000);
EXECUTE with_snowflake_array('{5000000,6000000}');
EXECUTE with_text('5000000');
EXECUTE insert_bigint(5000000);
EXECUTE insert_smallint(5);
EXECUTE insert_numeric(5000000);
DELETE FROM event WHERE id = 5;
SET plan_cache_mode = force_generic_plan;
SELECT plan_of('EXECUTE untyped(5000000)');
SELECT plan_of('EXECUTE untyped_any(''{5000000,6000000}'')');
SELECT plan_of('EXECUTE untyped_in(5000000, 6000000)');
SELECT plan_of('EXECUTE with_integer(5000000)');
SELECT plan_of('EXECUTE with_bigint(5000000)');
SELECT plan_of('EXECUTE with_bigint_array(''{5000000,6000000}'')');
SELECT plan_of('EXECUTE with_snowflake(5000000)');
SELECT plan_of('EXECUTE with_snowflake_array(''{5000000,6000000}'')');
RESET plan_cache_mode;
DEALLOCATE ALL;

-- Order, minimum and maximum, by the index; groups and windows.
SELECT plan_of('SELECT id FROM event ORDER BY id LIMIT 1');
SELECT plan_of('SELECT id FROM event ORDER BY id DESC LIMIT 1');
SELECT plan_of('SELECT min(id), max(id) FROM event');
SELECT min(id), max(id), count(DISTINCT id), count(id) FROM event;
SELECT plan_of('SELECT id, count(*) FROM other GROUP BY id');
SELECT plan_of('SELECT DISTINCT id FROM other');
SELECT count(*) FROM (SELECT id FROM other GROUP BY id HAVING count(*) = 1) g;
SELECT count(*) FROM (SELECT DISTINCT id FROM (SELECT id FROM event UNION ALL SELECT event_id FROM other) u) d;
SELECT count(*) FROM (SELECT id FROM event INTERSECT SELECT event_id FROM other) i;
SELECT count(*) FROM event WHERE id IN (SELECT event_id FROM other) AND id <> ALL (SELECT id FROM other);
SELECT count(*) FROM (SELECT event_id FROM other EXCEPT SELECT id FROM event) e;
SELECT id, lag(id) OVER w, pg_typeof(lag(id) OVER w), rank() OVER w, max(id) OVER w, first_value(id) OVER w,
       count(*) OVER (ORDER BY id RANGE BETWEEN CURRENT ROW AND 1000000 FOLLOWING) AS in_range
FROM event WHERE id <= 3000000 WINDOW w AS (ORDER BY id) ORDER BY id;
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY id) FROM event;

-- Joins with bigint and with its own kind, by hash, by merge and by nested loop.
CREATE TABLE answer (method text, bigints bigint, snowflakes bigint);
SET enable_mergejoin = off;
SET enable_nestloop = off;
SELECT plan_of('SELECT count(*) FROM event e JOIN other o ON e.id = o.event_id');
SELECT plan_of('SELECT count(*) FROM event e JOIN other o ON e.id = o.id');
INSERT INTO answer SELECT 'hash', (SELECT count(*) FROM event e JOIN other o ON e.id = o.event_id),
                          (SELECT count(*) FROM event e JOIN other o USING (id));
SET enable_hashjoin = off;
RESET enable_mergejoin;
SELECT plan_of('SELECT count(*) FROM event e JOIN other o ON e.id = o.event_id');
SELECT plan_of('SELECT count(*) FROM event e JOIN other o ON e.id = o.id');
INSERT INTO answer SELECT 'merge', (SELECT count(*) FROM event e JOIN other o ON e.id = o.event_id),
                          (SELECT count(*) FROM event e JOIN other o USING (id));
SET enable_mergejoin = off;
RESET enable_nestloop;
SELECT plan_of('SELECT count(*) FROM other o JOIN event e ON e.id = o.event_id WHERE o.id = 2000000');
INSERT INTO answer SELECT 'nested loop', (SELECT count(*) FROM event e JOIN other o ON e.id = o.event_id),
                          (SELECT count(*) FROM event e JOIN other o USING (id));
RESET enable_hashjoin;
RESET enable_mergejoin;
TABLE answer;

-- In parallel.
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SELECT plan_of('SELECT max(id + n) FROM event');
SELECT sum(id) FROM event WHERE id::text LIKE '%000000' AND id <> 0;
RESET parallel_tuple_cost;
RESET parallel_setup_cost;
RESET min_parallel_table_scan_size;
SET max_parallel_workers_per_gather = 0;

-- Other indexes: hash, BRIN, on several columns, descending, with INCLUDE, partial, GIN on an array.
CREATE TABLE indexed AS SELECT id, n, ARRAY[id, (id + 1)::snowflake] AS ids FROM event;
CREATE INDEX indexed_hash ON indexed USING hash (id);
VACUUM ANALYZE indexed;
SELECT plan_of('SELECT * FROM indexed WHERE id = 5000000');
SELECT plan_of('SELECT * FROM indexed WHERE id = 5000000::bigint');
SELECT count(*) FROM indexed WHERE id = 5000000;
DROP INDEX indexed_hash;
CREATE INDEX indexed_brin ON indexed USING brin (id) WITH (pages_per_range = 4);
SELECT plan_of('SELECT * FROM indexed WHERE id > 9990000000');
SELECT count(*) FROM indexed WHERE id > 9990000000;
DROP INDEX indexed_brin;
CREATE INDEX indexed_bloom ON indexed USING brin (id int8_bloom_ops);
DROP INDEX indexed_bloom;
CREATE UNIQUE INDEX indexed_desc ON indexed (id DESC) INCLUDE (n) WHERE id > 9000000000;
VACUUM ANALYZE indexed;
SELECT plan_of('SELECT id, n FROM indexed WHERE id > 9990000000 ORDER BY id DESC');
DROP INDEX indexed_desc;
CREATE INDEX indexed_gin ON indexed USING gin (ids);
SELECT plan_of($$SELECT * FROM indexed WHERE ids @> '{5000000}'$$);
SELECT n FROM indexed WHERE ids @> '{5000000}';
CREATE INDEX indexed_time ON indexed (snowflake_timestamp(id));
ANALYZE indexed;
SELECT plan_of($$SELECT * FROM indexed WHERE snowflake_timestamp(id) = '2025-01-01 00:00:01+00'$$);
CREATE STATISTICS indexed_statistics ON id, n FROM indexed;
ANALYZE indexed;

-- Partitions, whose bounds are numbers; a bound is shown as it can be read back.
CREATE TABLE by_range (id snowflake PRIMARY KEY DEFAULT snowflake_next(), n int) PARTITION BY RANGE (id);
CREATE TABLE by_range_1 PARTITION OF by_range FOR VALUES FROM (1) TO (100);
CREATE TABLE by_range_2 PARTITION OF by_range FOR VALUES FROM ('100') TO (9007199254740993);
CREATE TABLE by_range_3 PARTITION OF by_range
    FOR VALUES FROM (9007199254740993) TO (snowflake_floor('2026-01-01 00:00:00+00'));
CREATE TABLE by_range_4 PARTITION OF by_range
    FOR VALUES FROM (snowflake_floor('2026-01-01 00:00:00+00')) TO (MAXVALUE);
CREATE TABLE by_list (id snowflake, n int) PARTITION BY LIST (id);
CREATE TABLE by_list_1 PARTITION OF by_list FOR VALUES IN (1, '2', 9007199254740993);
CREATE TABLE by_list_2 PARTITION OF by_list DEFAULT;
CREATE TABLE by_hash (id snowflake PRIMARY KEY, n int) PARTITION BY HASH (id);
CREATE TABLE by_hash_1 PARTITION OF by_hash FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE by_hash_2 PARTITION OF by_hash FOR VALUES WITH (MODULUS 2, REMAINDER 1);
SELECT relname, pg_get_expr(relpartbound, oid) FROM pg_class WHERE relname ~ '^by_(range|list)_\d$' ORDER BY relname;
INSERT INTO by_range VALUES (1), (99), (100), (9007199254740992), (9007199254740993);
INSERT INTO by_range (n) VALUES (1);
INSERT INTO by_list SELECT id FROM by_range;
INSERT INTO by_hash SELECT generate_series(1, 100);
SELECT tableoid::regclass AS partition, count(*) FROM by_range GROUP BY 1 ORDER BY min(id);
SELECT tableoid::regclass AS partition, count(*) FROM by_list GROUP BY 1 ORDER BY min(id);
SELECT count(DISTINCT tableoid), count(*) FROM by_hash;
SELECT code FROM error_of('INSERT INTO by_range VALUES (0)');
SELECT plan_of('SELECT * FROM by_range WHERE id = 5');
SELECT plan_of('SELECT * FROM by_range WHERE id >= 9007199254740993 AND id < 9007199254740999');
SELECT plan_of($$SELECT * FROM by_range WHERE id > '9007199254740993' AND id < snowflake_floor('2025-06-01 00:00:00+00')$$);
SELECT plan_of('SELECT * FROM by_list WHERE id = 2');
SELECT plan_of('SELECT * FROM by_list WHERE id IN (1, 2)');
SELECT count(*) FROM plan_of('SELECT * FROM by_hash WHERE id = 5') AS line WHERE line ~ ' Scan.* on by_hash_';
PREPARE pruned(bigint) AS SELECT n FROM by_range WHERE id = $1;
SET plan_cache_mode = force_generic_plan;
SELECT plan_of('EXECUTE pruned(5)');
RESET plan_cache_mode;
DEALLOCATE ALL;
SET enable_partitionwise_join = on;
SELECT count(*) FROM by_range a JOIN by_range b USING (id);
RESET enable_partitionwise_join;
ALTER TABLE by_range DETACH PARTITION by_range_1;
ALTER TABLE by_range ATTACH PARTITION by_range_1 FOR VALUES FROM (1) TO (100);

RESET max_parallel_workers_per_gather;
DROP TABLE event, other, answer, indexed, by_range, by_list, by_hash;
DROP FUNCTION plan_of, rows_expected;
