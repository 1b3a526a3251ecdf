"""What the Python clients' tests share: checks that print a line each, and what the server says."""

import os
import sys

import psycopg2

EPOCH_MS = 1735689600000  # the default snowflake.epoch, 2025-01-01 00:00:00+00

failed = 0


def check(what, good, found=None):
    global failed
    failed += not good
    print(("ok - " if good else "not ok - ") + what)
    if not good and found is not None:
        print("# found:", repr(found)[:500])


def version(text):
    print("# version:", text)


def finish():
    sys.exit(1 if failed else 0)


def server(query, *parameters):
    """A query's rows, all as text, by a connection that the client under test has no part in."""
    connection = psycopg2.connect("")
    cursor = connection.cursor()
    cursor.execute("SELECT row_to_json(q)::text, q.* FROM (" + query + ") q", parameters)
    rows = [tuple(None if value is None else str(value) for value in row[1:]) for row in cursor]
    connection.close()
    return rows


def check_table(table):
    check(
        "the column is a bigint with the default",
        server(
            "SELECT data_type, column_default FROM information_schema.columns"
            " WHERE table_name = %s AND column_name = 'id'",
            table,
        )
        == [("bigint", "snowflake_next()")],
    )


def check_ids(table, rows):
    """Pairs of id and payload, as the client got them when it inserted them."""
    ids = [id for id, payload in rows]
    check("ids are numbers above 2^53", all(type(id) is int and id > 2**53 for id in ids), ids)
    check("each row has an id of its own, and they ascend", ids == sorted(set(ids)), ids)
    stored = server("SELECT id::text, payload FROM %s ORDER BY id" % table)
    check("ids are those in the table, to the last bit", stored == [(str(i), p) for i, p in rows])


def check_pages(table, after, before):
    """Reads all pages forwards and backwards: each row comes once, in the order of time."""
    expected = [int(id) for (id,) in server("SELECT id::text FROM %s ORDER BY id" % table)]
    forwards, pages = [], 0
    while page := after(forwards[-1] if forwards else 0):
        forwards += page
        pages += 1
    check("pages forwards: each row once, in order", forwards == expected and pages > 2, forwards)
    backwards = []
    while page := before(backwards[0] if backwards else 2**63 - 1):
        backwards = page + backwards
    check("pages backwards: each row once, in order", backwards == expected, backwards)


def check_time(id, time):
    check(
        "the time of an id is that in its bits",
        time.utcoffset() is not None and round(time.timestamp() * 1000) == (id >> 22) + EPOCH_MS,
        time,
    )


assert os.environ["PGHOST"], "test/clients/run starts this"
