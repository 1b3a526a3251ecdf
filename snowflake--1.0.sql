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

-- Partitions by time, and moving in. These functions act with their caller's rights, on what the
-- caller owns. The extension's schema is looked up at each call, for it can be moved.

CREATE FUNCTION snowflake_create_partitions(
        parent regclass, "from" timestamptz, "to" timestamptz, step interval,
        timezone text DEFAULT 'UTC')
    RETURNS TABLE (partition regclass, starts timestamptz, ends timestamptz)
    LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE COST 10000 ROWS 100
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    extension constant name := (
        SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
        WHERE e.extname = 'snowflake');
    lower_bound constant timestamptz := $2;
    upper_bound constant timestamptz := $3;
    months constant integer := extract(year FROM step) * 12 + extract(month FROM step);
    days constant integer := extract(day FROM step);
    by_month constant boolean := months <> 0;
    width constant integer := CASE WHEN by_month THEN months ELSE days END;
    monday constant date := '2000-01-03'; -- where days are counted from
    from_day date;
    number integer; -- of months since year 0, or of days since that Monday
    first_moment timestamptz;
    last_moment timestamptz;
    key_type oid;
    parent_schema name;
    parent_name name;
    suffix text;
    -- The partitions that there are, and those that are missing.
    old_oids oid[];
    old_lowers numeric[];
    old_uppers numeric[];
    new_names name[] := '{}';
    new_starts timestamptz[] := '{}';
    new_ends timestamptz[] := '{}';
    lower_id bigint;
    upper_id bigint;
    next_start timestamptz;
    old oid;
    is_equal boolean;
    message text;
BEGIN
    -- The table.
    SELECT n.nspname, c.relname INTO parent_schema, parent_name
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.oid = parent;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'relation with OID % does not exist', parent::oid
            USING ERRCODE = 'undefined_table', HINT = 'Give the name of a partitioned table.';
    END IF;
    SELECT a.atttypid INTO key_type
    FROM pg_partitioned_table p
    JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0]
    WHERE p.partrelid = parent AND p.partstrat = 'r' AND p.partnatts = 1;
    WHILE EXISTS (SELECT FROM pg_type WHERE oid = key_type AND typtype = 'd') LOOP
        key_type := (SELECT typbasetype FROM pg_type WHERE oid = key_type);
    END LOOP;
    IF key_type IS NULL
       OR (key_type <> 'bigint'::regtype
           AND NOT EXISTS (SELECT FROM pg_cast WHERE castsource = key_type
                           AND casttarget = 'bigint'::regtype AND castmethod = 'b')) THEN
        RAISE EXCEPTION 'table "%" is not partitioned by ranges of one column of snowflake ids',
                parent_name
            USING ERRCODE = 'wrong_object_type',
                  DETAIL = coalesce('Its partition key is ' || pg_get_partkeydef(parent) || '.',
                                    'It is not a partitioned table.'),
                  HINT = 'Create it with PARTITION BY RANGE (id), where id is a bigint.';
    END IF;
    IF NOT (SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = parent) THEN
        RAISE EXCEPTION 'must be owner of table %', parent_name
            USING ERRCODE = 'insufficient_privilege',
                  HINT = 'Only the owner of a table can create partitions of it.';
    END IF;

    -- The step: a number of months, or of days.
    IF width <= 0 OR months <> 0 AND days <> 0
       OR extract(epoch FROM step - make_interval(months => months, days => days)) <> 0 THEN
        RAISE EXCEPTION 'step must be a number of days, weeks, months or years'
            USING ERRCODE = 'invalid_parameter_value',
                  DETAIL = format('It is %s.', step),
                  HINT = 'A day has 23 or 25 hours now and then: give ''1 day'', not ''24 hours''.';
    END IF;

    -- The times.
    EXECUTE format('SELECT %1$I.snowflake_timestamp(0), %1$I.snowflake_timestamp(%2$s)',
                   extension, (~(1::bigint << 63)))
        INTO first_moment, last_moment;
    IF NOT (isfinite(lower_bound) AND isfinite(upper_bound) AND lower_bound < upper_bound) THEN
        RAISE EXCEPTION 'partitions must go from a time to a later one, both finite'
            USING ERRCODE = 'invalid_parameter_value',
                  DETAIL = format('They are to go from %s to %s.', lower_bound, upper_bound),
                  HINT = 'Give the earlier time first.';
    END IF;
    IF lower_bound < first_moment OR upper_bound > last_moment THEN
        RAISE EXCEPTION 'partitions must lie where snowflake ids do'
            USING ERRCODE = 'datetime_field_overflow',
                  DETAIL = format('They are to go from %s to %s; ids go from %s to %s.',
                                  lower_bound, upper_bound, first_moment, last_moment),
                  HINT = 'See snowflake.epoch.';
    END IF;

    -- What is there; the lock, which conflicts with itself, keeps it so.
    EXECUTE format('LOCK TABLE ONLY %I.%I IN SHARE UPDATE EXCLUSIVE MODE',
                   parent_schema, parent_name);
    SELECT array_agg(oid),
           array_agg(CASE bounds[1] WHEN 'MINVALUE' THEN '-infinity' ELSE bounds[1]::numeric END),
           array_agg(CASE bounds[2] WHEN 'MAXVALUE' THEN 'infinity' ELSE bounds[2]::numeric END)
    INTO old_oids, old_lowers, old_uppers
    FROM pg_inherits i
    JOIN pg_class c ON c.oid = i.inhrelid,
         regexp_match(pg_get_expr(c.relpartbound, c.oid),
                      '^FOR VALUES FROM \(''?(MINVALUE|-?\d+)''?\) TO \(''?(MAXVALUE|-?\d+)''?\)$')
             AS bounds
    WHERE i.inhparent = parent AND bounds IS NOT NULL;

    -- What is missing. Bounds are the midnights that begin each width-th day or month of the
    -- calendar, wherever "from" is, so that calls with different times agree on them.
    from_day := (lower_bound AT TIME ZONE timezone)::date;
    number := CASE WHEN by_month THEN extract(year FROM from_day) * 12 + extract(month FROM from_day) - 1
                   ELSE from_day - monday END;
    number := floor(number::numeric / width) * width;
    LOOP
        starts := CASE WHEN by_month THEN make_date(number / 12, number % 12 + 1, 1)
                       ELSE monday + number END::timestamp AT TIME ZONE timezone;
        -- Where the clock is put back over midnight, the first hour comes before it.
        EXIT WHEN starts <= lower_bound;
        number := number - width;
    END LOOP;
    WHILE starts < upper_bound LOOP
        suffix := to_char(CASE WHEN by_month THEN make_date(number / 12, number % 12 + 1, 1)
                               ELSE monday + number END, '"_p"YYYYMMDD');
        number := number + width;
        next_start := CASE WHEN by_month THEN make_date(number / 12, number % 12 + 1, 1)
                           ELSE monday + number END::timestamp AT TIME ZONE timezone;
        EXECUTE format('SELECT %1$I.snowflake_floor($1), %1$I.snowflake_floor($2)', extension)
            INTO lower_id, upper_id USING starts, next_start;
        SELECT p.oid, p.lower = lower_id AND p.upper = upper_id INTO old, is_equal
        FROM unnest(old_oids, old_lowers, old_uppers) AS p(oid, lower, upper)
        WHERE p.lower < upper_id AND p.upper > lower_id
        ORDER BY p.lower LIMIT 1;
        IF old IS NOT NULL AND NOT is_equal THEN
            RAISE EXCEPTION 'partition % is in the way of one from % to %',
                    old::regclass, starts, next_start
                USING ERRCODE = 'invalid_object_definition',
                      DETAIL = format('It is %s; the new one would be FROM (%s) TO (%s). '
                                      'No partition was created.',
                                      (SELECT pg_get_expr(relpartbound, oid)
                                       FROM pg_class WHERE oid = old), lower_id, upper_id),
                      HINT = 'Begin behind it, or use the step and the time zone that it was '
                             'created with.';
        END IF;
        -- A day that the zone leaves out (at the date line) has no partition.
        IF old IS NULL AND lower_id < upper_id THEN
            -- The parent's name gives way, a whole character at a time, to what distinguishes.
            new_names := new_names
                || (substr((suffix || parent_name)::name::text, length(suffix) + 1) || suffix)::name;
            new_starts := new_starts || starts;
            new_ends := new_ends || next_start;
        END IF;
        starts := next_start;
    END LOOP;

    FOR i IN 1 .. cardinality(new_names) LOOP
        starts := new_starts[i];
        ends := new_ends[i];
        EXECUTE format('SELECT %1$I.snowflake_floor($1), %1$I.snowflake_floor($2)', extension)
            INTO lower_id, upper_id USING starts, ends;
        BEGIN
            EXECUTE format('CREATE TABLE %1$I.%2$I PARTITION OF %1$I.%3$I '
                           'FOR VALUES FROM (%4$L) TO (%5$L)',
                           parent_schema, new_names[i], parent_name, lower_id, upper_id);
        EXCEPTION WHEN check_violation THEN
            GET STACKED DIAGNOSTICS message = MESSAGE_TEXT;
            RAISE EXCEPTION '%', message
                USING ERRCODE = 'check_violation',
                      DETAIL = format('Rows of the time from %s to %s are there.', starts, ends),
                      HINT = 'Detach the default partition, create the partitions, insert its rows '
                             'into the table, and attach it again, empty.';
        END;
        partition := format('%I.%I', parent_schema, new_names[i])::regclass;
        RETURN NEXT;
    END LOOP;
END $$;
COMMENT ON FUNCTION snowflake_create_partitions(regclass, timestamptz, timestamptz, interval, text) IS
    'creates the missing partitions, of so many days or months, of a table partitioned by snowflake ids';

CREATE FUNCTION snowflake_adopt(
        "table" regclass, "column" name, dry_run boolean DEFAULT false,
        drop_sequence boolean DEFAULT false)
    RETURNS SETOF text
    LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE COST 100000 ROWS 10
    SET search_path = pg_catalog, pg_temp
    SET row_security = off
AS $$
DECLARE
    target constant oid := $1;
    key constant name := $2;
    extension constant name := (
        SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
        WHERE e.extname = 'snowflake');
    relation pg_class;
    attribute pg_attribute;
    table_name text; -- qualified and quoted
    default_text text;
    sequence oid;
    sequence_name text;
    sequence_is_owned boolean;
    sequence_parameters pg_sequence;
    sequence_value bigint;
    sequence_is_called boolean;
    smallest bigint;
    largest bigint;
    next_id bigint;
    wide_tables oid[]; -- the columns that have to hold the new ids,
    wide_columns name[]; --   each of the table at the top of its inheritance
    blockers text;
    statements text[];
    statement text;
BEGIN
    -- The table and the column.
    SELECT * INTO relation FROM pg_class WHERE oid = target;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'relation with OID % does not exist', target
            USING ERRCODE = 'undefined_table', HINT = 'Give the name of a table.';
    END IF;
    table_name := format('%I.%I', (SELECT nspname FROM pg_namespace WHERE oid = relation.relnamespace),
                         relation.relname);
    IF relation.relkind NOT IN ('r', 'p') THEN
        RAISE EXCEPTION '% is not a table', table_name
            USING ERRCODE = 'wrong_object_type', HINT = 'Give the name of a table.';
    END IF;
    IF NOT pg_has_role(relation.relowner, 'USAGE') THEN
        RAISE EXCEPTION 'must be owner of table %', relation.relname
            USING ERRCODE = 'insufficient_privilege',
                  HINT = 'Only the owner of a table can change its columns.';
    END IF;
    SELECT * INTO attribute FROM pg_attribute
    WHERE attrelid = target AND attname = key AND attnum > 0 AND NOT attisdropped;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'column "%" of relation % does not exist', key, table_name
            USING ERRCODE = 'undefined_column', HINT = 'Give the name of one of its columns.';
    END IF;
    IF relation.relispartition OR attribute.attinhcount > 0 THEN
        RAISE EXCEPTION 'cannot adopt column "%" of table %: it is inherited', key, table_name
            USING ERRCODE = 'wrong_object_type',
                  DETAIL = format('It comes from table %s.', (
                      SELECT inhparent::regclass FROM pg_inherits WHERE inhrelid = target LIMIT 1)),
                  HINT = 'Adopt the column of that table.';
    END IF;
    IF attribute.atttypid NOT IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype) THEN
        RAISE EXCEPTION 'cannot adopt column "%" of table %: it is no integer', key, table_name
            USING ERRCODE = 'datatype_mismatch',
                  DETAIL = format('Its type is %s.',
                                  format_type(attribute.atttypid, attribute.atttypmod)),
                  HINT = 'Only smallint, integer and bigint columns can be adopted.';
    END IF;
    IF attribute.attgenerated <> '' THEN
        RAISE EXCEPTION 'cannot adopt column "%" of table %: it is generated', key, table_name
            USING ERRCODE = 'wrong_object_type',
                  HINT = 'A generated column has no default.';
    END IF;

    -- From here on nobody writes, so what is checked stays true: unless it is checked with a snapshot
    -- that is older than the lock.
    IF NOT dry_run AND current_setting('transaction_isolation') NOT LIKE 'read %' THEN
        RAISE EXCEPTION 'cannot adopt a column in a transaction of isolation level %',
                current_setting('transaction_isolation')
            USING ERRCODE = 'invalid_transaction_state',
                  DETAIL = 'It might not see the newest rows and foreign keys.',
                  HINT = 'Use READ COMMITTED.';
    END IF;
    IF NOT dry_run THEN
        EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', table_name);
        SELECT * INTO attribute FROM pg_attribute
        WHERE attrelid = target AND attname = key AND NOT attisdropped;
    END IF;

    -- Its sequence: that of the identity, or the one that the default calls.
    SELECT pg_get_expr(d.adbin, d.adrelid), s.oid INTO default_text, sequence
    FROM pg_attrdef d
    LEFT JOIN pg_depend p ON p.classid = 'pg_attrdef'::regclass AND p.objid = d.oid
                         AND p.refclassid = 'pg_class'::regclass
    LEFT JOIN pg_class s ON s.oid = p.refobjid AND s.relkind = 'S'
    WHERE d.adrelid = target AND d.adnum = attribute.attnum
    ORDER BY s.oid LIMIT 1;
    IF attribute.attidentity <> '' THEN
        sequence := (SELECT objid FROM pg_depend
                     WHERE refclassid = 'pg_class'::regclass AND refobjid = target
                       AND refobjsubid = attribute.attnum AND classid = 'pg_class'::regclass
                       AND deptype = 'i');
    ELSIF sequence IS NULL OR default_text !~ '^nextval\(''[^\\]*''::regclass\)$' THEN
        RAISE EXCEPTION 'cannot adopt column "%" of table %: it takes its values from no sequence',
                key, table_name
            USING ERRCODE = 'object_not_in_prerequisite_state',
                  DETAIL = coalesce('Its default is ' || default_text || '.', 'It has no default.'),
                  HINT = format('If it is to have new ids all the same: ALTER TABLE %s ALTER COLUMN '
                                '%I SET DEFAULT %I.snowflake_next()', table_name, key, extension);
    END IF;
    sequence_name := (SELECT format('%I.%I', n.nspname, c.relname)
                      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                      WHERE c.oid = sequence);
    sequence_is_owned := EXISTS (
        SELECT FROM pg_depend
        WHERE classid = 'pg_class'::regclass AND objid = sequence AND deptype = 'a'
          AND refclassid = 'pg_class'::regclass AND refobjid = target
          AND refobjsubid = attribute.attnum);

    -- Its values. All that is generated from now on is larger than this id.
    EXECUTE format('SELECT min(%I), max(%1$I) FROM %s', key, table_name) INTO smallest, largest;
    EXECUTE format('SELECT %I.snowflake_next()', extension) INTO next_id;
    IF smallest < 0 THEN
        RAISE EXCEPTION 'cannot adopt column "%" of table %: it has negative values', key, table_name
            USING ERRCODE = 'object_not_in_prerequisite_state',
                  DETAIL = format('The smallest is %s.', smallest),
                  HINT = 'A snowflake id is never negative; give these rows others.';
    END IF;
    IF largest >= next_id THEN
        RAISE EXCEPTION 'cannot adopt column "%" of table %: it has values above those of new ids',
                key, table_name
            USING ERRCODE = 'object_not_in_prerequisite_state',
                  DETAIL = format('The largest is %s; a new id is %s.', largest, next_id),
                  HINT = 'New ids would come before those of old rows, and might meet them. Give '
                         'these rows smaller ones.';
    END IF;

    -- The columns that refer to it, and those that refer to them. A constraint of a partition is
    -- one of its column, which is changed where it was declared.
    WITH RECURSIVE
    wide (relid, attname) AS (
        SELECT target, key
        UNION
        SELECT (SELECT t.relid FROM (
                    WITH RECURSIVE above (relid, depth) AS (
                        SELECT referrer.conrelid, 0
                        UNION ALL
                        SELECT i.inhparent, above.depth + 1
                        FROM above
                        JOIN pg_inherits i ON i.inhrelid = above.relid
                        JOIN pg_attribute a ON a.attrelid = i.inhparent
                                           AND a.attname = referrer.attname)
                    SELECT above.relid FROM above ORDER BY depth DESC, above.relid LIMIT 1) t),
               referrer.attname
        FROM (SELECT c.conrelid, mine.attname
              FROM wide
              CROSS JOIN LATERAL (
                  WITH RECURSIVE below (relid) AS (
                      SELECT wide.relid
                      UNION
                      SELECT i.inhrelid FROM below JOIN pg_inherits i ON i.inhparent = below.relid)
                  SELECT below.relid FROM below) AS tree
              JOIN pg_constraint c ON c.contype = 'f' AND c.confrelid = tree.relid
              CROSS JOIN LATERAL unnest(c.conkey, c.confkey) AS pair(mine, theirs)
              JOIN pg_attribute mine ON mine.attrelid = c.conrelid AND mine.attnum = pair.mine
              JOIN pg_attribute theirs ON theirs.attrelid = c.confrelid
                                      AND theirs.attnum = pair.theirs
              WHERE theirs.attname = wide.attname) AS referrer
    )
    SELECT array_agg(w.relid ORDER BY w.relid <> target, w.relid, a.attnum),
           array_agg(w.attname ORDER BY w.relid <> target, w.relid, a.attnum)
    INTO wide_tables, wide_columns
    FROM wide w
    JOIN pg_attribute a ON a.attrelid = w.relid AND a.attname = w.attname
    WHERE a.atttypid IN ('smallint'::regtype, 'integer'::regtype);

    -- What would make ALTER TYPE fail, all of it.
    WITH RECURSIVE tree (relid, attname) AS (
        SELECT * FROM unnest(wide_tables, wide_columns)
        UNION
        SELECT i.inhrelid, tree.attname FROM tree JOIN pg_inherits i ON i.inhparent = tree.relid
    ), columns AS (
        SELECT tree.relid, a.attnum, a.attname
        FROM tree JOIN pg_attribute a ON a.attrelid = tree.relid AND a.attname = tree.attname
    ), found AS (
        SELECT pg_describe_object(d.classid, d.objid, 0) AS object, c.relid, c.attname
        FROM columns c
        JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = c.relid
                        AND d.refobjsubid = c.attnum
        WHERE d.classid IN ('pg_rewrite'::regclass, 'pg_policy'::regclass, 'pg_proc'::regclass,
                            'pg_publication_rel'::regclass)
           OR d.classid = 'pg_trigger'::regclass
              AND NOT (SELECT t.tgisinternal FROM pg_trigger t WHERE t.oid = d.objid)
           OR d.classid = 'pg_attrdef'::regclass
              AND EXISTS (SELECT FROM pg_attrdef g
                          JOIN pg_attribute a ON a.attrelid = g.adrelid AND a.attnum = g.adnum
                          WHERE g.oid = d.objid AND g.adnum <> c.attnum AND a.attgenerated <> '')
        UNION
        SELECT 'partition key of table ' || p.partrelid::regclass::text, c.relid, c.attname
        FROM columns c
        JOIN pg_partitioned_table p ON p.partrelid = c.relid
        WHERE c.attnum = ANY (p.partattrs::smallint[])
           OR EXISTS (SELECT FROM pg_depend d
                      WHERE d.classid = 'pg_class'::regclass AND d.objid = p.partrelid
                        AND d.refclassid = 'pg_class'::regclass AND d.refobjid = p.partrelid
                        AND d.refobjsubid = c.attnum AND d.deptype = 'i')
    )
    SELECT string_agg(format('%s uses column %I of table %s', object, attname, relid::regclass), E'\n'
                      ORDER BY object COLLATE "C", relid, attname)
    INTO blockers FROM found;
    IF blockers IS NOT NULL THEN
        RAISE EXCEPTION 'cannot adopt column "%" of table %: columns that have to become bigint are in use',
                key, table_name
            USING ERRCODE = 'dependent_objects_still_exist',
                  DETAIL = blockers,
                  HINT = 'Drop these objects, adopt the column, and create them again, in one '
                         'transaction.';
    END IF;

    -- The statements.
    SELECT array_agg(format('ALTER TABLE %I.%I %s', n.nspname, c.relname, w.changes) ORDER BY w.place)
    INTO statements
    FROM (SELECT relid, min(place) AS place,
                 string_agg(format('ALTER COLUMN %I TYPE bigint', attname), ', ' ORDER BY place) AS changes
          FROM unnest(wide_tables, wide_columns) WITH ORDINALITY AS u(relid, attname, place)
          GROUP BY relid) w
    JOIN pg_class c ON c.oid = w.relid
    JOIN pg_namespace n ON n.oid = c.relnamespace;
    IF attribute.attidentity <> '' THEN
        statements := statements || format('ALTER TABLE %s ALTER COLUMN %I DROP IDENTITY', table_name, key);
    END IF;
    statements := statements || format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT %I.snowflake_next()',
                                       table_name, key, extension);
    IF attribute.attidentity <> '' AND NOT drop_sequence THEN
        -- An identity takes its sequence along: it is made again, as it was.
        SELECT * INTO sequence_parameters FROM pg_sequence WHERE seqrelid = sequence;
        EXECUTE format('SELECT last_value, is_called FROM %s', sequence_name)
            INTO sequence_value, sequence_is_called;
        statements := statements
            || format('CREATE SEQUENCE %s AS %s INCREMENT BY %s MINVALUE %s MAXVALUE %s START WITH %s CACHE %s%s',
                      sequence_name, sequence_parameters.seqtypid::regtype,
                      sequence_parameters.seqincrement, sequence_parameters.seqmin,
                      sequence_parameters.seqmax, sequence_parameters.seqstart,
                      sequence_parameters.seqcache,
                      CASE WHEN sequence_parameters.seqcycle THEN ' CYCLE' ELSE '' END)
            || format('ALTER SEQUENCE %s OWNER TO %s', sequence_name, relation.relowner::regrole)
            || format('SELECT pg_catalog.setval(%L, %s, %s)',
                      sequence_name, sequence_value, sequence_is_called::text);
    ELSIF attribute.attidentity = '' AND drop_sequence THEN
        statements := statements || format('DROP SEQUENCE %s', sequence_name);
    ELSIF sequence_is_owned THEN
        statements := statements || format('ALTER SEQUENCE %s OWNED BY NONE', sequence_name);
    END IF;

    FOREACH statement IN ARRAY statements LOOP
        IF NOT dry_run THEN
            EXECUTE statement;
        END IF;
        RETURN NEXT statement;
    END LOOP;
END $$;
COMMENT ON FUNCTION snowflake_adopt(regclass, name, boolean, boolean) IS
    'gives a serial, bigserial or identity column the default snowflake_next(), and returns the statements for that';

CREATE FUNCTION snowflake_backfill(ts timestamptz) RETURNS bigint
    AS 'MODULE_PATHNAME', 'snowflake_backfill'
    LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED COST 10;
COMMENT ON FUNCTION snowflake_backfill(timestamptz) IS
    'generates a snowflake id of a time that is past, another one each time, under snowflake.backfill_machine_id';
REVOKE EXECUTE ON FUNCTION snowflake_backfill(timestamptz) FROM PUBLIC;
