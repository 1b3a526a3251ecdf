// Drizzle
'use strict';

const { Pool } = require('pg');
const { check, checkIds, checkPages, checkTable, checkTime, main, payloads, same, version } =
  require('./checks');

// doc:begin drizzle-model
const { asc, desc, eq, gt, lt, sql } = require('drizzle-orm');
const { drizzle } = require('drizzle-orm/node-postgres');
const { bigint, pgTable, text } = require('drizzle-orm/pg-core');

const events = pgTable('drizzle_event', {
  id: bigint({ mode: 'bigint' }).primaryKey().default(sql`snowflake_next()`), // a BigInt
  payload: text().notNull(),
});

const db = drizzle(new Pool());
// doc:end

// Drizzle's own means of making tables is a program of its own, drizzle-kit.
async function createTable() {
  await db.execute(sql`
    CREATE TABLE drizzle_event (
      id bigint PRIMARY KEY DEFAULT snowflake_next(),
      payload text NOT NULL)`);
}

// doc:begin drizzle-insert
async function insert(payloads) {
  const rows = await db.insert(events).values(payloads.map((payload) => ({ payload })))
    .returning({ id: events.id });
  return rows.map((row) => row.id);
}

async function createdAt(id) {
  const [row] = await db
    .select({ at: sql`snowflake_timestamp(${events.id})`.mapWith((at) => new Date(at)) })
    .from(events).where(eq(events.id, id));
  return row.at;
}
// doc:end

// doc:begin drizzle-pages
async function pageAfter(id, size = 50) {
  return db.select().from(events).where(gt(events.id, id)).orderBy(asc(events.id)).limit(size);
}

async function pageBefore(id, size = 50) {
  const rows = await db.select().from(events)
    .where(lt(events.id, id)).orderBy(desc(events.id)).limit(size);
  return rows.reverse();
}
// doc:end

// doc:begin drizzle-json
// JSON.stringify() refuses a BigInt, so it leaves as a string.
const toJson = (rows) =>
  JSON.stringify(rows, (key, value) => (typeof value === 'bigint' ? String(value) : value));
// doc:end

main(async () => {
  version('drizzle-orm');
  await createTable();
  await checkTable('drizzle_event');
  const ids = [...(await insert(payloads.slice(0, 1))), ...(await insert(payloads.slice(1)))];
  check('ids are BigInts', ids.every((id) => typeof id === 'bigint'));
  const stored = ids.map((id, i) => ({ id, payload: payloads[i] }));
  await checkIds('drizzle_event', stored);
  checkTime(ids[0], await createdAt(ids[0]));
  await checkPages('drizzle_event', (id) => pageAfter(BigInt(id)), (id) => pageBefore(BigInt(id)));
  const all = JSON.parse(toJson(await pageAfter(0n, 1000)));
  check('JSON of rows has the ids, to the last bit',
    same(all, stored.map(({ id, payload }) => ({ id: String(id), payload }))));
});
