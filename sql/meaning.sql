-- Creating the extension changes the meaning of no expression that PostgreSQL knew without it: ranges,
-- literals without a type and parameters mean what they meant. In a database of its own, before and
-- after.
SELECT current_database() AS home \gset
CREATE DATABASE regress_snowflake_meaning;
\c regress_snowflake_meaning
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';

CREATE TABLE t (id bigint, n integer, at timestamptz, times tstzrange, numbers int8range,
                many_times tstzmultirange, many_numbers int8multirange);
INSERT INTO t VALUES (5, 5, '2025-01-05 00:00+00', '[2025-01-01 00:00+00,2025-02-01 00:00+00)', '[1,9)',
                      '{[2025-01-01 00:00+00,2025-02-01 00:00+00)}', '{[1,9),[20,30)}');
CREATE TABLE expression (number int PRIMARY KEY GENERATED ALWAYS AS IDENTITY, text text);
INSERT INTO expression (text) VALUES
    -- parameters
    ('$1 <@ tstzrange(now(), NULL)'), ('$1 <@ times'), ('times @> $1'), ('$1 <@ numbers'), ('numbers @> $1'),
    ('$1 <@ many_times'), ('many_numbers @> $1'), ('$1 && times'), ('$1 << times'), ('$1 = id'), ('id >= $1'),
    ('at >= $1'), ('$1 < at'), ('id BETWEEN $1 AND $2'), ('at BETWEEN $1 AND $2'), ('id = ANY($1)'),
    ('times && $1'), ('$1 -|- numbers'), ('lower($1)'), ('$1 @> $2'), ('$1 >= $2'),
    -- literals without a type
    ('''[2025-01-02 00:00+00,2025-01-03 00:00+00)'' <@ times'), ('''2025-01-02 00:00+00'' <@ times'),
    ('times @> ''2025-01-02 00:00+00'''), ('times @> ''[2025-01-02 00:00+00,2025-01-03 00:00+00)'''),
    ('''[2,3)'' <@ numbers'), ('''5'' <@ numbers'), ('numbers @> ''5'''), ('numbers @> ''[2,3)'''),
    ('''{[2,3)}'' <@ many_numbers'), ('many_times @> ''{[2025-01-02 00:00+00,2025-01-03 00:00+00)}'''),
    ('id = ''5'''), ('id >= ''4'''), ('''6'' > id'), ('at > ''2025-01-01'''), ('at = ''2025-01-05 00:00+00'''),
    ('''2025-01-01'' < at'), ('id IN (''4'', ''5'')'), ('id + ''1'''), ('at - ''1 hour'''), ('at - ''2025-01-01 00:00+00'''),
    ('NULL <@ times'), ('NULL <@ numbers'), ('NULL >= at'), ('NULL = id'), ('''a'' < ''b'''), ('''1'' = ''1'''),
    -- bigint, integer, timestamptz, ranges and multiranges
    ('id <@ numbers'), ('n <@ numbers'), ('5 <@ int8range(1, 9)'), ('5::bigint <@ int8range(1, 9)'),
    ('int8range(1, 9) @> 5::bigint'), ('numbers @> id'), ('at <@ times'), ('times @> at'), ('now() <@ times'),
    ('id <@ many_numbers'), ('many_numbers @> id'), ('at <@ many_times'), ('many_times @> at'),
    ('times <@ many_times'), ('many_times @> times'), ('numbers <@ many_numbers'), ('times && many_times'),
    ('times * tstzrange(at, NULL)'), ('times = times'), ('numbers < int8range(2, 3)'),
    ('date ''2025-01-05'' <@ times'), ('''2025-01-05 00:00''::timestamp <@ times'),
    ('id > 4'), ('id > 4.5'), ('id = n'), ('n = id'), ('5 = id'), ('id = 5::smallint'), ('id > n'),
    ('id % 3'), ('id >> 1'), ('id::text'), ('id::int'), ('n::bigint'), ('id::numeric'), ('id || ''x'''),
    ('at > date ''2025-01-01'''), ('at + interval ''1 hour'''), ('to_json(id)::text'), ('row_to_json(t)::text'),
    -- what is an error stays one
    ('id <@ times'), ('5 <@ times'), ('id >= at'), ('id >= now()'), ('5 >= now()'), ('at = id'), ('id::timestamptz'),
    ('at::bigint'), ('times @> id'), ('id <@ many_times'), ('at <@ numbers'), ('''x'' <@ numbers'), ('id = ''x'''),
    ('$1 <@ $2'), ('''a'' <@ ''b'''),
    -- aggregates, conditionals and functions
    ('min(id)'), ('max(id)'), ('min(at)'), ('max(at)'), ('max(n)'), ('sum(id)'), ('avg(id)'), ('count(DISTINCT id)'),
    ('array_agg(id)'), ('range_agg(times)'), ('max(times)'), ('greatest(id, n)'), ('greatest(id, ''7'')'), ('coalesce(id, 0)'),
    ('coalesce(NULL, at)'), ('CASE WHEN true THEN id ELSE n END'), ('nullif(id, 5)'), ('least(at, ''2025-01-01 00:00+00'')'),
    ('lower(times)'), ('upper(numbers)'), ('isempty(times)'), ('range_merge(numbers, ''[50,60)'')'), ('abs(id)'),
    ('ARRAY[id, n]'), ('ARRAY[id] @> ''{5}'''), ('id = ANY(''{4,5}'')'), ('(id, at) > (4, ''2025-01-01'')'),
    ('ROW(id, times) = ROW(5, ''[2025-01-01 00:00+00,2025-02-01 00:00+00)'')'), ('extract(epoch FROM at)'),
    ('generate_series(id, 6)'), ('width_bucket(id, ''{1,5,9}'')');

-- What an expression means: the types of its parameters, its own type and value, and the operators and
-- functions, by their numbers, that PostgreSQL found for it. An error is its SQLSTATE and message.
CREATE FUNCTION meaning_of(expression text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    parameters text;
    tree text;
    type text;
    value text;
BEGIN
    EXECUTE 'PREPARE meaning AS SELECT ' || expression || ' FROM t';
    parameters := (SELECT parameter_types::text FROM pg_prepared_statements WHERE name = 'meaning');
    DEALLOCATE meaning;
    IF parameters <> '{}' THEN
        RETURN 'parameters ' || parameters;
    END IF;
    EXECUTE 'CREATE VIEW meaning AS SELECT ' || expression || ' AS value FROM t';
    tree := (SELECT ev_action FROM pg_rewrite WHERE ev_class = 'meaning'::regclass);
    type := (SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'meaning'::regclass AND attnum = 1);
    DROP VIEW meaning;
    EXECUTE 'SELECT (' || expression || ')::text FROM t LIMIT 1' INTO value;
    RETURN concat_ws(' ', type, coalesce(value, 'NULL'),
        (SELECT string_agg(hit[1] || ' ' || hit[2], ' ')
         FROM regexp_matches(tree, ':(opno|opnos|funcid|aggfnoid|resultfunc) (\d+|\(o [\d ]+\))', 'g') AS hit));
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE FUNCTION meanings() RETURNS TABLE (text text, meaning text) LANGUAGE sql AS
$$ SELECT text, meaning_of(text) FROM expression ORDER BY number $$;

CREATE TABLE before AS SELECT * FROM meanings();
CREATE EXTENSION snowflake;
CREATE TABLE after AS SELECT * FROM meanings();
SELECT count(*) > 100 AS many, count(*) FILTER (WHERE b.meaning = a.meaning) = count(*) AS "all the same",
       count(*) FILTER (WHERE b.meaning LIKE 'parameters %') AS parameters,
       count(*) FILTER (WHERE b.meaning ~ '^[0-9A-Z]{5} ') AS errors
FROM before b JOIN after a USING (text);
SELECT text, b.meaning AS before, a.meaning AS after
FROM before b FULL JOIN after a USING (text) WHERE b.meaning IS DISTINCT FROM a.meaning;
-- Some of them, to see that they are what they should be.
SELECT text, regexp_replace(meaning, ' (opno|funcid|aggfnoid) .*', '') AS meaning
FROM after
WHERE text IN ('$1 <@ times', '$1 <@ numbers', 'id <@ times', 'id <@ numbers', 'max(id)', 'id >= at', 'greatest(id, ''7'')',
               'times @> ''2025-01-02 00:00+00''', '$1 <@ $2');

-- An operator on these types, had the extension one, would be found out.
CREATE FUNCTION within(bigint, tstzrange) RETURNS boolean LANGUAGE sql AS 'SELECT snowflake_within($1, $2)';
CREATE OPERATOR <@ (FUNCTION = within, LEFTARG = bigint, RIGHTARG = tstzrange);
SELECT text, b.meaning AS before, a.meaning AS after
FROM before b JOIN meanings() a USING (text)
WHERE b.meaning <> a.meaning AND text IN ('$1 <@ times', '$1 <@ tstzrange(now(), NULL)', '''2025-01-02 00:00+00'' <@ times');

-- And dropping the extension leaves nothing behind.
DROP OPERATOR <@ (bigint, tstzrange);
DROP FUNCTION within;
DROP EXTENSION snowflake;
SELECT count(*) FROM before b JOIN meanings() a USING (text) WHERE b.meaning <> a.meaning;
\c :home
DROP DATABASE regress_snowflake_meaning;
