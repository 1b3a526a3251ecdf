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
