// The SQL functions that read ids and make bounds: all immutable, for the epoch and the layout
// cannot change under a running server.
#include "src/border/postgres.hpp"

#include "src/pg/decode.hpp"

#include "src/id/layout.hpp"
#include "src/pg/settings.hpp"
#include "src/pg/time.hpp"

namespace snowflake {

namespace {

Parts parts_of(int64 id)
{
    require_preload();
    require_id(id);
    return layout().decode(id);
}

void require_field(const char *field, int32 value, int32 largest)
{
    if (value >= 0 && value <= largest)
        return;
    ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("%s %d is out of range", field, value),
            errdetail("With snowflake.machine_bits at %d, the %s must be between 0 and %d.",
                      layout().machine_bits, field, largest),
            errhint("Choose a %s within that range.", field));
}

int64 ms_argument(TimestampTz timestamp)
{
    const int64 ms = ms_of(timestamp);
    if (ms >= 0 && ms <= max_ms)
        return ms;
    ereport(ERROR, errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
            errmsg("timestamp is out of range for a snowflake id"),
            errdetail("The timestamp is %s; ids have timestamps from %s to %s.",
                      pstrdup(timestamptz_to_str(timestamp)),
                      pstrdup(timestamptz_to_str(timestamp_of(0))),
                      pstrdup(timestamptz_to_str(timestamp_of(max_ms)))),
            errhint("To get a bound for any time, use snowflake_floor() or snowflake_ceil()."));
    pg_unreachable();
}

// A bound of a tstzrange. An infinite timestamp stands for no bound.
TimeBound time_bound(const RangeBound &bound)
{
    if (bound.infinite)
        return {bound.lower ? INT64_MIN : INT64_MAX, false};
    return {ms_of(DatumGetTimestampTz(bound.val)), bound.inclusive};
}

} // namespace

void require_id(int64 id)
{
    if (unlikely(id < 0))
        ereport(ERROR, errnegative(psprintf("%lld", static_cast<long long>(id))));
}

int errnegative(const char *text)
{
    return errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("snowflake id must not be negative"),
           errdetail("%s is not a snowflake id.", text),
           errhint("A snowflake id is a bigint from 0 to 9223372036854775807.");
}

} // namespace snowflake

extern "C" {

PG_FUNCTION_INFO_V1(snowflake_timestamp);
PG_FUNCTION_INFO_V1(snowflake_machine);
PG_FUNCTION_INFO_V1(snowflake_sequence);
PG_FUNCTION_INFO_V1(snowflake_parts);
PG_FUNCTION_INFO_V1(snowflake_make);
PG_FUNCTION_INFO_V1(snowflake_floor);
PG_FUNCTION_INFO_V1(snowflake_ceil);
PG_FUNCTION_INFO_V1(snowflake_range);

// snowflake_timestamp(id bigint) returns timestamptz
PGDLLEXPORT Datum snowflake_timestamp(PG_FUNCTION_ARGS)
{
    PG_RETURN_TIMESTAMPTZ(snowflake::timestamp_of(snowflake::parts_of(PG_GETARG_INT64(0)).ms));
}

// snowflake_machine(id bigint) returns integer
PGDLLEXPORT Datum snowflake_machine(PG_FUNCTION_ARGS)
{
    PG_RETURN_INT32(snowflake::parts_of(PG_GETARG_INT64(0)).machine);
}

// snowflake_sequence(id bigint) returns integer
PGDLLEXPORT Datum snowflake_sequence(PG_FUNCTION_ARGS)
{
    PG_RETURN_INT32(snowflake::parts_of(PG_GETARG_INT64(0)).sequence);
}

// snowflake_parts(id bigint, out timestamp timestamptz, out machine integer, out sequence integer)
PGDLLEXPORT Datum snowflake_parts(PG_FUNCTION_ARGS)
{
    const snowflake::Parts parts = snowflake::parts_of(PG_GETARG_INT64(0));
    TupleDesc columns;
    if (get_call_result_type(fcinfo, nullptr, &columns) != TYPEFUNC_COMPOSITE)
        elog(ERROR, "return type must be a row type");
    Datum values[3] = {TimestampTzGetDatum(snowflake::timestamp_of(parts.ms)),
                       Int32GetDatum(parts.machine), Int32GetDatum(parts.sequence)};
    bool nulls[3] = {};
    PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(columns), values, nulls)));
}

// snowflake_make(ts timestamptz, machine integer, sequence integer) returns bigint
PGDLLEXPORT Datum snowflake_make(PG_FUNCTION_ARGS)
{
    snowflake::require_preload();
    const snowflake::Layout layout = snowflake::layout();
    const snowflake::Parts parts = {snowflake::ms_argument(PG_GETARG_TIMESTAMPTZ(0)),
                                    PG_GETARG_INT32(1), PG_GETARG_INT32(2)};
    snowflake::require_field("machine id", parts.machine, layout.max_machine());
    snowflake::require_field("sequence", parts.sequence, layout.max_sequence());
    PG_RETURN_INT64(layout.encode(parts));
}

// snowflake_floor(ts timestamptz) returns bigint
PGDLLEXPORT Datum snowflake_floor(PG_FUNCTION_ARGS)
{
    snowflake::require_preload();
    PG_RETURN_INT64(snowflake::floor_id(snowflake::ms_of(PG_GETARG_TIMESTAMPTZ(0))));
}

// snowflake_ceil(ts timestamptz) returns bigint
PGDLLEXPORT Datum snowflake_ceil(PG_FUNCTION_ARGS)
{
    snowflake::require_preload();
    PG_RETURN_INT64(snowflake::ceil_id(snowflake::ms_of(PG_GETARG_TIMESTAMPTZ(0))));
}

// snowflake_range(tstzrange) returns int8range
PGDLLEXPORT Datum snowflake_range(PG_FUNCTION_ARGS)
{
    snowflake::require_preload();
    RangeType *times = PG_GETARG_RANGE_P(0);
    TypeCacheEntry *time_type = range_get_typcache(fcinfo, RangeTypeGetOid(times));
    RangeBound from;
    RangeBound to;
    bool empty;
    range_deserialize(time_type, times, &from, &to, &empty);

    snowflake::IdRange ids{0, 0, false};
    if (!empty)
        ids = snowflake::range_of(snowflake::time_bound(from), snowflake::time_bound(to));

    // The typcache entry is not kept in fn_extra: that belongs to the argument's type.
    TypeCacheEntry *id_type = lookup_type_cache(INT8RANGEOID, TYPECACHE_RANGE_INFO);
    RangeBound lower{Int64GetDatum(ids.lower), false, true, true};
    RangeBound upper{Int64GetDatum(ids.upper), ids.unbounded, false, false};
    PG_RETURN_RANGE_P(snowflake::make_range_of(id_type, &lower, &upper, ids.empty()));
}
}
