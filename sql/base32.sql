-- The short text form: snowflake_encode and snowflake_decode.
SELECT id, snowflake_encode(id) AS short
FROM (VALUES (0), (1), (31), (32), (4194304), (251658240000028672), (1234567890123456789),
             (9223372036854775807)) AS ids(id)
ORDER BY id;

-- There and back, for ids of all sizes; the texts have one length, and sort as the ids do.
SELECT count(*), bool_and(snowflake_decode(snowflake_encode(id)) = id) AS round_trip,
       bool_and(snowflake_encode(id) ~ '^[0-7][0-9A-HJKMNP-TV-Z]{12}$') AS form,
       bool_and(by_id = by_text) AS order
FROM (SELECT id, row_number() OVER (ORDER BY id) AS by_id,
             row_number() OVER (ORDER BY snowflake_encode(id) COLLATE "C") AS by_text
      FROM (SELECT (n * 922337203685477 + n) >> (n % 60)::int FROM generate_series(0::bigint, 9999) n
            UNION SELECT snowflake_next(100)) ids(id)) ids;

-- Either case, what O, I and L are mistaken for, and hyphens, which mean nothing.
SELECT text, snowflake_decode(text)
FROM unnest('{7ZZZZZZZZZZZZ,7zzzzzzzzzzzz,000000000001A,OooOOO00o001a,00000000000IL,00000000000il,
              0-0000-0000-0010,-0000000000010-}'::text[]) AS text;

SELECT snowflake_encode(NULL), snowflake_decode(NULL);

-- Everything else is an error.
\x on
SELECT text, e.*
FROM unnest('{"",-,000000000001,00000000000011,000000000000U,000000000000u,00000000*0001,"0000000000001 ",
              0000000000é01,8000000000000,ZZZZZZZZZZZZZ,10000000000000000}'::text[]) AS text,
     error_of(format('SELECT snowflake_decode(%L)', text)) AS e;
SELECT * FROM error_of('SELECT snowflake_encode(-1)');
\x off

-- Immutable: an index on the short form finds an id by it. The usual way needs none.
CREATE TABLE note (id bigint PRIMARY KEY DEFAULT snowflake_next(), payload text);
INSERT INTO note (payload) SELECT 'note ' || n FROM generate_series(1, 1000) n;
INSERT INTO note VALUES (251658240000028672, 'this one');
SELECT payload FROM note WHERE id = snowflake_decode('06zghtr000w00');
EXPLAIN (COSTS OFF) SELECT payload FROM note WHERE id = snowflake_decode('0000000000010');
CREATE UNIQUE INDEX ON note (snowflake_encode(id));
ANALYZE note;
EXPLAIN (COSTS OFF) SELECT payload FROM note WHERE snowflake_encode(id) = '06ZGHTR000W00';
DROP TABLE note;
