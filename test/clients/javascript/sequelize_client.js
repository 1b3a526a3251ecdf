// Sequelize
'use strict';

const { check, checkIds, checkPages, checkTable, checkTime, main, payloads, same, version } =
  require('./checks');

// doc:begin sequelize-model
const { Sequelize, DataTypes, Op } = require('sequelize');

const sequelize = new Sequelize(process.env.PGDATABASE, process.env.PGUSER, '', {
  dialect: 'postgres',
  host: process.env.PGHOST,
  port: process.env.PGPORT,
  logging: false,
});

// A BIGINT is a string in JavaScript, which is right: a number holds integers up to 2^53 only.
const Event = sequelize.define('event', {
  id: {
    type: DataTypes.BIGINT,
    primaryKey: true,
    defaultValue: sequelize.literal('snowflake_next()'),
  },
  payload: { type: DataTypes.TEXT, allowNull: false },
}, {
  tableName: 'sequelize_event',
  timestamps: false, // the id has the time
});
// doc:end

// doc:begin sequelize-insert
async function insert(payload) {
  const event = await Event.create({ payload });
  return event.id;
}

async function insertMany(payloads) {
  const events = await Event.bulkCreate(payloads.map((payload) => ({ payload })));
  return events.map((event) => event.id);
}

async function createdAt(id) {
  const event = await Event.findByPk(id, {
    attributes: [[sequelize.fn('snowflake_timestamp', sequelize.col('id')), 'at']],
  });
  return event.get('at'); // a Date
}
// doc:end

// doc:begin sequelize-pages
async function pageAfter(id, size = 50) {
  return Event.findAll({ where: { id: { [Op.gt]: id } }, order: [['id', 'ASC']], limit: size });
}

async function pageBefore(id, size = 50) {
  const events = await Event.findAll({
    where: { id: { [Op.lt]: id } }, order: [['id', 'DESC']], limit: size,
  });
  return events.reverse();
}
// doc:end

main(async () => {
  version('sequelize');
  await sequelize.sync();
  await checkTable('sequelize_event');
  const ids = [await insert(payloads[0]), ...(await insertMany(payloads.slice(1)))];
  const stored = ids.map((id, i) => ({ id, payload: payloads[i] }));
  await checkIds('sequelize_event', stored);
  checkTime(ids[0], await createdAt(ids[0]));
  await checkPages('sequelize_event', pageAfter, pageBefore);
  const all = JSON.parse(JSON.stringify(await pageAfter('0', 1000)));
  check('JSON of models has the ids, to the last bit', same(all, stored));
  const found = await Event.findByPk(BigInt(ids[77]));
  check('found by a BigInt', found?.payload === payloads[77]);
});
