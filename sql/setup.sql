-- What the other tests of a server use: the extension, and functions to look at errors, counts and
-- changes with.
CREATE EXTENSION snowflake;

-- The error that a statement raises, whole.
CREATE FUNCTION error_of(statement text,
                         OUT code text, OUT message text, OUT detail text, OUT hint text)
LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement;
    code := '00000';
    message := 'no error';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS
        code = RETURNED_SQLSTATE,
        message = MESSAGE_TEXT,
        detail = PG_EXCEPTION_DETAIL,
        hint = PG_EXCEPTION_HINT;
END $$;

-- How many ids the server has issued while a statement ran.
CREATE FUNCTION ids_used(statement text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    before bigint := (SELECT ids_issued FROM pg_stat_snowflake);
BEGIN
    EXECUTE statement;
    RETURN (SELECT ids_issued FROM pg_stat_snowflake) - before;
END $$;

-- Waits until a query answers true, for half a minute at most.
CREATE FUNCTION wait_until(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    met boolean;
BEGIN
    FOR i IN 1 .. 3000 LOOP
        EXECUTE query INTO met;
        EXIT WHEN met;
        PERFORM pg_sleep(0.01);
    END LOOP;
    RETURN met;
END $$;
