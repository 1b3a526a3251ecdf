// node-postgres (pg)
'use strict';

const { check, checkIds, checkPages, checkTable, checkTime, main, payloads, same, server, version } =
  require('./checks');

// doc:begin node-postgres-table
const { Pool, types } = require('pg');

const pool = new Pool(); // PGHOST, PGDATABASE, …

async function createTable() {
  await pool.query(`
    CREATE TABLE node_event (
      id bigint PRIMARY KEY DEFAULT snowflake_next(),
      payload text NOT NULL)`);
}
// doc:end

// doc:begin node-postgres-insert
// A bigint arrives as a string, which is right: a JavaScript number holds integers up to 2^53 only.
async function insert(payload) {
  const { rows } = await pool.query(
    'INSERT INTO node_event (payload) VALUES ($1) RETURNING id', [payload]);
  return rows[0].id;
}

async function insertMany(payloads) {
  const { rows } = await pool.query(
    'INSERT INTO node_event (payload) SELECT unnest($1::text[]) RETURNING id', [payloads]);
  return rows.map((row) => row.id);
}

async function createdAt(id) {
  const { rows } = await pool.query('SELECT snowflake_timestamp($1) AS at', [id]);
  return rows[0].at; // a Date
}
// doc:end

// doc:begin node-postgres-pages
async function pageAfter(id, size = 50) {
  const { rows } = await pool.query(
    'SELECT id, payload FROM node_event WHERE id > $1 ORDER BY id LIMIT $2', [id, size]);
  return rows;
}

async function pageBefore(id, size = 50) {
  const { rows } = await pool.query(
    'SELECT id, payload FROM node_event WHERE id < $1 ORDER BY id DESC LIMIT $2', [id, size]);
  return rows.reverse();
}
// doc:end

// doc:begin node-postgres-json
// JSON that the server builds is parsed by JSON.parse, so an id must be a string in it.
async function eventsAsJson() {
  const { rows } = await pool.query(`
    SELECT json_agg(json_build_object('id', id::text, 'payload', payload) ORDER BY id) AS events
    FROM node_event`);
  return rows[0].events;
}
// doc:end

async function asBigInts() {
  // doc:begin node-postgres-bigint
  // For arithmetic: every bigint as a BigInt. (JSON.stringify() refuses those.)
  types.setTypeParser(types.builtins.INT8, BigInt);
  // doc:end
  const { rows } = await pool.query('SELECT id, payload FROM node_event ORDER BY id');
  return rows;
}

main(async () => {
  version('pg');
  await createTable();
  await checkTable('node_event');
  const ids = [await insert(payloads[0]), ...(await insertMany(payloads.slice(1)))];
  await checkIds('node_event', ids.map((id, i) => ({ id, payload: payloads[i] })));
  checkTime(ids[0], await createdAt(ids[0]));
  await checkPages('node_event', pageAfter, pageBefore);

  const stored = ids.map((id, i) => ({ id, payload: payloads[i] }));
  check('JSON of the server has the ids, to the last bit', same(await eventsAsJson(), stored));
  const all = await pageAfter('0', 1000);
  check('JSON of rows has the ids, to the last bit', same(JSON.parse(JSON.stringify(all)), stored));
  const { rows: [naive] } = await pool.query('SELECT json_agg(node_event ORDER BY id) AS events FROM node_event');
  check('JSON with ids as numbers would lose bits', !same(naive.events.map((e) => BigInt(e.id)), ids.map(BigInt)));

  const big = await asBigInts();
  check('as BigInts, to the last bit',
    same(big, ids.map((id, i) => ({ id: BigInt(id), payload: payloads[i] }))));
  const at = await server('SELECT id::text FROM node_event WHERE id = $1', [big[77].id]);
  check('a BigInt is a parameter, to the last bit', same(at, [[ids[77]]]));
});
