\echo Use "CREATE EXTENSION snowflake" to load this file. \quit

-- COST: a call of snowflake_next() reads the clock and adds to a shared counter, which takes about as
-- long as ten operators of a simple type. The other functions are a few shifts and additions.

CREATE FUNCTION snowflake_next() RETURNS bigint
    AS 'MODULE_PATHNAME', 'snowflake_next'
    LANGUAGE C VOLATILE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION snowflake_next() IS
    'generates a snowflake id, larger than all that this server generated before';

CREATE FUNCTION snowflake_next(n integer) RETURNS SETOF bigint
    AS 'MODULE_PATHNAME', 'snowflake_next_series'
    LANGUAGE C VOLATILE STRICT PARALLEL SAFE COST 10 ROWS 1000;
COMMENT ON FUNCTION snowflake_next(integer) IS
    'generates n snowflake ids, in ascending order';

CREATE FUNCTION snowflake_timestamp(id bigint) RETURNS timestamptz
    AS 'MODULE_PATHNAME', 'snowflake_timestamp'
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION snowflake_timestamp(bigint) IS
    'the moment at which a snowflake id was generated, in whole milliseconds';

CREATE FUNCTION snowflake_machine(id bigint) RETURNS integer
    AS 'MODULE_PATHNAME', 'snowflake_machine'
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION snowflake_machine(bigint) IS
    'the machine id in a snowflake id';

CREATE FUNCTION snowflake_sequence(id bigint) RETURNS integer
    AS 'MODULE_PATHNAME', 'snowflake_sequence'
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION snowflake_sequence(bigint) IS
    'the sequence, within its millisecond and machine id, in a snowflake id';

CREATE FUNCTION snowflake_parts(
        id bigint, OUT "timestamp" timestamptz, OUT machine integer, OUT sequence integer)
    AS 'MODULE_PATHNAME', 'snowflake_parts'
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION snowflake_parts(bigint) IS
    'timestamp, machine id and sequence of a snowflake id';

CREATE FUNCTION snowflake_make(ts timestamptz, machine integer, sequence integer) RETURNS bigint
    AS 'MODULE_PATHNAME', 'snowflake_make'
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION snowflake_make(timestamptz, integer, integer) IS
    'the snowflake id with these parts, for fixtures and tests; it is not reserved in any way';

CREATE FUNCTION snowflake_floor(ts timestamptz) RETURNS bigint
    AS 'MODULE_PATHNAME', 'snowflake_floor'
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION snowflake_floor(timestamptz) IS
    'the smallest snowflake id of the millisecond that holds a time; it is never generated';

CREATE FUNCTION snowflake_ceil(ts timestamptz) RETURNS bigint
    AS 'MODULE_PATHNAME', 'snowflake_ceil'
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION snowflake_ceil(timestamptz) IS
    'the largest snowflake id of the millisecond that holds a time; -1 before the epoch';

CREATE FUNCTION snowflake_range(times tstzrange) RETURNS int8range
    AS 'MODULE_PATHNAME', 'snowflake_range'
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION snowflake_range(tstzrange) IS
    'the snowflake ids of a range of time, whose bounds are rounded down to the millisecond';

-- The type snowflake: a bigint that JSON functions write as a string, which keeps its low bits in
-- JavaScript. It has no operator and no aggregate of its own. A value becomes a bigint wherever that helps,
-- at no cost, and brings along all that bigint can do: operators, indexes, joins, partitions. An untyped
-- parameter that is compared with one is a bigint, too.

CREATE TYPE snowflake;

CREATE FUNCTION snowflake_in(cstring) RETURNS snowflake
    AS 'MODULE_PATHNAME', 'snowflake_in'
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION snowflake_in(cstring) IS 'I/O';

CREATE FUNCTION snowflake_out(snowflake) RETURNS cstring
    AS 'int8out'
    LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION snowflake_out(snowflake) IS 'I/O';

CREATE FUNCTION snowflake_recv(internal) RETURNS snowflake
    AS 'MODULE_PATHNAME', 'snowflake_recv'
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION snowflake_recv(internal) IS 'I/O';

CREATE FUNCTION snowflake_send(snowflake) RETURNS bytea
    AS 'int8send'
    LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION snowflake_send(snowflake) IS 'I/O';

-- Category N, that of numbers: COALESCE, CASE, UNION and the like mix it with integers.
CREATE TYPE snowflake (
    INPUT = snowflake_in,
    OUTPUT = snowflake_out,
    RECEIVE = snowflake_recv,
    SEND = snowflake_send,
    LIKE = pg_catalog.int8,
    CATEGORY = 'N'
);
COMMENT ON TYPE snowflake IS 'snowflake id: a bigint that is a string in JSON';

CREATE FUNCTION snowflake(id integer) RETURNS snowflake
    AS 'int48'
    LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION snowflake(integer) IS 'convert integer to snowflake';

CREATE FUNCTION snowflake(id smallint) RETURNS snowflake
    AS 'int28'
    LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION snowflake(smallint) IS 'convert smallint to snowflake';

CREATE FUNCTION snowflake(id numeric) RETURNS snowflake
    AS 'numeric_int8'
    LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION snowflake(numeric) IS 'convert numeric to snowflake';

-- That integers become a snowflake implicitly makes nothing ambiguous, for nothing that has another
-- meaning takes one. A cast keeps the number, without a look at its sign: "id IN (-1)" and COALESCE(id, -1)
-- are no errors, and a column of bigints changes its type in place.
CREATE CAST (snowflake AS bigint) WITHOUT FUNCTION AS IMPLICIT;
COMMENT ON CAST (snowflake AS bigint) IS 'the same bits';
CREATE CAST (bigint AS snowflake) WITHOUT FUNCTION AS IMPLICIT;
COMMENT ON CAST (bigint AS snowflake) IS 'the same bits';
CREATE CAST (integer AS snowflake) WITH FUNCTION snowflake(integer) AS IMPLICIT;
COMMENT ON CAST (integer AS snowflake) IS 'for literals';
CREATE CAST (smallint AS snowflake) WITH FUNCTION snowflake(smallint) AS IMPLICIT;
COMMENT ON CAST (smallint AS snowflake) IS 'for drivers that send a number in the smallest type that holds it';

-- Not implicit: with two types to become, a snowflake that is compared with an untyped literal would
-- not know which.
CREATE CAST (snowflake AS numeric) WITH FUNCTION pg_catalog.numeric(bigint) AS ASSIGNMENT;
COMMENT ON CAST (snowflake AS numeric) IS 'the same number';
CREATE CAST (numeric AS snowflake) WITH FUNCTION snowflake(numeric) AS ASSIGNMENT;
COMMENT ON CAST (numeric AS snowflake) IS 'for drivers that send large numbers as numeric';

-- The short text form of ids, for URLs. It takes and returns bigint, as all functions do.

CREATE FUNCTION snowflake_encode(id bigint) RETURNS text
    AS 'MODULE_PATHNAME', 'snowflake_encode'
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION snowflake_encode(bigint) IS
    'the short form of a snowflake id: 13 digits of Crockford''s base 32, which sort as the ids do';

CREATE FUNCTION snowflake_decode(short text) RETURNS bigint
    AS 'MODULE_PATHNAME', 'snowflake_decode'
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION snowflake_decode(text) IS
    'the snowflake id of a short form';

-- Queries by time: the planner turns snowflake_within() into comparisons with the first and the last
-- id. Where a bound is NULL there is none, so the functions of two times are not strict.

CREATE FUNCTION snowflake_first(times tstzrange) RETURNS bigint
    AS 'MODULE_PATHNAME', 'snowflake_first'
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION snowflake_first(tstzrange) IS
    'the smallest snowflake id whose timestamp is in a range of time; 0 if there is none';

CREATE FUNCTION snowflake_first("from" timestamptz, "to" timestamptz) RETURNS bigint
    AS 'MODULE_PATHNAME', 'snowflake_first_from_to'
    LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1;
COMMENT ON FUNCTION snowflake_first(timestamptz, timestamptz) IS
    'the smallest snowflake id whose timestamp is from a time on and before another; 0 if there is none';

CREATE FUNCTION snowflake_last(times tstzrange) RETURNS bigint
    AS 'MODULE_PATHNAME', 'snowflake_last'
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION snowflake_last(tstzrange) IS
    'the largest snowflake id whose timestamp is in a range of time; -1 if there is none';

CREATE FUNCTION snowflake_last("from" timestamptz, "to" timestamptz) RETURNS bigint
    AS 'MODULE_PATHNAME', 'snowflake_last_from_to'
    LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1;
COMMENT ON FUNCTION snowflake_last(timestamptz, timestamptz) IS
    'the largest snowflake id whose timestamp is from a time on and before another; -1 if there is none';

CREATE FUNCTION snowflake_within_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'snowflake_within_support'
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION snowflake_within_support(internal) IS
    'planner support for snowflake_within';

CREATE FUNCTION snowflake_within(id bigint, times tstzrange) RETURNS boolean
    AS 'MODULE_PATHNAME', 'snowflake_within'
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1 SUPPORT snowflake_within_support;
COMMENT ON FUNCTION snowflake_within(bigint, tstzrange) IS
    'whether the timestamp of a snowflake id is in a range of time';

CREATE FUNCTION snowflake_within(id bigint, "from" timestamptz, "to" timestamptz) RETURNS boolean
    AS 'MODULE_PATHNAME', 'snowflake_within_from_to'
    LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1 SUPPORT snowflake_within_support;
COMMENT ON FUNCTION snowflake_within(bigint, timestamptz, timestamptz) IS
    'whether the timestamp of a snowflake id is from a time on and before another; NULL is no bound';

CREATE FUNCTION pg_stat_get_snowflake(
        OUT status text,
        OUT machine_id text,
        OUT last_id bigint,
        OUT last_timestamp timestamptz,
        OUT ids_issued bigint,
        OUT tick_waits bigint,
        OUT clock_steps bigint,
        OUT largest_clock_step interval,
        OUT ceiling timestamptz,
        OUT extensions bigint,
        OUT grant_waits bigint,
        OUT store_errors bigint,
        OUT last_error text,
        OUT last_error_at timestamptz,
        OUT epoch timestamptz,
        OUT used_up_at timestamptz)
    AS 'MODULE_PATHNAME', 'pg_stat_get_snowflake'
    LANGUAGE C VOLATILE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION pg_stat_get_snowflake() IS
    'the row of the view pg_stat_snowflake';

CREATE VIEW pg_stat_snowflake AS SELECT * FROM pg_stat_get_snowflake();
COMMENT ON VIEW pg_stat_snowflake IS
    'what the generator of snowflake ids of this server does, since the server started';
GRANT SELECT ON pg_stat_snowflake TO PUBLIC;

CREATE FUNCTION snowflake_advance(id bigint) RETURNS void
    AS 'MODULE_PATHNAME', 'snowflake_advance'
    LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION snowflake_advance(bigint) IS
    'makes this server never generate an id at or below this one, whatever its clock says';
REVOKE EXECUTE ON FUNCTION snowflake_advance(bigint) FROM PUBLIC;

CREATE FUNCTION snowflake_horizon() RETURNS bigint
    AS 'MODULE_PATHNAME', 'snowflake_horizon'
    LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION snowflake_horizon() IS
    'an id below which no row can appear any more, for readers that shall miss none';

CREATE FUNCTION snowflake_get_grants(
        OUT machine_id text,
        OUT source text,
        OUT host text,
        OUT data_directory text,
        OUT system_identifier numeric,
        OUT timeline integer,
        OUT granted timestamptz,
        OUT ended timestamptz,
        OUT ceiling timestamptz)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'snowflake_get_grants'
    LANGUAGE C VOLATILE STRICT PARALLEL SAFE COST 1000 ROWS 256;
COMMENT ON FUNCTION snowflake_get_grants() IS
    'the rows of the view snowflake_grants';
REVOKE EXECUTE ON FUNCTION snowflake_get_grants() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION snowflake_get_grants() TO pg_monitor;

CREATE VIEW snowflake_grants AS SELECT * FROM snowflake_get_grants();
COMMENT ON VIEW snowflake_grants IS
    'the machine ids that this data directory was granted, oldest first: the newest 256';
GRANT SELECT ON snowflake_grants TO pg_monitor;
