// The type snowflake: a bigint that leaves as a string in JSON. Here is what comes in as text or
// from the wire; all else is bigint's own (snowflake--1.0.sql). The library need not be preloaded
// for it: a dump can be restored on any server.
#include "src/border/postgres.hpp"

#include "src/id/decimal.hpp"
#include "src/id/layout.hpp"
#include "src/pg/decode.hpp"

extern "C" {

PG_FUNCTION_INFO_V1(snowflake_in);
PG_FUNCTION_INFO_V1(snowflake_recv);

// snowflake_in(cstring) returns snowflake
PGDLLEXPORT Datum snowflake_in(PG_FUNCTION_ARGS)
{
    const char *text = PG_GETARG_CSTRING(0);
    const snowflake::Decimal decimal = snowflake::parse_decimal(text);
    switch (decimal.error) {
    case snowflake::DecimalError::none:
        break;
    case snowflake::DecimalError::syntax:
        SNOWFLAKE_INPUT_ERROR(
            fcinfo, errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
            errmsg("invalid input syntax for type %s: \"%s\"", "snowflake", text),
            errdetail("A snowflake id is written in decimal digits and nothing else."),
            errhint("The short form in base 32 is read by snowflake_decode()."));
    case snowflake::DecimalError::negative:
        SNOWFLAKE_INPUT_ERROR(fcinfo, snowflake::errnegative(text));
    case snowflake::DecimalError::out_of_range:
        SNOWFLAKE_INPUT_ERROR(fcinfo, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                              errmsg("value \"%s\" is out of range for type %s", text, "snowflake"),
                              errdetail("The largest snowflake id is %lld.",
                                        static_cast<long long>(snowflake::max_id)),
                              errhint("Check where the value comes from: no snowflake id has more "
                                      "than 63 bits."));
    }
    PG_RETURN_INT64(decimal.id);
}

// snowflake_recv(internal) returns snowflake
PGDLLEXPORT Datum snowflake_recv(PG_FUNCTION_ARGS)
{
    StringInfo message = reinterpret_cast<StringInfo>(PG_GETARG_POINTER(0));
    const int64 id = pq_getmsgint64(message);
    snowflake::require_id(id);
    PG_RETURN_INT64(id);
}
}
