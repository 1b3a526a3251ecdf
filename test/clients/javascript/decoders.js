// Public snowflake libraries read this extension's ids, and the extension reads theirs
'use strict';

const { check, main, same, server, version } = require('./checks');

const epoch = 1735689600000; // snowflake.epoch

// doc:begin decoders-sapphire
const { Snowflake: Sapphire } = require('@sapphire/snowflake');

const sapphire = new Sapphire(epoch);

function partsBySapphire(id) {
  const { timestamp, workerId, processId, increment } = sapphire.deconstruct(id);
  return {
    timestamp: Number(timestamp),
    machine: Number((workerId << 5n) | processId), // its two fields are our ten bits
    sequence: Number(increment),
  };
}
// doc:end

// doc:begin decoders-theinternetfolks
const { Snowflake: InternetFolks } = require('@theinternetfolks/snowflake');

function partsByInternetFolks(id) {
  const { timestamp, shard_id, sequence } = InternetFolks.parse(String(id));
  return { timestamp: timestamp + epoch, machine: shard_id, sequence };
}
// doc:end

const decoders = {
  '@sapphire/snowflake': partsBySapphire,
  '@theinternetfolks/snowflake': partsByInternetFolks,
};

// A query's ids and their parts, by the server.
async function partsByServer(ids, values) {
  const rows = await server(`
    SELECT id::text, (1000 * extract(epoch FROM p.timestamp))::bigint, p.machine, p.sequence
    FROM (${ids}) i (id), snowflake_parts(id) p`, values);
  return rows.map(([id, ...parts]) => {
    const [timestamp, machine, sequence] = parts.map(Number);
    return { id, parts: { timestamp, machine, sequence } };
  });
}

const issued = 'SELECT snowflake_next(5000)';
const made = `
  SELECT snowflake_make(
    timestamptz '2025-01-01 00:00:00+00' + floor(random() * 2199023255551) * interval '1 ms',
    floor(random() * 1024)::int, floor(random() * 4096)::int)
  FROM generate_series(1, 5000)
  UNION ALL VALUES (1::bigint), (4194303), (9223372036854775807)`;

main(async () => {
  version('@sapphire/snowflake');
  version('@theinternetfolks/snowflake');
  for (const [what, query] of Object.entries({ issued, made })) {
    const rows = await partsByServer(query);
    for (const [name, decode] of Object.entries(decoders)) {
      const bad = rows.filter(({ id, parts }) => !same(decode(id), parts));
      check(`${name} reads the parts of ${rows.length} ids that were ${what}`,
        rows.length >= 5000 && bad.length === 0);
    }
  }

  // The other way about.
  const now = Date.now();
  const theirs = Array.from({ length: 1000 }, (_, i) => String(sapphire.generate({
    timestamp: now + i, workerId: 24n, processId: BigInt(i % 32), increment: BigInt(i),
  })));
  const read = await partsByServer('SELECT unnest($1::bigint[])', [theirs]);
  check('the server reads the parts of ids by @sapphire/snowflake', same(
    read.map(({ parts }) => parts),
    theirs.map((_, i) => ({ timestamp: now + i, machine: 24 * 32 + (i % 32), sequence: i }))));
  InternetFolks.EPOCH = epoch;
  const others = Array.from({ length: 1000 }, (_, i) =>
    InternetFolks.generate({ timestamp: now + i, shard_id: i, sequence: i }));
  const readToo = await partsByServer('SELECT unnest($1::bigint[])', [others]);
  check('the server reads the parts of ids by @theinternetfolks/snowflake', same(
    readToo.map(({ parts }) => parts),
    others.map((_, i) => ({ timestamp: now + i, machine: i, sequence: i }))));
});
