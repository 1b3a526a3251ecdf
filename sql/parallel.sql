-- Parallel workers generate ids as well, and decode them.
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';

CREATE TABLE source AS SELECT n FROM generate_series(1, 50000) n;
ANALYZE source;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET max_parallel_workers_per_gather = 2;
SET parallel_leader_participation = off;

-- The workers a statement was planned with, and whether it got any.
CREATE FUNCTION workers_of(statement text, OUT planned int, OUT launched boolean)
LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || statement INTO plan;
    plan := jsonb_path_query_first(plan, '$.**?(@."Node Type" starts with "Gather")');
    planned := plan ->> 'Workers Planned';
    launched := (plan ->> 'Workers Launched')::int > 0;
END $$;

EXPLAIN (COSTS OFF) CREATE TABLE target AS SELECT snowflake_next() AS id, n FROM source;
SELECT * FROM workers_of('CREATE TABLE target AS SELECT snowflake_next() AS id, n FROM source');
SELECT count(*), count(DISTINCT id), count(DISTINCT n), min(snowflake_machine(id)),
       max(snowflake_machine(id))
FROM target;

-- Not one is drawn that no row gets, and those of a later statement are larger.
SELECT ids_used('CREATE TABLE target_too AS SELECT snowflake_next() AS id, n FROM source');
SELECT count(DISTINCT id) FROM (TABLE target UNION ALL TABLE target_too) AS both_targets;
SELECT (SELECT max(id) FROM target) < (SELECT min(id) FROM target_too) AS "later is larger";
CREATE MATERIALIZED VIEW numbered AS SELECT snowflake_next() AS id, n FROM source;
SELECT count(*), count(DISTINCT id) FROM numbered;
REFRESH MATERIALIZED VIEW numbered;
SELECT count(*), count(DISTINCT id), min(id) > (SELECT max(id) FROM target_too) AS larger
FROM numbered;

-- An aggregate and a filter in the workers.
ANALYZE target;
EXPLAIN (COSTS OFF) SELECT count(*) FROM target
WHERE snowflake_timestamp(id) <= '2100-01-01 00:00:00+00'::timestamptz;
SELECT count(*) FROM target
WHERE snowflake_timestamp(id) <= '2100-01-01 00:00:00+00'::timestamptz
  AND id <@ snowflake_range('["2026-01-01 00:00:00+00",)')
  AND id BETWEEN snowflake_floor(snowflake_timestamp(id)) AND snowflake_ceil(snowflake_timestamp(id))
  AND snowflake_make(snowflake_timestamp(id), snowflake_machine(id), snowflake_sequence(id)) = id;
-- An error in a worker.
SELECT code, message FROM error_of('SELECT count(snowflake_machine(-n)) FROM source');

DROP MATERIALIZED VIEW numbered;
DROP TABLE source, target, target_too;
DROP FUNCTION workers_of;
