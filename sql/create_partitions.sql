-- snowflake_create_partitions(): partitions by the calendar, whatever calls made those that are there.
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';

-- Names that need quotes, in a schema that is not in the search path.
CREATE SCHEMA "My Schema";
CREATE TABLE "My Schema"."Ev""ents" (
    id bigint PRIMARY KEY DEFAULT snowflake_next(), payload text) PARTITION BY RANGE (id);
CREATE FUNCTION partitions_of(parent regclass, OUT partition regclass, OUT bounds text)
RETURNS SETOF record LANGUAGE sql AS $$
    SELECT c.oid::regclass, pg_get_expr(relpartbound, c.oid)
    FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid
    WHERE inhparent = parent ORDER BY relname COLLATE "C" $$;

-- "from" and "to" lie within the first and the last partition.
SELECT * FROM snowflake_create_partitions(
    '"My Schema"."Ev""ents"', '2026-11-28 13:00+00', '2026-12-01 00:00:00.000001+00', '1 day');
SELECT * FROM partitions_of('"My Schema"."Ev""ents"');
-- Again, and for longer: only what is missing.
SELECT * FROM snowflake_create_partitions(
    '"My Schema"."Ev""ents"', '2026-11-28 13:00+00', '2026-12-01 00:00:00.000001+00', '1 day');
SELECT * FROM snowflake_create_partitions(
    "from" => '2026-11-27', "to" => '2026-12-03', step => '1 day', parent => '"My Schema"."Ev""ents"');
DROP TABLE "My Schema"."Ev""ents_p20261130";
SELECT * FROM snowflake_create_partitions('"My Schema"."Ev""ents"', '2026-11-27', '2026-12-03', '1 day');
-- A row of each millisecond finds its partition.
INSERT INTO "My Schema"."Ev""ents"
SELECT snowflake_make(at, 1, 0) FROM unnest('{2026-11-29 23:59:59.999,2026-11-30 00:00}'::timestamptz[]) AS at;
SELECT tableoid::regclass, snowflake_timestamp(id) FROM "My Schema"."Ev""ents" ORDER BY id;

-- Weeks begin on Monday; several months, on months that they divide the year into.
CREATE TABLE week (id bigint) PARTITION BY RANGE (id);
CREATE TABLE month (id bigint) PARTITION BY RANGE (id);
CREATE TABLE quarter (id bigint) PARTITION BY RANGE (id);
CREATE TABLE year (id bigint) PARTITION BY RANGE (id);
CREATE TABLE ten (id bigint) PARTITION BY RANGE (id);
SELECT *, to_char(starts, 'Dy') AS day
FROM snowflake_create_partitions('week', '2026-12-27', '2027-01-05', '1 week');
SELECT * FROM snowflake_create_partitions('month', '2027-12-31 23:59+00', '2028-03-01', '1 month');
SELECT * FROM snowflake_create_partitions('quarter', '2027-06-15', '2027-10-02', '3 months');
SELECT * FROM snowflake_create_partitions('year', '2027-06-15', '2028-10-02', '1 year');
-- Ten days: the bounds do not depend on where a call begins.
SELECT * FROM snowflake_create_partitions('ten', '2027-06-15', '2027-06-30', '10 days');
SELECT * FROM snowflake_create_partitions('ten', '2027-06-01', '2027-07-10', '10 days');

-- Another time zone, whatever the session's. Days of 23 and 25 hours tile.
CREATE TABLE zone (id bigint) PARTITION BY RANGE (id);
SET TimeZone = 'America/New_York';
SELECT partition, starts AT TIME ZONE 'Europe/Berlin' AS starts, ends - starts AS length
FROM snowflake_create_partitions('zone', '2025-03-29 12:00+00', '2025-03-31 12:00+00', '1 day', 'Europe/Berlin');
SELECT partition, starts AT TIME ZONE 'Europe/Berlin' AS starts, ends - starts AS length
FROM snowflake_create_partitions('zone', '2025-10-25 12:00+00', '2025-10-27 12:00+00', '1 day', 'Europe/Berlin');
SET TimeZone = 'UTC';
-- A zone whose clock is put back over midnight, from one to twelve: 04:30 is the first 00:30 of the day,
-- which comes before its midnight. In spring it is put forward over midnight: the day has none, and
-- begins at one.
\set midnight 'XST5XDT4,M3.2.0/0,M11.1.0/1'
SELECT *, ends - starts AS length
FROM snowflake_create_partitions('zone', '2026-11-01 04:30+00', '2026-11-01 06:00+00', '1 day', :'midnight');
SELECT *, ends - starts AS length
FROM snowflake_create_partitions('zone', '2028-03-11 12:00+00', '2028-03-13 12:00+00', '1 day', :'midnight');
SELECT count(*) FROM snowflake_create_partitions('zone', '2028-01-01 05:00+00', '2029-01-01 05:00+00', '1 day', :'midnight');
SELECT count(*), sum(upper - lower) = max(upper) - min(lower) AS tile
FROM partitions_of('zone'), regexp_match(bounds, '(\d+).*?(\d+)') AS bound,
     LATERAL (SELECT bound[1]::bigint AS lower, bound[2]::bigint AS upper) b
WHERE partition::text ~ 'p2028';

-- Types that are a bigint underneath.
CREATE DOMAIN event_id AS bigint CHECK (VALUE > 0);
CREATE DOMAIN event_key AS event_id;
CREATE TABLE by_domain (id event_key) PARTITION BY RANGE (id);
SELECT * FROM snowflake_create_partitions('by_domain', '2027-01-01', '2028-01-01', '1 year');
INSERT INTO by_domain VALUES (snowflake_floor('2027-05-05'));

-- Partitions that are partitioned in turn.
CREATE TABLE tenant (tenant int, id bigint) PARTITION BY LIST (tenant);
CREATE TABLE tenant_1 PARTITION OF tenant FOR VALUES IN (1) PARTITION BY RANGE (id);
SELECT * FROM snowflake_create_partitions('tenant_1', '2027-01-01', '2028-01-01', '1 year');
INSERT INTO tenant VALUES (1, snowflake_floor('2027-05-05')) RETURNING tableoid::regclass;

-- A long name gives way, by whole characters (63 bytes at most).
CREATE TABLE "äöüäöüäöüäöüäöüäöüäöüäöüäöüäöüx" (id bigint) PARTITION BY RANGE (id);
SELECT partition, octet_length(trim('"' FROM partition::text)) AS bytes
FROM snowflake_create_partitions('"äöüäöüäöüäöüäöüäöüäöüäöüäöüäöüx"', '2027-01-01', '2027-01-02', '1 day');
-- A temporary table.
CREATE TEMPORARY TABLE temporary_parent (id bigint) PARTITION BY RANGE (id);
SELECT starts, ends FROM snowflake_create_partitions('temporary_parent', '2027-01-01', '2027-01-02', '1 day');
-- A name that is taken is PostgreSQL's own error, and nothing is left behind.
CREATE TABLE taken (id bigint) PARTITION BY RANGE (id);
CREATE TABLE taken_p20270102 ();
SELECT e.code, e.message
FROM error_of($$SELECT * FROM snowflake_create_partitions('taken', '2027-01-01', '2027-01-05', '1 day')$$) e;
SELECT * FROM partitions_of('taken');

-- What is in the way is named, and nothing is created, before it either.
CREATE TABLE mixed (id bigint) PARTITION BY RANGE (id);
CREATE TABLE mixed_old PARTITION OF mixed FOR VALUES FROM (MINVALUE) TO (snowflake_floor('2026-12-30 12:00'));
CREATE TABLE mixed_new PARTITION OF mixed FOR VALUES FROM (snowflake_floor('2028-01-01')) TO (MAXVALUE);
SELECT * FROM error_of($$SELECT * FROM snowflake_create_partitions('mixed', '2026-12-30', '2027-01-02', '1 day')$$);
SELECT * FROM error_of($$SELECT * FROM snowflake_create_partitions('mixed', '2027-12-30', '2028-01-02', '1 day')$$);
SELECT * FROM partitions_of('mixed');
SELECT * FROM snowflake_create_partitions('mixed', '2026-12-31', '2027-01-02', '1 day');

-- A default partition that has such rows.
CREATE TABLE mixed_rest PARTITION OF mixed DEFAULT;
INSERT INTO mixed VALUES (snowflake_floor('2027-03-01 10:00'));
SELECT * FROM error_of($$SELECT * FROM snowflake_create_partitions('mixed', '2027-02-27', '2027-03-03', '1 day')$$);
SELECT count(*) FROM partitions_of('mixed');
SELECT * FROM snowflake_create_partitions('mixed', '2027-03-02', '2027-03-03', '1 day');

-- What is refused.
CREATE TABLE plain (id bigint);
CREATE TABLE by_list (id bigint) PARTITION BY LIST (id);
CREATE TABLE by_two (id bigint, other int) PARTITION BY RANGE (id, other);
CREATE TABLE by_int (id int) PARTITION BY RANGE (id);
CREATE TABLE by_expression (id bigint) PARTITION BY RANGE ((id + 1));
CREATE VIEW look AS SELECT * FROM plain;
SELECT parent, e.code, e.message, e.detail
FROM unnest('{plain, by_list, by_two, by_int, by_expression, look}'::text[]) AS parent,
     error_of(format($$SELECT * FROM snowflake_create_partitions(%L, '2027-01-01', '2027-01-02', '1 day')$$, parent)) e;
SELECT step, e.code, e.message, e.detail
FROM unnest('{1 hour, 24 hours, 1 month 1 day, 1 day 1 second, 0, -1 day, -1 year, 1.5 days}'::text[]) AS step,
     error_of(format($$SELECT * FROM snowflake_create_partitions('week', '2027-01-01', '2027-01-02', %L)$$, step)) e;
SELECT first, last, e.code, e.message, e.detail
FROM (VALUES ('2027-01-01', '2027-01-01'), ('2027-01-02', '2027-01-01'), ('-infinity', '2027-01-01'),
             ('2027-01-01', 'infinity'), ('2024-12-31 23:59:59.999', '2027-01-01'),
             ('2027-01-01', '2094-09-07 15:47:35.552')) AS times(first, last),
     error_of(format($$SELECT * FROM snowflake_create_partitions('week', %L, %L, '1 week')$$, first, last)) e;
SELECT e.code, e.message
FROM error_of($$SELECT * FROM snowflake_create_partitions('week', '2027-01-01', '2027-01-02', '1 day', 'Nowhere/City')$$) e;
SELECT e.code, e.message
FROM error_of($$SELECT * FROM snowflake_create_partitions(0, '2027-01-01', '2027-01-02', '1 day')$$) e;
SELECT count(*) FROM snowflake_create_partitions('week', NULL, '2027-01-02', '1 day');

-- From the epoch on, and to the end of the 41 bits.
SELECT * FROM snowflake_create_partitions('year', '2025-01-01', '2025-01-02', '1 year');
SELECT * FROM snowflake_create_partitions('year', '2094-01-01', '2094-09-07 15:47:35.551+00', '1 year');
SELECT bounds FROM partitions_of('year') WHERE partition::text ~ '2025|2094';

-- Only the owner.
CREATE ROLE regress_snowflake_partitions;
GRANT ALL ON week TO regress_snowflake_partitions;
GRANT CREATE ON SCHEMA public TO regress_snowflake_partitions;
SET ROLE regress_snowflake_partitions;
SELECT e.code, e.message
FROM error_of($$SELECT * FROM snowflake_create_partitions('week', '2029-01-01', '2029-01-02', '1 week')$$) e;
RESET ROLE;
ALTER TABLE week OWNER TO regress_snowflake_partitions;
SET ROLE regress_snowflake_partitions;
SELECT * FROM snowflake_create_partitions('week', '2029-01-01', '2029-01-02', '1 week');
RESET ROLE;

-- A search path that somebody has put objects into.
CREATE SCHEMA trap;
CREATE FUNCTION trap.snowflake_floor(timestamptz) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint';
CREATE FUNCTION trap.format(text, VARIADIC "any") RETURNS text LANGUAGE internal AS 'text_format_nv';
CREATE TABLE trap.pg_inherits (inhrelid oid, inhparent oid);
SET search_path = trap, pg_catalog, public;
SELECT * FROM snowflake_create_partitions('public.week', '2029-01-09', '2029-01-10', '1 week');
SET search_path = '';
SELECT * FROM public.snowflake_create_partitions('public.week', '2029-01-16', '2029-01-17', '1 week');
RESET search_path;
SELECT * FROM partitions_of('week') WHERE partition::text ~ '2029';

-- docs/partitioning.md: old partitions go, newest last, without a scan of anything.
CREATE TABLE events (id bigint PRIMARY KEY DEFAULT snowflake_next(), payload text) PARTITION BY RANGE (id);
SELECT count(*) FROM snowflake_create_partitions('events', '2026-01-01', '2026-07-01', '1 month');
DO $$
DECLARE
    old regclass;
BEGIN
    FOR old IN
        SELECT inhrelid
        FROM pg_inherits
        JOIN pg_class c ON c.oid = inhrelid,
             substring(pg_get_expr(relpartbound, c.oid) FROM 'TO \(''(\d+)''\)') AS upper
        WHERE inhparent = 'events'::regclass
          AND upper::bigint <= snowflake_floor(timestamptz '2026-07-01 00:00+00' - interval '90 days')
        ORDER BY upper::bigint
    LOOP
        EXECUTE format('ALTER TABLE events DETACH PARTITION %s', old);
        EXECUTE format('DROP TABLE %s', old);
    END LOOP;
END $$;
SELECT partition FROM partitions_of('events');

SET client_min_messages = warning;
DROP TABLE temporary_parent;
DROP SCHEMA "My Schema", trap CASCADE;
DROP TABLE week, month, quarter, year, ten, zone, by_domain, tenant, taken, taken_p20270102, mixed, plain,
    by_list, by_two, by_int, by_expression, events, "äöüäöüäöüäöüäöüäöüäöüäöüäöüäöüx" CASCADE;
DROP DOMAIN event_id CASCADE;
DROP FUNCTION partitions_of;
REVOKE CREATE ON SCHEMA public FROM regress_snowflake_partitions;
DROP ROLE regress_snowflake_partitions;
