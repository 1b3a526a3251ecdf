"""psycopg2"""

from checks import check_ids, check_pages, check_table, check_time, finish, version

# doc:begin psycopg2-table
import psycopg2
from psycopg2.extras import execute_values

connection = psycopg2.connect("")  # PGHOST, PGDATABASE, …
with connection, connection.cursor() as cursor:
    cursor.execute(
        "CREATE TABLE event ("
        " id bigint PRIMARY KEY DEFAULT snowflake_next(),"
        " payload text NOT NULL)"
    )
# doc:end


# doc:begin psycopg2-insert
def insert(payload):
    with connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO event (payload) VALUES (%s) RETURNING id", (payload,))
        return cursor.fetchone()[0]  # an int: Python's have no limit


def insert_many(payloads):
    with connection, connection.cursor() as cursor:
        rows = execute_values(
            cursor,
            "INSERT INTO event (payload) VALUES %s RETURNING id",
            [(payload,) for payload in payloads],
            fetch=True,
        )
        return [id for (id,) in rows]


def created_at(id):
    with connection, connection.cursor() as cursor:
        cursor.execute("SELECT snowflake_timestamp(%s)", (id,))
        return cursor.fetchone()[0]  # a datetime with its zone
# doc:end


# doc:begin psycopg2-pages
def page_after(id, size=50):
    with connection, connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, payload FROM event WHERE id > %s ORDER BY id LIMIT %s", (id, size)
        )
        return cursor.fetchall()


def page_before(id, size=50):
    with connection, connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, payload FROM event WHERE id < %s ORDER BY id DESC LIMIT %s", (id, size)
        )
        return cursor.fetchall()[::-1]
# doc:end


version("psycopg2 " + psycopg2.__version__.split()[0])
check_table("event")
payloads = ["row %03d" % n for n in range(151)]
ids = [insert(payloads[0])] + insert_many(payloads[1:])
check_ids("event", list(zip(ids, payloads)))
check_time(ids[0], created_at(ids[0]))
check_pages(
    "event",
    lambda id: [row[0] for row in page_after(id)],
    lambda id: [row[0] for row in page_before(id)],
)
finish()
