// snowflake_next(): the one function that issues ids.
#include "src/border/postgres.hpp"

#include "src/generator/generator.hpp"
#include "src/pg/grant.hpp"
#include "src/pg/settings.hpp"
#include "src/pg/shmem.hpp"
#include "src/pg/time.hpp"
#include "src/pg/wait.hpp"

namespace snowflake {

namespace {

// Tells the log once a day, and the client that happens to find out.
pg_noinline void warn_of_the_end(int64 ms)
{
    const int64 today = ms / ms_per_day;
    int64 logged = shared()->end_logged_day.load(std::memory_order_relaxed);
    if (logged >= today ||
        !shared()->end_logged_day.compare_exchange_strong(logged, today, std::memory_order_relaxed))
        return;
    log_the_end();
}

[[noreturn]] void refuse_without_machine_id()
{
    ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("cannot generate a snowflake id: this server has no machine id"),
            errdetail("snowflake.machine_id is empty, and no id is assumed: two servers with the "
                      "same machine id would generate the same ids."),
            errhint("Set snowflake.machine_id in postgresql.conf to a number from 0 to %d that no "
                    "other server has, and reload the configuration.",
                    layout().max_machine()));
}

[[noreturn]] void refuse_before_epoch(int64 now)
{
    ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("cannot generate a snowflake id: the clock is before the epoch"),
            errdetail("The clock reads %s, snowflake.epoch is %s.",
                      pstrdup(timestamptz_to_str(timestamp_of(now))),
                      pstrdup(timestamptz_to_str(timestamp_of(0)))),
            errhint("Set the server's clock right."));
}

[[noreturn]] void refuse_after_the_end(int64 now)
{
    ereport(ERROR, errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
            errmsg("cannot generate a snowflake id: the 41 bits of the timestamp are used up"),
            errdetail("The clock reads %s; with snowflake.epoch at %s, ids end at %s.",
                      pstrdup(timestamptz_to_str(timestamp_of(now))),
                      pstrdup(timestamptz_to_str(timestamp_of(0))),
                      pstrdup(timestamptz_to_str(timestamp_of(end_of_time_ms)))),
            errhint("If the clock is wrong, set it right. If it is not, start new tables under a "
                    "later epoch."));
}

[[noreturn]] void refuse_clock_back(const Answer &answer, const char *until)
{
    ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("cannot generate a snowflake id: the clock has gone back by %lld ms",
                   static_cast<long long>(answer.ms - answer.now_ms)),
            errdetail("The clock reads %s, but %s %s. Steps back of up to "
                      "snowflake.clock_tolerance (%d ms) are waited out.",
                      pstrdup(timestamptz_to_str(timestamp_of(answer.now_ms))), until,
                      pstrdup(timestamptz_to_str(timestamp_of(answer.ms))), clock_tolerance_ms),
            errhint("If the clock is wrong now, set it right: ids are generated again at once. If "
                    "it was wrong before, wait until it has caught up, or set "
                    "snowflake.machine_id to one that no server has used and reload the "
                    "configuration: ids are then generated again at once."));
}

[[noreturn]] void refuse_at_ceiling(const Answer &answer)
{
    ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("cannot generate a snowflake id: the grant has not been extended"),
            errdetail("The clock reads %s, the grant ends at %s.",
                      pstrdup(timestamptz_to_str(timestamp_of(answer.now_ms))),
                      pstrdup(timestamptz_to_str(timestamp_of(answer.ms)))),
            errhint("See the server's log for what keeps it from being extended."));
}

[[noreturn]] void refuse(const Answer &answer)
{
    switch (answer.reason) {
    case Reason::no_grant:
        refuse_without_machine_id();
    case Reason::before_epoch:
        refuse_before_epoch(answer.now_ms);
    case Reason::used_up:
        refuse_after_the_end(answer.now_ms);
    case Reason::clock_back:
        refuse_clock_back(answer, "this server has seen it at");
    case Reason::below_floor:
        refuse_clock_back(answer, "ids of this machine id start at");
    case Reason::ceiling:
        refuse_at_ceiling(answer);
    case Reason::none:
    case Reason::tick:
    case Reason::changing:
        break;
    }
    elog(ERROR, "unexpected refusal %d", static_cast<int>(answer.reason));
    pg_unreachable();
}

// True once require_primary() has passed in this process: a server does not become a standby again
// while it runs.
bool may_generate = false;

void require_primary()
{
    if (likely(may_generate))
        return;
    require_preload();
    PreventCommandDuringRecovery("snowflake_next()");
    may_generate = true;
}

// The ids of an answer, after waiting for as long as the generator says so; or an error.
Batch settle(Answer answer)
{
    while (answer.verdict == Verdict::wait) {
        wait_for_ms(answer.ms);
        answer = process_generator.resume();
    }
    if (answer.verdict == Verdict::refused)
        refuse(answer);
    if (answer.ms >= last_year_ms)
        warn_of_the_end(answer.ms);
    return answer.batch;
}

// The first id of this process in a millisecond, and every one that has to be waited for.
pg_noinline int64 settle_one(const Answer &answer)
{
    Batch batch = settle(answer);
    int64_t id = 0;
    (void) batch.next(id);
    return id;
}

// The state of a snowflake_next(n) between its rows.
struct Series {
    int64 left; // rows still to come, those in `batch` included
    Batch batch;
};

} // namespace

} // namespace snowflake

extern "C" {

PG_FUNCTION_INFO_V1(snowflake_next);
PG_FUNCTION_INFO_V1(snowflake_next_series);

// snowflake_next() returns bigint
PGDLLEXPORT Datum snowflake_next(PG_FUNCTION_ARGS)
{
    (void) fcinfo;
    snowflake::require_primary();
    int64_t id;
    snowflake::Answer answer;
    if (likely(snowflake::process_generator.next(id, answer)))
        PG_RETURN_INT64(id);
    PG_RETURN_INT64(snowflake::settle_one(answer));
}

// snowflake_next(n integer) returns setof bigint
//
// Draws a millisecond's worth at most at a time, so that others get their turn in between, and a
// series that is given up leaves a small gap.
PGDLLEXPORT Datum snowflake_next_series(PG_FUNCTION_ARGS)
{
    using snowflake::Series;
    FuncCallContext *context;

    if (SRF_IS_FIRSTCALL()) {
        snowflake::require_primary();
        const int32 count = PG_GETARG_INT32(0);
        if (count < 0)
            ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("number of snowflake ids must not be negative"),
                    errdetail("%d ids were asked for.", count), errhint("Ask for 0 ids or more."));
        context = SRF_FIRSTCALL_INIT();
        Series *series = static_cast<Series *>(
            MemoryContextAllocZero(context->multi_call_memory_ctx, sizeof(Series)));
        series->left = count;
        context->user_fctx = series;
    }
    context = SRF_PERCALL_SETUP();
    Series *series = static_cast<Series *>(context->user_fctx);
    if (series->left == 0)
        SRF_RETURN_DONE(context);
    int64_t id;
    while (!series->batch.next(id))
        series->batch = snowflake::settle(snowflake::process_generator.begin(
            static_cast<uint32>(Min(series->left, int64{snowflake::layout().max_sequence()} + 1))));
    series->left--;
    SRF_RETURN_NEXT(context, Int64GetDatum(id));
}
}
