"""SQLAlchemy, its ORM"""

import sqlalchemy

from checks import check, check_ids, check_pages, check_table, check_time, finish, version

# doc:begin sqlalchemy-model
from sqlalchemy import BigInteger, Column, Text, create_engine, func, select, text
from sqlalchemy.orm import Session, column_property, declarative_base

Base = declarative_base()


class Event(Base):
    __tablename__ = "alchemy_event"

    id = Column(BigInteger, primary_key=True, server_default=text("snowflake_next()"))
    payload = Column(Text, nullable=False)
    created_at = column_property(func.snowflake_timestamp(id))


engine = create_engine("postgresql+psycopg2://", future=True)  # PGHOST, PGDATABASE, …
Base.metadata.create_all(engine)
# doc:end


# doc:begin sqlalchemy-insert
def insert(payloads):
    with Session(engine, future=True) as session:
        events = [Event(payload=payload) for payload in payloads]
        session.add_all(events)
        session.flush()  # INSERT … RETURNING id, of many rows at once
        ids = [event.id for event in events]
        session.commit()
        return ids
# doc:end


# doc:begin sqlalchemy-pages
def page_after(id, size=50):
    with Session(engine, future=True) as session:
        query = select(Event).where(Event.id > id).order_by(Event.id).limit(size)
        return session.scalars(query).all()


def page_before(id, size=50):
    with Session(engine, future=True) as session:
        query = select(Event).where(Event.id < id).order_by(Event.id.desc()).limit(size)
        return session.scalars(query).all()[::-1]
# doc:end


version("SQLAlchemy " + sqlalchemy.__version__)
check_table("alchemy_event")
payloads = ["row %03d" % n for n in range(151)]
ids = insert(payloads[:1]) + insert(payloads[1:])
check_ids("alchemy_event", list(zip(ids, payloads)))
event = page_after(ids[0] - 1)[0]
check_time(event.id, event.created_at)
check_pages(
    "alchemy_event",
    lambda id: [event.id for event in page_after(id)],
    lambda id: [event.id for event in page_before(id)],
)

# What a model says by hand holds: an id drawn ahead, for a parent and its children at once.
with Session(engine, future=True) as session:
    drawn = session.scalar(select(func.snowflake_next()))
    session.add(Event(id=drawn, payload="drawn"))
    session.commit()
    check("an id drawn ahead can be inserted", session.get(Event, drawn).payload == "drawn")
finish()
