-- snowflake_backfill(): ids of times that are past, another one each time.
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';
SHOW snowflake.backfill_machine_id;

-- The millisecond is that of the time, the machine id one of those that are set.
SELECT p.* FROM snowflake_parts(snowflake_backfill('2025-02-01 00:00:00.001999+00')) p;
SELECT p.* FROM snowflake_parts(snowflake_backfill('2025-02-01 00:00:00.001+00')) p;
SELECT snowflake_backfill('2025-02-01 00:00:00.001+00') > snowflake_floor('2025-02-01 00:00:00.001+00') AS above;
SELECT snowflake_backfill(NULL);
-- From the epoch to now.
SELECT p.* FROM snowflake_parts(snowflake_backfill('2025-01-01 00:00+00')) p;
SELECT snowflake_timestamp(snowflake_backfill(now())) = date_trunc('milliseconds', now()) AS now;

-- All of a millisecond: 4096 of each machine id. (Three are gone.)
SELECT count(*), count(DISTINCT id), min(id) - snowflake_make('2025-02-01 00:00:00.001+00', 900, 0) AS first,
       min(snowflake_machine(id)), max(snowflake_machine(id))
FROM (SELECT snowflake_backfill('2025-02-01 00:00:00.001+00') AS id FROM generate_series(1, 8192 - 3)) ids;
\x on
SELECT * FROM error_of($$SELECT snowflake_backfill('2025-02-01 00:00:00.001+00')$$);
\x off
-- The milliseconds beside it have as many, in this session, which has all shares of them.
SELECT count(DISTINCT snowflake_backfill('2025-02-01 00:00:00.002+00')) FROM generate_series(1, 8192);
-- Another session has none of these 17 minutes, and some of the next ones.
\c -
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';
SELECT code, message FROM error_of($$SELECT snowflake_backfill('2025-02-01 00:00:00.003+00')$$);
SELECT snowflake_sequence(snowflake_backfill('2025-02-01 01:00+00'));
\c -
SET TimeZone = 'UTC';
SET DateStyle = 'ISO';
SELECT snowflake_sequence(snowflake_backfill('2025-02-01 01:00+00')) - 16 AS behind_a_share;

-- What is rolled back does not come again, neither do ids of a subtransaction.
BEGIN;
SELECT snowflake_backfill('2025-02-15') AS rolled_back FROM generate_series(1, 3) OFFSET 2 \gset
ROLLBACK;
BEGIN;
SAVEPOINT s;
SELECT snowflake_backfill('2025-02-15') - :rolled_back AS next;
ROLLBACK TO s;
SELECT snowflake_backfill('2025-02-15') - :rolled_back AS next;
COMMIT;

-- Many milliseconds in an order that is not theirs; and a second time.
CREATE TABLE row AS SELECT timestamptz '2025-03-01' + n * interval '7 ms' AS created_at
FROM generate_series(1, 100000) n ORDER BY hashint4(n);
CREATE TABLE filled AS SELECT created_at, snowflake_backfill(created_at) AS id FROM row;
INSERT INTO filled SELECT created_at, snowflake_backfill(created_at) FROM row;
SELECT count(*), count(DISTINCT id), bool_and(snowflake_timestamp(id) = created_at) AS times,
       bool_and(snowflake_machine(id) = 900) AS machine
FROM filled;

-- In a parallel plan the leader calls it.
SELECT proparallel FROM pg_proc WHERE proname = 'snowflake_backfill';

-- What is refused.
\x on
SELECT ts, e.code, e.message, e.hint
FROM unnest('{2024-12-31 23:59:59.999+00, -infinity, infinity, 2094-09-08 00:00+00}'::timestamptz[]) AS ts,
     error_of(format('SELECT snowflake_backfill(%L)', ts)) AS e;
SELECT code, message, hint FROM error_of($$SELECT snowflake_backfill(now() + interval '1 hour')$$);
\x off
CREATE ROLE regress_snowflake_backfill;
SET ROLE regress_snowflake_backfill;
SELECT code, message FROM error_of($$SELECT snowflake_backfill('2025-02-01')$$);
SET snowflake.backfill_machine_id = 1;
RESET ROLE;
DROP ROLE regress_snowflake_backfill;
SET snowflake.backfill_machine_id = 1;
ALTER SYSTEM SET snowflake.backfill_machine_id = '900-902';
ALTER SYSTEM SET snowflake.backfill_machine_id = '1024';

-- docs/migration.md: a table with its own numbers, and others that refer to them, gets ids of the times
-- of its rows.
CREATE TABLE customer (
    id bigint PRIMARY KEY DEFAULT snowflake_next(),
    name text,
    created_at timestamptz NOT NULL);
CREATE TABLE invoice (
    number int PRIMARY KEY,
    customer bigint NOT NULL REFERENCES customer);
INSERT INTO customer VALUES (1, 'a', '2025-05-05 05:05:05'), (2, 'b', '2025-05-05 05:05:05'), (3, 'c', '2025-06-06');
INSERT INTO invoice VALUES (1, 1), (2, 2), (3, 3), (4, 3);
BEGIN;
CREATE TEMPORARY TABLE new_id ON COMMIT DROP AS
SELECT id AS old, snowflake_backfill(created_at) AS new
FROM (SELECT id, created_at FROM customer ORDER BY created_at, id) AS row;
CREATE UNIQUE INDEX ON new_id (old);
ALTER TABLE invoice DROP CONSTRAINT invoice_customer_fkey;
UPDATE customer SET id = new FROM new_id WHERE id = old;
UPDATE invoice SET customer = new FROM new_id WHERE customer = old;
ALTER TABLE invoice ADD FOREIGN KEY (customer) REFERENCES customer;
COMMIT;
SELECT name, snowflake_timestamp(id), snowflake_machine(id), number
FROM customer JOIN invoice ON customer = id ORDER BY id, number;

DROP TABLE row, filled, invoice, customer;
