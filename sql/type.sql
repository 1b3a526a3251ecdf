-- The type snowflake: what it takes and gives, its casts, and JSON. What queries do with it: type_plans.
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';

CREATE TABLE event (id snowflake PRIMARY KEY DEFAULT snowflake_next(), payload text);
INSERT INTO event (payload) VALUES ('a'), ('b') RETURNING snowflake_machine(id) AS machine;

-- Text. Digits, and blanks around them; nothing that other integers may be written with.
SELECT '0'::snowflake, '9223372036854775807'::snowflake AS largest, ' 42 '::snowflake AS blanks,
       E'\t42\n'::snowflake AS more_blanks, '00000000000000000000000000042'::snowflake AS zeros;

-- What is wrong, as a soft error where there are such (from PostgreSQL 16 on).
CREATE FUNCTION input_error(input text, OUT code text, OUT message text, OUT detail text, OUT hint text)
LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('server_version_num')::int >= 160000 THEN
        EXECUTE 'SELECT sql_error_code, message, detail, hint FROM pg_input_error_info($1, ''snowflake'')'
            INTO code, message, detail, hint USING input;
    ELSE
        SELECT * INTO code, message, detail, hint FROM error_of(format('SELECT %L::snowflake', input));
    END IF;
END $$;
\x on
SELECT input, e.*
FROM unnest('{-1,-0,-9223372036854775809,9223372036854775808,123456789012345678901234567890,1.5,1.0,1e3,
              0x10,0b1,1_000,+1,"1 2","1,2","- 1",-,--1,"","  ",garbage,1a,Infinity,٣}'::text[]) AS input,
     input_error(input) AS e;
SELECT * FROM error_of($$SELECT '-1'::snowflake$$);
SELECT * FROM error_of($$SELECT '0x10'::snowflake$$);
SELECT * FROM error_of($$SELECT '9223372036854775808'::snowflake$$);
\x off

-- COPY, text and binary; a file of bigints is one of snowflakes. A negative one is not taken.
SELECT setting || '/type.bin' AS file FROM pg_settings WHERE name = 'data_directory' \gset
CREATE TABLE target (id snowflake, payload text);
CREATE TABLE plain (id bigint, payload text);
COPY target FROM stdin;
9007199254740993	above 2^53
\.
COPY target TO stdout;
COPY event TO :'file' (FORMAT binary);
COPY target FROM :'file' (FORMAT binary);
COPY plain FROM :'file' (FORMAT binary);
SELECT count(*), (SELECT count(*) FROM target JOIN event USING (id)) AS snowflakes,
       (SELECT count(*) FROM plain JOIN event USING (id)) AS bigints
FROM target;
TRUNCATE target, plain;
INSERT INTO plain VALUES (-1, 'negative');
COPY plain TO :'file' (FORMAT binary);
\x on
SELECT * FROM error_of(format('COPY target FROM %L (FORMAT binary)', :'file'));
SELECT * FROM error_of(format('COPY plain FROM %L (FORMAT binary)', :'file'));
\x off
SELECT snowflake_send(id), snowflake_send(id) = int8send(id) AS same
FROM (VALUES ('9007199254740993'::snowflake)) AS v(id);

-- Numbers become one by themselves, and it becomes a bigint.
INSERT INTO target VALUES (1), (1::smallint), (9007199254740993), (12.0), ('5'), (NULL), (DEFAULT);
UPDATE target SET id = 2 WHERE id = 1;
TABLE target;
SELECT 5::snowflake, 5::smallint::snowflake, 5::bigint::snowflake, 5::numeric::snowflake,
       CAST('5' AS snowflake), snowflake '5', snowflake(5), '5'::text::snowflake;
SELECT id::bigint, id::numeric, id::text, id || '' AS text FROM (VALUES (9007199254740993::snowflake)) AS v(id);
SELECT attempt, e.code, e.message
FROM unnest('{SELECT 9223372036854775808::snowflake,
              INSERT INTO target VALUES (9223372036854775808),
              INSERT INTO target VALUES (true), INSERT INTO target VALUES (now()),
              SELECT id = 1.5 FROM target,SELECT id = now() FROM target}'::text[]) AS attempt,
     error_of(attempt) AS e;
CREATE TABLE numbers AS SELECT 1::numeric AS n, 1::bigint AS b, 'x'::text AS t, 'x'::varchar(20) AS v;
INSERT INTO numbers SELECT id, id, id, id FROM (VALUES (7::snowflake)) AS v(id);
TABLE numbers;

-- Casts keep the number and do not look at its sign, so that a stand-in for nothing is no error. Where
-- that matters there is a constraint; what makes no sense of the number says so.
SELECT count(*) FROM event WHERE id IN (-1);
SELECT COALESCE(NULL::snowflake, -1), (-1)::snowflake;
CREATE TABLE checked (id snowflake CHECK (id >= 0));
SELECT code, message FROM error_of('INSERT INTO checked VALUES (-1)');
SELECT code, message FROM error_of('SELECT snowflake_timestamp((-1)::snowflake)');

-- With what it meets, it stays a snowflake; where bigint comes first it becomes one.
SELECT pg_typeof(COALESCE(id, 0)) AS coalesce, pg_typeof(COALESCE(id, '0')) AS literal,
       pg_typeof(COALESCE(id, 0::smallint)) AS smallint, pg_typeof(COALESCE(id, 0::bigint)) AS bigint,
       pg_typeof(CASE WHEN true THEN 0 ELSE id END) AS case,
       pg_typeof(CASE WHEN true THEN id END) AS alone, pg_typeof(GREATEST(id, 0)) AS greatest,
       pg_typeof(NULLIF(id, 0)) AS nullif, pg_typeof(ARRAY[id, 0]) AS array,
       pg_typeof(id + 1) AS plus, pg_typeof(array_agg(id)) AS array_agg,
       pg_typeof(min(id)) AS min, pg_typeof(max(id)) AS max, pg_typeof(sum(id)) AS sum
FROM event WHERE payload = 'a' GROUP BY id;
SELECT pg_typeof(id), count(*) FROM (SELECT id FROM event UNION ALL SELECT 1) u GROUP BY 1;
SELECT pg_typeof(id), count(*) FROM (SELECT 1 AS id UNION ALL SELECT id FROM event) u GROUP BY 1;
SELECT pg_typeof(id), count(*) FROM (SELECT id FROM event UNION SELECT 1::bigint) u GROUP BY 1;
SELECT pg_typeof(id), count(*) FROM (SELECT 1::bigint AS id UNION SELECT id FROM event) u GROUP BY 1;
SELECT id FROM (VALUES (9007199254740993::snowflake), (1), (2), ('3')) AS v(id) ORDER BY id;
WITH RECURSIVE r(id) AS (SELECT 1::snowflake UNION ALL SELECT id + 1 FROM r WHERE id < 3)
SELECT pg_typeof(id), id FROM r;

-- Functions and operators of bigint and of the extension.
SELECT id % 16 AS mod, id >> 22 AS shift, id & 4095 AS and, -id AS minus, abs(id), to_hex(id),
       snowflake_parts(id), snowflake_encode(id), snowflake_decode(snowflake_encode(id)) = id AS same,
       int8range(id, id + 2), int8range(1, 10) @> id::bigint AS inside
FROM (VALUES (4097::snowflake)) AS v(id);

-- JSON has it as a string, whose last digit is right; and takes it back, from a number too.
TRUNCATE target;
INSERT INTO target VALUES (9007199254740993, 'above 2^53');
SELECT to_json(id), to_jsonb(id), row_to_json(t), to_jsonb(t), json_build_object('id', id),
       jsonb_build_object('id', id), json_build_array(id, 1), jsonb_build_object(id, id) AS key
FROM target t;
SELECT json_agg(id), jsonb_agg(id), json_agg(t), json_object_agg(payload, id), array_to_json(array_agg(id)),
       to_json(array_agg(id)), to_jsonb(ARRAY[max(id)::snowflake, NULL]), to_json(max(id)) AS bigint
FROM target t;
SELECT r.id, pg_typeof(r.id)
FROM (VALUES ('{"id": "9007199254740993"}'::json), ('{"id": 9007199254740993}'), ('{"id": null}'), ('{}')) AS v(j),
     json_populate_record(NULL::target, j) AS r;
SELECT id FROM jsonb_to_record('{"id": "9007199254740993"}') AS r(id snowflake);
SELECT id FROM jsonb_to_recordset('[{"id": "1"}, {"id": 2}]') AS r(id snowflake);
SELECT * FROM jsonb_populate_record(NULL::target, (SELECT to_jsonb(t) FROM target t));
SELECT jsonb_populate_record(NULL::target, to_jsonb(t)) = t AS same FROM target t;
SELECT attempt, e.code, e.message
FROM unnest('{"{\"id\": \"-1\"}","{\"id\": 1.5}","{\"id\": true}"}'::text[]) AS attempt,
     error_of(format('SELECT * FROM json_populate_record(NULL::target, %L)', attempt)) AS e;

-- Arrays.
CREATE TABLE list (ids snowflake[]);
INSERT INTO list VALUES ('{1,2,9007199254740993}'), (ARRAY[1, 2]), (ARRAY[3::bigint]), ('{}'), (ARRAY[NULL, 4]),
                        (ARRAY(SELECT id FROM event WHERE id < 0));
SELECT ids, to_json(ids) FROM list ORDER BY ids;
SELECT ids FROM list WHERE 2 = ANY(ids);
SELECT ids || 5, 5 || ids, array_append(ids, 5::bigint), array_position(ids, 2), ids[1], ids::bigint[],
       ids = ARRAY[1, 2]::bigint[]::snowflake[] AS same, ids @> '{1}' AS contains
FROM list WHERE ids = '{1,2}';
SELECT unnest(ids), pg_typeof(unnest(ids)) FROM list WHERE ids[3] IS NOT NULL;
SELECT code, message FROM error_of($$INSERT INTO list VALUES ('{1,-2}')$$);

-- Domains, composite types, functions, variables.
CREATE DOMAIN event_id AS snowflake CHECK (VALUE > 0);
CREATE TYPE reference AS (kind text, id snowflake);
CREATE TABLE typed (id event_id DEFAULT snowflake_next(), ref reference);
INSERT INTO typed VALUES (5, ROW('event', 9007199254740993)), ('6', '(event,7)');
SELECT id, (ref).id AS ref_id, to_json(t) FROM typed t WHERE id = 5 OR (ref).id IN (7, 8) ORDER BY id;
SELECT code, message FROM error_of('INSERT INTO typed VALUES (0)');
CREATE FUNCTION newest(bound snowflake DEFAULT 9223372036854775807) RETURNS snowflake LANGUAGE plpgsql AS $$
DECLARE
    found snowflake := 0;
    other event.id%TYPE;
    new event_id;
BEGIN
    SELECT max(id) INTO found FROM event WHERE id <= bound;
    FOR other IN SELECT id FROM event LOOP
        found := GREATEST(found, other);
    END LOOP;
    new := snowflake_next();
    IF new <= found OR found = 0 THEN
        RAISE 'order is lost';
    END IF;
    RETURN found;
END $$;
SELECT newest() = max(id) AS newest, newest(snowflake_next()) = max(id) AS with_bigint FROM event;
SELECT code FROM error_of('SELECT newest(5)');
CREATE FUNCTION same(snowflake) RETURNS snowflake LANGUAGE sql IMMUTABLE AS 'SELECT $1';
SELECT same(5), same('5'), same(5::bigint), same(max(id)) = max(id) AS aggregate FROM event;

-- Upsert, and a generated column.
CREATE TABLE account (
    id snowflake PRIMARY KEY DEFAULT snowflake_next(),
    created_at timestamptz GENERATED ALWAYS AS (snowflake_timestamp(id)) STORED,
    n int);
INSERT INTO account VALUES (5, DEFAULT, 1), ('6', DEFAULT, 1), (5000000000, DEFAULT, 1);
INSERT INTO account (id, n) VALUES (5, 2), ('6', 2), (5000000000, 2), (7, 2)
ON CONFLICT (id) DO UPDATE SET n = account.n + EXCLUDED.n WHERE account.id < 5000000000;
SELECT id, n, created_at = snowflake_timestamp(id) AS created FROM account ORDER BY id;
INSERT INTO account (n) VALUES (9) RETURNING created_at > now() - interval '1 hour' AS recent;
MERGE INTO account USING (VALUES (5), (8)) AS source(id) ON account.id = source.id
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED THEN INSERT (id, n) VALUES (source.id, 0);
SELECT id, n FROM account WHERE id < 5000000000 ORDER BY id;

-- A column of bigints becomes one of snowflakes, and back, in place: table and indexes stay as they are.
CREATE TABLE old (id bigint PRIMARY KEY DEFAULT snowflake_next(), parent bigint REFERENCES old, n int);
INSERT INTO old SELECT n, NULLIF(n - 1, 0) FROM generate_series(1, 100) n;
CREATE INDEX old_parent ON old USING hash (parent);
CREATE INDEX old_brin ON old USING brin (id);
CREATE TEMP TABLE files AS
SELECT relname, relfilenode FROM pg_class WHERE relname ~ '^old';
ALTER TABLE old ALTER COLUMN id TYPE snowflake, ALTER COLUMN parent TYPE snowflake;
SELECT f.relname, f.relfilenode = c.relfilenode AS in_place
FROM files f LEFT JOIN pg_class c USING (relname) ORDER BY f.relname COLLATE "C";
SELECT attname, format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid = 'old'::regclass AND attnum > 0;
SELECT to_json(o) FROM old o WHERE id = 100;
INSERT INTO old (parent) VALUES (100) RETURNING snowflake_machine(id) AS machine;
SELECT code, message FROM error_of('INSERT INTO old VALUES (101, 101000)');
ALTER TABLE old ALTER COLUMN id TYPE bigint, ALTER COLUMN parent TYPE bigint;
SELECT count(*) AS files, count(*) FILTER (WHERE f.relfilenode = c.relfilenode) AS in_place
FROM files f LEFT JOIN pg_class c USING (relname);

-- Foreign keys between bigint and snowflake, both ways.
CREATE TABLE parent_bigint (id bigint PRIMARY KEY);
CREATE TABLE child_snowflake (id snowflake REFERENCES parent_bigint ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE parent_snowflake (id snowflake PRIMARY KEY);
CREATE TABLE child_bigint (id bigint REFERENCES parent_snowflake ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE child_integer (id int REFERENCES parent_snowflake);
INSERT INTO parent_bigint VALUES (1), (2), (9007199254740993);
INSERT INTO child_snowflake VALUES (1), (2), (9007199254740993);
INSERT INTO parent_snowflake VALUES (1), (2), (9007199254740993);
INSERT INTO child_bigint VALUES (1), (2), (9007199254740993);
INSERT INTO child_integer VALUES (2);
SELECT attempt, e.code
FROM unnest('{INSERT INTO child_snowflake VALUES (3), INSERT INTO child_bigint VALUES (3),
              INSERT INTO child_integer VALUES (3), DELETE FROM parent_snowflake WHERE id = 2}'::text[]) AS attempt,
     error_of(attempt) AS e;
DELETE FROM parent_bigint WHERE id = 1;
DELETE FROM parent_snowflake WHERE id = 1;
UPDATE parent_bigint SET id = id + 10;
UPDATE parent_snowflake SET id = id + 10 WHERE id <> 2;
SELECT (SELECT array_agg(id ORDER BY id) FROM child_snowflake) AS snowflakes,
       (SELECT array_agg(id ORDER BY id) FROM child_bigint) AS bigints;

DROP TABLE event, target, plain, numbers, checked, list, typed, account, old, files, child_snowflake,
           child_bigint, child_integer, parent_bigint, parent_snowflake;
DROP FUNCTION newest, same, input_error;
DROP TYPE reference;
DROP DOMAIN event_id;

-- Nothing that worked without the extension has another type or answer with it.
SELECT current_database() AS home \gset
CREATE DATABASE regress_snowflake_type;
\c regress_snowflake_type
CREATE DOMAIN whole AS int;
CREATE TABLE expression (text text, before text, after text);
INSERT INTO expression VALUES
    ('min(5)'), ('max(5::smallint)'), ('min(5::bigint)'), ('max(5.5)'), ('min(''5'')'), ('max(NULL)'),
    ('min(5::whole)'), ('max(5::oid)'), ('sum(5)'), ('sum(5::bigint)'), ('avg(5::whole)'), ('abs(''5'')'),
    ('COALESCE(NULL, 5)'), ('COALESCE(5, ''6'')'), ('COALESCE(5, 6::bigint)'), ('GREATEST(5::smallint, 6)'),
    ('NULLIF(5, ''5'')'), ('CASE WHEN true THEN 5 ELSE 6::bigint END'), ('ARRAY[5, ''6'']'),
    ('ARRAY[5, 6::bigint]'), ('5 = ''5'''), ('5::bigint = ''5'''), ('5 = 5::smallint'), ('5::whole = 5'),
    ('5::bigint > ''4'''), ('5 IN (''4'', 5)'), ('5::bigint = ANY(''{5}'')'), ('5 = ANY(''{5}''::bigint[])'),
    ('5 + ''6'''), ('5::bigint % ''3'''), ('5 || ''6'''), ('5::bigint <@ int8range(1, 10)'),
    ('''5'' <@ int8range(1, 10)'), ('5 <@ int4range(1, 10)'), ('''{[1,2)}'' @> 1::bigint'),
    ('generate_series(5, ''5'')'), ('5::regclass::oid = 5'), ('to_json(5::bigint)'), ('to_json(5)'),
    ('array_append(''{1}''::bigint[], 5)'), ('format(''%s'', 5)'), ('pg_size_pretty(5)'), ('round(5)'),
    ('mod(5::bigint, 3)'), ('''5''::text = ''5'''), ('5::text = ''5''');
CREATE FUNCTION answer(expression text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    result text;
BEGIN
    EXECUTE format('SELECT format(''%%s: %%s'', pg_typeof(x), x) FROM (SELECT %s) AS v(x)', expression) INTO result;
    RETURN result;
EXCEPTION WHEN OTHERS THEN
    RETURN SQLERRM;
END $$;
UPDATE expression SET before = answer(text);
PREPARE one AS SELECT $1 <@ int8range(1, 10);
PREPARE two AS SELECT 5::bigint = $1, $2 = ANY(ARRAY[5]), COALESCE($3, 5);
SELECT array_agg(name || parameter_types::text ORDER BY name) AS before FROM pg_prepared_statements \gset
DEALLOCATE ALL;
CREATE EXTENSION snowflake;
UPDATE expression SET after = answer(text);
PREPARE one AS SELECT $1 <@ int8range(1, 10);
PREPARE two AS SELECT 5::bigint = $1, $2 = ANY(ARRAY[5]), COALESCE($3, 5);
SELECT array_agg(name || parameter_types::text ORDER BY name) = :'before' AS same, :'before' AS parameters
FROM pg_prepared_statements;
SELECT * FROM expression WHERE before IS DISTINCT FROM after;
SELECT text, after FROM expression ORDER BY text COLLATE "C";

-- It is not dropped from under a column, unless asked for.
CREATE TABLE event (id snowflake DEFAULT snowflake_next(), payload text);
CREATE TABLE plain (id bigint DEFAULT snowflake_next());
\set VERBOSITY terse
DROP EXTENSION snowflake;
SET client_min_messages = warning;
DROP EXTENSION snowflake CASCADE;
RESET client_min_messages;
\set VERBOSITY default
SELECT attrelid::regclass, attname, format_type(atttypid, NULL) FROM pg_attribute
WHERE attrelid IN ('event'::regclass, 'plain'::regclass) AND attnum > 0 AND NOT attisdropped
ORDER BY attrelid::regclass::text;
SELECT count(*) FROM pg_cast WHERE oid >= 16384;
\c :home
DROP DATABASE regress_snowflake_type;
