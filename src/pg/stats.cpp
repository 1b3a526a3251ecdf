// pg_stat_snowflake.
#include "src/border/postgres.hpp"

#include "src/generator/grant.hpp"
#include "src/generator/stats.hpp"
#include "src/pg/granter.hpp"
#include "src/pg/settings.hpp"
#include "src/pg/shmem.hpp"
#include "src/pg/time.hpp"

namespace snowflake {

namespace {

const char *status_of(const Stats &seen)
{
    if (RecoveryInProgress())
        return "standby";
    const int64 now = now_ms();
    const GrantStatus status = shared()->status.load(std::memory_order_acquire);
    if (status == GrantStatus::none)
        return "no machine id";
    const bool failed = granter_error().text[0] != '\0';
    if (status == GrantStatus::pending)
        return failed ? "not recorded" : "starting";
    if (now < 0)
        return "clock before epoch";
    if (now >= end_of_time_ms)
        return "used up";
    if (seen.newest_ms - now > clock_tolerance_ms ||
        seen.floor_ms - now > clock_tolerance_ms + seen.floor_slack_ms)
        return "clock went back";
    const bool unanswered =
        now >= seen.ceiling_ms && shared()->extension_wanted.load(std::memory_order_acquire);
    if (failed || unanswered)
        return "not recorded";
    return Max(seen.newest_ms, seen.floor_ms) > now ? "waiting for the clock" : "issuing";
}

Datum milliseconds(int64 ms)
{
    Interval *span = static_cast<Interval *>(palloc0(sizeof(Interval)));
    span->time = ms * 1000;
    return IntervalPGetDatum(span);
}

} // namespace

} // namespace snowflake

extern "C" {

PG_FUNCTION_INFO_V1(pg_stat_get_snowflake);

// pg_stat_get_snowflake(out …): the one row of pg_stat_snowflake
PGDLLEXPORT Datum pg_stat_get_snowflake(PG_FUNCTION_ARGS)
{
    using namespace snowflake;
    require_preload();
    TupleDesc columns;
    if (get_call_result_type(fcinfo, nullptr, &columns) != TYPEFUNC_COMPOSITE)
        elog(ERROR, "return type must be a row type");

    const Stats seen = read_stats(shared()->generator, layout());
    const GranterError error = granter_error();
    const bool failed = error.text[0] != '\0';
    const bool no_id_yet = !seen.granted || seen.last_id == 0;
    Datum values[] = {
        CStringGetTextDatum(status_of(seen)),
        CStringGetTextDatum(seen.granted ? block_text(seen.machines).text : ""),
        Int64GetDatum(seen.last_id),
        TimestampTzGetDatum(timestamp_of(seen.last_id >> timestamp_shift)),
        Int64GetDatum(static_cast<int64>(seen.issued)),
        Int64GetDatum(static_cast<int64>(seen.tick_waits)),
        Int64GetDatum(static_cast<int64>(seen.clock_steps)),
        milliseconds(seen.largest_step_ms),
        TimestampTzGetDatum(timestamp_of(seen.ceiling_ms)),
        Int64GetDatum(static_cast<int64>(shared()->extensions.load(std::memory_order_relaxed))),
        Int64GetDatum(static_cast<int64>(shared()->grant_waits.load(std::memory_order_relaxed))),
        Int64GetDatum(static_cast<int64>(shared()->store_errors.load(std::memory_order_relaxed))),
        CStringGetTextDatum(error.text),
        TimestampTzGetDatum(error.at),
        TimestampTzGetDatum(timestamp_of(0)),
        TimestampTzGetDatum(timestamp_of(end_of_time_ms)),
    };
    bool nulls[lengthof(values)] = {false, !seen.granted, no_id_yet, no_id_yet,     false,
                                    false, false,         false,     !seen.granted, false,
                                    false, false,         !failed,   !failed};
    PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(columns), values, nulls)));
}
}
