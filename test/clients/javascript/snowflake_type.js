// node-postgres (pg), with columns of the type snowflake
'use strict';

const { check, checkIds, checkPages, checkTime, main, payloads, same, server, version } =
  require('./checks');

// doc:begin snowflake-type-table
const { Pool } = require('pg');

const pool = new Pool();

async function createTable() {
  await pool.query(`
    CREATE TABLE typed_event (
      id snowflake PRIMARY KEY DEFAULT snowflake_next(),
      payload text NOT NULL)`);
}
// doc:end

async function insert(payloads) {
  const { rows } = await pool.query(
    'INSERT INTO typed_event (payload) SELECT unnest($1::text[]) RETURNING id', [payloads]);
  return rows.map((row) => row.id);
}

async function pageAfter(id) {
  const { rows } = await pool.query(
    'SELECT id, payload FROM typed_event WHERE id > $1 ORDER BY id LIMIT 50', [id]);
  return rows;
}

async function pageBefore(id) {
  const { rows } = await pool.query(
    'SELECT id, payload FROM typed_event WHERE id < $1 ORDER BY id DESC LIMIT 50', [id]);
  return rows.reverse();
}

// doc:begin snowflake-type-json
// Whole rows as JSON: ids are strings in it.
async function eventsAsJson() {
  const { rows } = await pool.query(
    'SELECT json_agg(e ORDER BY id) AS events FROM typed_event e');
  return rows[0].events;
}
// doc:end

main(async () => {
  version('pg');
  await createTable();
  check('the column is a snowflake with the default', same(
    await server(`
      SELECT format_type(atttypid, atttypmod), pg_get_expr(adbin, adrelid)
      FROM pg_attribute JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
      WHERE attrelid = 'typed_event'::regclass AND attname = 'id'`),
    [['snowflake', 'snowflake_next()']]));
  const ids = [...(await insert(payloads.slice(0, 1))), ...(await insert(payloads.slice(1)))];
  const stored = ids.map((id, i) => ({ id, payload: payloads[i] }));
  check('ids are strings', ids.every((id) => typeof id === 'string'));
  await checkIds('typed_event', stored);
  const { rows: [{ at }] } = await pool.query('SELECT snowflake_timestamp($1) AS at', [ids[0]]);
  checkTime(ids[0], at);
  await checkPages('typed_event', pageAfter, pageBefore);

  check('json_agg of rows has the ids, to the last bit', same(await eventsAsJson(), stored));
  for (const [what, expression] of Object.entries({
    row_to_json: 'row_to_json(e)',
    to_jsonb: 'to_jsonb(e)',
    json_build_object: "json_build_object('id', id, 'payload', payload)",
  })) {
    const texts = await server(`SELECT (${expression})::text FROM typed_event e ORDER BY id`);
    check(`JSON.parse of ${what} has the ids, to the last bit`,
      same(texts.map(([text]) => JSON.parse(text)), stored));
  }
  for (const id of [ids[77], BigInt(ids[77])]) {
    const { rows } = await pool.query('SELECT payload FROM typed_event WHERE id = $1', [id]);
    check(`a ${typeof id} is a parameter, to the last bit`, same(rows, [{ payload: payloads[77] }]));
  }
  const { rows } = await pool.query('SELECT payload FROM typed_event WHERE id = ANY($1) ORDER BY id',
    [[ids[3], ids[150]]]);
  check('an array of strings is a parameter', same(rows.map((row) => row.payload), [payloads[3], payloads[150]]));
});
