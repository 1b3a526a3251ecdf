-- One id per row, where PostgreSQL evaluates a default once per row. ids_used() counts what the server
-- has issued, so it sees an id that no row has got, too.
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';

CREATE TABLE event (id bigint PRIMARY KEY DEFAULT snowflake_next(), payload text);

-- INSERT in all its forms.
SELECT ids_used($$INSERT INTO event (payload) VALUES ('one')$$);
SELECT ids_used($$INSERT INTO event (payload) VALUES ('a'), ('b'), ('c')$$);
SELECT ids_used($$INSERT INTO event VALUES (DEFAULT, 'd'), (DEFAULT, 'e')$$);
SELECT ids_used($$INSERT INTO event DEFAULT VALUES$$);
SELECT ids_used($$INSERT INTO event (payload) SELECT n FROM generate_series(1, 10000) n$$);
SELECT ids_used($$WITH added AS (INSERT INTO event (payload) VALUES ('f'), ('g') RETURNING id)
                  INSERT INTO event (payload) SELECT id::text FROM added$$);
SELECT ids_used($$INSERT INTO event VALUES (1, 'an id of our own')$$);
SELECT count(*), count(DISTINCT id), count(*) FILTER (WHERE snowflake_machine(id) = 7) AS ours
FROM event;

-- The ids are in the order of the rows.
SELECT count(*), bool_and(id > before) AS ascending
FROM (SELECT id, lag(id) OVER (ORDER BY payload::int) AS before
      FROM event WHERE length(payload) < 6 AND payload ~ '^\d+$') numbered;

-- COPY; a column that is copied takes no id.
SELECT ids_issued AS before FROM pg_stat_snowflake \gset
COPY event (payload) FROM stdin;
copied 1
copied 2
copied 3
\.
SELECT ids_issued - :before AS ids_used FROM pg_stat_snowflake;
COPY event (id, payload) FROM stdin;
2	copied with an id
\.
SELECT ids_issued - :before AS ids_used FROM pg_stat_snowflake;
SELECT count(DISTINCT id) FROM event WHERE payload ~ '^copied \d';

-- UPDATE to the default.
SELECT ids_used($$UPDATE event SET id = DEFAULT WHERE payload ~ '^copied'$$);
SELECT count(DISTINCT id) FROM event WHERE payload ~ '^copied' AND snowflake_machine(id) = 7;

-- ON CONFLICT: a default is evaluated for every row that is proposed. A row that is there keeps its id.
CREATE TABLE page (id bigint NOT NULL DEFAULT snowflake_next(), url text UNIQUE, hits int DEFAULT 1);
SELECT ids_used($$INSERT INTO page (url) VALUES ('/a'), ('/b')$$);
CREATE TABLE page_before AS TABLE page;
SELECT ids_used($$INSERT INTO page (url) VALUES ('/a'), ('/b'), ('/c')
                  ON CONFLICT (url) DO NOTHING$$);
SELECT ids_used($$INSERT INTO page (url) VALUES ('/a'), ('/d')
                  ON CONFLICT (url) DO UPDATE SET hits = page.hits + 1$$);
SELECT url, page.hits, page.id = page_before.id AS "same id"
FROM page LEFT JOIN page_before USING (url) ORDER BY url;
SELECT count(*), count(DISTINCT id) FROM page;

-- MERGE: for each row that it inserts.
SELECT ids_used($$MERGE INTO page USING (VALUES ('/a'), ('/b'), ('/e'), ('/f')) AS seen(url)
                  ON page.url = seen.url
                  WHEN MATCHED THEN UPDATE SET hits = hits + 1
                  WHEN NOT MATCHED THEN INSERT (url) VALUES (seen.url)$$);
SELECT ids_used($$MERGE INTO page USING (VALUES ('/f'), ('/g')) AS seen(url)
                  ON page.url = seen.url
                  WHEN NOT MATCHED THEN INSERT (id, url) VALUES (DEFAULT, seen.url)$$);
SELECT url, page.hits, page.id = page_before.id AS "same id"
FROM page LEFT JOIN page_before USING (url) ORDER BY url;
SELECT count(*), count(DISTINCT id) FROM page;
DROP TABLE page, page_before;

-- ALTER TABLE … ADD COLUMN … DEFAULT rewrites the table, for the default is volatile.
CREATE TABLE old (payload int);
INSERT INTO old SELECT generate_series(1, 5000);
SELECT ids_used($$ALTER TABLE old ADD COLUMN id bigint NOT NULL DEFAULT snowflake_next()$$);
SELECT count(*), count(DISTINCT id), bool_and(snowflake_machine(id) = 7) AS ours FROM old;
SELECT ids_used($$ALTER TABLE old ADD PRIMARY KEY (id)$$);
SELECT ids_used($$INSERT INTO old (payload) VALUES (0)$$);
-- A default that is set later is for later rows.
CREATE TABLE older (id bigint, payload int);
INSERT INTO older VALUES (1, 1);
SELECT ids_used($$ALTER TABLE older ALTER COLUMN id SET DEFAULT snowflake_next()$$);
SELECT ids_used($$INSERT INTO older (payload) VALUES (2), (3)$$);
SELECT count(DISTINCT id) FROM older;

-- The default goes along with a table that is made like another, and with a domain.
CREATE TABLE event_copy (LIKE event INCLUDING DEFAULTS);
SELECT ids_used($$INSERT INTO event_copy (payload) VALUES ('a'), ('b')$$);
CREATE DOMAIN snowflake_id AS bigint DEFAULT snowflake_next() CHECK (VALUE > 0);
CREATE TABLE typed (id snowflake_id, payload text);
SELECT ids_used($$INSERT INTO typed (payload) VALUES ('a'), ('b')$$);
CREATE TEMPORARY TABLE passing (id bigint DEFAULT snowflake_next(), payload text);
SELECT ids_used($$INSERT INTO passing (payload) VALUES ('a'), ('b')$$);
DROP TABLE old, older, event_copy, typed, passing;
DROP DOMAIN snowflake_id;

-- Triggers.
CREATE TABLE by_trigger (id bigint PRIMARY KEY, payload text);
CREATE TABLE log (id bigint PRIMARY KEY DEFAULT snowflake_next(), of bigint);
CREATE FUNCTION give_id() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.id := coalesce(NEW.id, snowflake_next());
    RETURN NEW;
END $$;
CREATE FUNCTION write_log() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO log (of) VALUES (NEW.id);
    RETURN NULL;
END $$;
CREATE TRIGGER give_id BEFORE INSERT ON by_trigger FOR EACH ROW EXECUTE FUNCTION give_id();
CREATE TRIGGER write_log AFTER INSERT ON by_trigger FOR EACH ROW EXECUTE FUNCTION write_log();
SELECT ids_used($$INSERT INTO by_trigger (payload) SELECT generate_series(1, 100)$$);
SELECT ids_used($$INSERT INTO by_trigger (id, payload) VALUES (5, 'five')$$);
SELECT count(DISTINCT log.id), count(DISTINCT by_trigger.id),
       count(*) FILTER (WHERE log.id > by_trigger.id) AS "log is later"
FROM by_trigger JOIN log ON log.of = by_trigger.id;
DROP TABLE by_trigger, log;
DROP FUNCTION give_id, write_log;

-- An id that was rolled back never comes again: what follows is larger.
BEGIN;
INSERT INTO event (payload) VALUES ('rolled back') RETURNING id AS lost \gset
ROLLBACK;
INSERT INTO event (payload) VALUES ('kept') RETURNING id > :lost AS larger;
BEGIN;
INSERT INTO event (payload) VALUES ('before the savepoint') RETURNING id AS kept \gset
SAVEPOINT here;
INSERT INTO event (payload) VALUES ('after the savepoint') RETURNING id AS lost_too \gset
ROLLBACK TO SAVEPOINT here;
INSERT INTO event (payload) VALUES ('after the rollback') RETURNING id > :lost_too AS larger;
COMMIT;
DO $$
BEGIN
    INSERT INTO event (payload) VALUES ('with an error');
    PERFORM 1 / 0;
EXCEPTION WHEN division_by_zero THEN
    INSERT INTO event (payload) VALUES ('instead');
END $$;
SELECT ids_used($$SELECT error_of('INSERT INTO event SELECT snowflake_next(), (1 / (3 - n))::text
                                   FROM generate_series(1, 3) n')$$);
SELECT ids_used($$INSERT INTO event (payload) SELECT generate_series(1, 10000)$$);
-- Neither of the two lost ids is in the table, nor is a row that was not committed.
SELECT payload, id IN (:lost, :lost_too) AS lost
FROM event WHERE payload ~ '^(rolled|kept|before|after|with an|instead)' ORDER BY id;
SELECT count(*) FILTER (WHERE id IN (:lost, :lost_too)) AS again,
       count(*) = count(DISTINCT id) AS "all distinct"
FROM event;

-- A time that is generated from the id, and an index on it.
CREATE TABLE reading (
    id bigint PRIMARY KEY DEFAULT snowflake_next(),
    created_at timestamptz GENERATED ALWAYS AS (snowflake_timestamp(id)) STORED,
    payload text
);
INSERT INTO reading (payload) SELECT generate_series(1, 1000);
SELECT count(*), bool_and(created_at = snowflake_timestamp(id)) AS "right time",
       bool_and(now() - created_at < interval '1 hour') AS "of today"
FROM reading;
CREATE INDEX reading_time ON reading (snowflake_timestamp(id));
ANALYZE reading;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF)
SELECT payload FROM reading WHERE snowflake_timestamp(id) = '2026-01-01 00:00:00+00'::timestamptz;
SELECT count(*) FROM reading AS r
WHERE EXISTS (SELECT FROM reading WHERE snowflake_timestamp(reading.id) = r.created_at);
RESET enable_seqscan;
RESET enable_bitmapscan;
CREATE TABLE checked (id bigint DEFAULT snowflake_next() CHECK (snowflake_machine(id) = 7));
INSERT INTO checked DEFAULT VALUES;
SELECT code, message FROM error_of('INSERT INTO checked VALUES (0)');
DROP TABLE event, reading, checked;
