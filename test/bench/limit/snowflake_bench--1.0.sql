\echo Use "CREATE EXTENSION snowflake_bench" to load this file. \quit

-- Declared as snowflake_next() is, so that the executor treats all alike.

CREATE FUNCTION bench_limit() RETURNS bigint
    AS 'MODULE_PATHNAME', 'bench_limit'
    LANGUAGE C VOLATILE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bench_limit() IS
    'one clock read and one addition to a shared counter';

CREATE FUNCTION bench_spin_next() RETURNS bigint
    AS 'MODULE_PATHNAME', 'bench_spin_next'
    LANGUAGE C VOLATILE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bench_spin_next() IS
    'an id of the same generator, under machine id 1, which spins where snowflake_next() sleeps';

CREATE FUNCTION bench_cpu_time() RETURNS double precision
    AS 'MODULE_PATHNAME', 'bench_cpu_time'
    LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION bench_cpu_time() IS
    'user and system CPU time of this backend so far, in seconds';
