"""Django, its models"""

import os

import django
from django.conf import settings

from checks import check, check_ids, check_pages, check_table, check_time, finish, server, version

settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "HOST": os.environ["PGHOST"],
            "PORT": os.environ["PGPORT"],
            "NAME": os.environ["PGDATABASE"],
            "USER": os.environ["PGUSER"],
        }
    },
    USE_TZ=True,
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
)
django.setup()

# doc:begin django-model
from django.db import models
from django.db.models import Func


class SnowflakeField(models.BigAutoField):
    """A primary key that the server generates by snowflake_next()."""

    def db_type(self, connection):
        return "bigint"

    def db_type_suffix(self, connection):
        return "DEFAULT snowflake_next()"


class SnowflakeTimestamp(Func):
    function = "snowflake_timestamp"
    output_field = models.DateTimeField()


class Event(models.Model):
    id = SnowflakeField(primary_key=True)
    payload = models.TextField()

    class Meta:
        app_label = "events"


class Comment(models.Model):
    id = SnowflakeField(primary_key=True)
    event = models.ForeignKey(Event, on_delete=models.CASCADE)

    class Meta:
        app_label = "events"
# doc:end


# doc:begin django-insert
def insert(payload):
    return Event.objects.create(payload=payload).id


def insert_many(payloads):
    events = Event.objects.bulk_create([Event(payload=payload) for payload in payloads])
    return [event.id for event in events]


def created_at(id):
    return Event.objects.annotate(created_at=SnowflakeTimestamp("id")).get(id=id).created_at
# doc:end


# doc:begin django-pages
def page_after(id, size=50):
    return list(Event.objects.filter(id__gt=id).order_by("id")[:size])


def page_before(id, size=50):
    return list(Event.objects.filter(id__lt=id).order_by("-id")[:size])[::-1]
# doc:end


# The tables as migrations make them: through the operations that makemigrations would write.
from django.db import connection, migrations
from django.db.migrations.state import ProjectState

state = ProjectState()
for model in (Event, Comment):
    operation = migrations.CreateModel(
        model.__name__,
        [(field.name, field.clone()) for field in model._meta.local_fields],
    )
    before = state.clone()
    operation.state_forwards("events", state)
    with connection.schema_editor() as editor:
        operation.database_forwards("events", editor, before, state)

version("Django " + django.get_version())
check_table("events_event")
check_table("events_comment")
check(
    "a foreign key is a bigint without a default",
    server(
        "SELECT data_type, column_default FROM information_schema.columns"
        " WHERE table_name = 'events_comment' AND column_name = 'event_id'"
    )
    == [("bigint", None)],
)
payloads = ["row %03d" % n for n in range(151)]
ids = [insert(payloads[0])] + insert_many(payloads[1:])
check_ids("events_event", list(zip(ids, payloads)))
check_time(ids[0], created_at(ids[0]))
check_pages(
    "events_event",
    lambda id: [event.id for event in page_after(id)],
    lambda id: [event.id for event in page_before(id)],
)
comment = Comment.objects.create(event_id=ids[7])
check("a foreign key holds the id", Comment.objects.get(id=comment.id).event.payload == payloads[7])
finish()
