-- The extension in a schema of its own, in a database of its own.
SELECT current_database() AS home \gset
CREATE DATABASE regress_snowflake_schema;
\c regress_snowflake_schema
CREATE SCHEMA ids;
CREATE EXTENSION snowflake SCHEMA ids;
SELECT nspname, count(*) FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace
WHERE proname LIKE '%snowflake%' GROUP BY nspname;

-- With an empty search path.
SET search_path = '';
SELECT ids.snowflake_machine(ids.snowflake_next());
SELECT count(*) FROM ids.snowflake_next(3);
SELECT (ids.snowflake_parts(4097)).machine, (ids.snowflake_parts(4097)).sequence,
       ids.snowflake_floor(ids.snowflake_timestamp(4097)),
       ids.snowflake_range('["2025-01-01 00:00:00+00","2025-01-01 00:00:00.001+00")');
SELECT status, machine_id FROM ids.pg_stat_snowflake;
CREATE TABLE public.event (id bigint PRIMARY KEY DEFAULT ids.snowflake_next(), payload text);
INSERT INTO public.event (payload) VALUES ('a');

-- Moved to another schema, all that uses it goes along.
CREATE SCHEMA elsewhere;
ALTER EXTENSION snowflake SET SCHEMA elsewhere;
INSERT INTO public.event (payload) VALUES ('b');
SELECT count(*), count(DISTINCT id), bool_and(elsewhere.snowflake_machine(id) = 7) AS ours
FROM public.event;
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'public.event'::regclass;
SELECT status, machine_id FROM elsewhere.pg_stat_snowflake;
CREATE TABLE public.old (id bigserial);
SELECT * FROM elsewhere.snowflake_adopt('public.old', 'id', drop_sequence => true);
CREATE TABLE public.cut (id bigint) PARTITION BY RANGE (id);
SELECT partition FROM elsewhere.snowflake_create_partitions('public.cut', '2027-01-01', '2027-01-02', '1 day');
DROP TABLE public.old, public.cut;
\set VERBOSITY terse
SELECT ids.snowflake_next();
\set VERBOSITY default
ALTER EXTENSION snowflake SET SCHEMA public;
INSERT INTO public.event (payload) VALUES ('c');
SET search_path = public;

-- It is not dropped from under a default, unless asked for; the ids stay.
DROP EXTENSION snowflake;
DROP FUNCTION snowflake_next();
SET client_min_messages = warning;
DROP EXTENSION snowflake CASCADE;
RESET client_min_messages;
SELECT max(id) AS newest FROM event \gset
SELECT count(*) FROM event;
INSERT INTO event (payload) VALUES ('d');
SELECT count(*) FROM pg_proc WHERE proname LIKE '%snowflake%';

-- Created again, it goes on where the server is: nothing of that lives in the database.
CREATE EXTENSION snowflake VERSION '1.0';
CREATE EXTENSION IF NOT EXISTS snowflake;
ALTER TABLE event ALTER COLUMN id SET DEFAULT snowflake_next();
INSERT INTO event (payload) VALUES ('e') RETURNING id > :newest AS larger;
ALTER EXTENSION snowflake UPDATE;

\c :home
DROP DATABASE regress_snowflake_schema;
