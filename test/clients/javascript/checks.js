// What the JavaScript clients' tests share: checks that print a line each, and what the server says.
'use strict';

const assert = require('node:assert');
const { Client } = require('pg');

const EPOCH_MS = 1735689600000n; // the default snowflake.epoch, 2025-01-01 00:00:00+00

let failed = false;

function check(what, good) {
  failed ||= !good;
  console.log((good ? 'ok - ' : 'not ok - ') + what);
}

function version(name) {
  // Some packages do not export their package.json, but all lie in node_modules.
  const file = require('node:path').join(__dirname, 'node_modules', name, 'package.json');
  const { version } = JSON.parse(require('node:fs').readFileSync(file));
  console.log(`# version: ${name} ${version}, Node.js ${process.versions.node.split('.')[0]}`);
}

// A query's rows as arrays of text, by a connection that the client under test has no part in.
async function server(query, values) {
  const client = new Client({ types: { getTypeParser: () => String } });
  await client.connect();
  const { rows } = await client.query({ text: query, values, rowMode: 'array' });
  await client.end();
  return rows;
}

const same = (a, b) => {
  try {
    assert.deepStrictEqual(a, b);
    return true;
  } catch {
    return false;
  }
};

async function checkTable(table) {
  const found = await server(
    `SELECT data_type, column_default FROM information_schema.columns
     WHERE table_name = $1 AND column_name = 'id'`, [table]);
  check('the column is a bigint with the default', same(found, [['bigint', 'snowflake_next()']]));
}

// Rows of id (a string or a BigInt) and payload, as the client got them when it inserted them.
async function checkIds(table, rows) {
  const ids = rows.map((row) => BigInt(row.id));
  check('no id was ever a number', rows.every((row) => typeof row.id !== 'number'));
  check('ids are above 2^53', ids.every((id) => id > 2n ** 53n));
  check('a number would lose bits', ids.some((id) => BigInt(Number(id)) !== id));
  check('each row has an id of its own, and they ascend',
    ids.every((id, i) => i === 0 || id > ids[i - 1]));
  const stored = await server(`SELECT id::text, payload FROM ${table} ORDER BY id`);
  check('ids are those in the table, to the last bit',
    same(rows.map((row) => [String(row.id), row.payload]), stored));
}

// Reads all pages forwards and backwards: each row comes once, in the order of time.
async function checkPages(table, after, before) {
  const expected = (await server(`SELECT id::text FROM ${table} ORDER BY id`)).flat();
  const forwards = [];
  let pages = 0;
  for (let page; (page = await after(forwards.at(-1) ?? '0')).length; pages++) {
    forwards.push(...page.map((row) => String(row.id)));
  }
  check('pages forwards: each row once, in order', same(forwards, expected) && pages > 2);
  const backwards = [];
  for (let page; (page = await before(backwards[0] ?? String(2n ** 63n - 1n))).length; ) {
    backwards.unshift(...page.map((row) => String(row.id)));
  }
  check('pages backwards: each row once, in order', same(backwards, expected));
}

function checkTime(id, time) {
  check('the time of an id is that in its bits',
    BigInt(time.getTime()) === (BigInt(id) >> 22n) + EPOCH_MS);
}

// Runs a test; an exception is a failure.
function main(test) {
  test().catch((error) => {
    console.log('not ok - it runs to its end');
    console.error(error);
    failed = true;
  }).finally(() => process.exit(failed ? 1 : 0));
}

const payloads = Array.from({ length: 151 }, (_, n) => `row ${n}`);

module.exports = {
  EPOCH_MS, check, checkIds, checkPages, checkTable, checkTime, main, payloads, same, server, version,
};
