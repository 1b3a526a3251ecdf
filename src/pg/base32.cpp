// The SQL functions of the short text form. They go by the 64 bits alone, whatever the epoch and
// the layout, so they need no preloaded library.
#include "src/border/postgres.hpp"

#include "src/id/base32.hpp"
#include "src/pg/decode.hpp"

extern "C" {

PG_FUNCTION_INFO_V1(snowflake_encode);
PG_FUNCTION_INFO_V1(snowflake_decode);

// snowflake_encode(id bigint) returns text
PGDLLEXPORT Datum snowflake_encode(PG_FUNCTION_ARGS)
{
    const int64 id = PG_GETARG_INT64(0);
    snowflake::require_id(id);
    const auto digits = snowflake::encode_base32(id);
    PG_RETURN_TEXT_P(cstring_to_text_with_len(digits.data(), static_cast<int>(digits.size())));
}

// snowflake_decode(short text) returns bigint
PGDLLEXPORT Datum snowflake_decode(PG_FUNCTION_ARGS)
{
    text *argument = PG_GETARG_TEXT_PP(0);
    const std::string_view digits{VARDATA_ANY(argument), VARSIZE_ANY_EXHDR(argument)};
    const snowflake::Base32 base32 = snowflake::parse_base32(digits);
    const char *hint =
        "The short form of a snowflake id, as snowflake_encode() makes it, has 13 digits "
        "out of 0-9 and A-Z without I, L, O and U.";
    switch (base32.error) {
    case snowflake::Base32Error::none:
        break;
    case snowflake::Base32Error::digit:
        ereport(ERROR, errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
                errmsg("invalid short form of a snowflake id: \"%s\"", text_to_cstring(argument)),
                // Those before it are digits and hyphens, so it is also the number of bytes.
                errdetail("Character %zu is not a digit of Crockford's base 32.", base32.where + 1),
                errhint("%s", hint));
        break;
    case snowflake::Base32Error::length:
        ereport(ERROR, errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
                errmsg("invalid short form of a snowflake id: \"%s\"", text_to_cstring(argument)),
                errdetail("The number of digits is %zu.", base32.where), errhint("%s", hint));
        break;
    case snowflake::Base32Error::out_of_range:
        ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                errmsg("short form \"%s\" is out of range for a snowflake id",
                       text_to_cstring(argument)),
                errdetail("The largest snowflake id is 7ZZZZZZZZZZZZ."),
                errhint("The first of the 13 digits is never above 7."));
    }
    PG_RETURN_INT64(base32.id);
}
}
