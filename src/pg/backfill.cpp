// snowflake_backfill(): ids of times that are past, for rows that were there before.
#include "src/border/postgres.hpp"

#include "src/lease/backfill.hpp"
#include "src/pg/backfill_store.hpp"
#include "src/pg/granter.hpp"
#include "src/pg/local_store.hpp"
#include "src/pg/settings.hpp"
#include "src/pg/time.hpp"

namespace snowflake {

namespace {

// What this session has of a span.
struct Span {
    uint32 index; // the hash table's key
    int32 run_count;
    ShareRun *runs; // room for the next power of two of run_count
    int32 shares;   // in all runs
    MsCounts counts;
};

// What this session holds, and for which machine ids: until it ends, or they change. Transactions
// do not matter. It takes about 16 bytes per millisecond that has an id.
MemoryContext memory;
HTAB *spans;
Span *latest; // the span of the call before
MachineBlock held_for;

MachineIds require_machine_ids()
{
    const MachineIds ids = backfill_machine_ids_setting();
    if (!ids.configured)
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("cannot generate an id of the past: there is no machine id for it"),
                errdetail("snowflake.backfill_machine_id is empty."),
                errhint("Set snowflake.backfill_machine_id in postgresql.conf to a number from 0 "
                        "to %d that no server has or had as machine id, and reload the "
                        "configuration.",
                        layout().max_machine()));
    const MachineIds own = machine_ids_setting();
    if (own.configured && own.machines.first <= ids.machines.last() &&
        ids.machines.first <= own.machines.last())
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("cannot generate an id of the past: its machine id is the server's own"),
                errdetail("snowflake.backfill_machine_id is %s, snowflake.machine_id is %s.",
                          pstrdup(block_text(ids.machines).text), block_text(own.machines).text),
                errhint("Set snowflake.backfill_machine_id to one that no server has or had as "
                        "machine id, and reload the configuration."));
    return ids;
}

// Ids that this server has generated with these machine ids, at other times, are not counted
// anywhere.
void require_unused(MachineBlock machines)
{
    State *state = allocate_state();
    const bool is_used = read_state(state) && state->mark_of(machines) > 0;
    pfree(state);
    if (is_used)
        ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                errmsg("cannot generate an id of the past: its machine id was the server's own"),
                errdetail("snowflake.backfill_machine_id is %s; this server has generated ids with "
                          "it or a part of it.",
                          block_text(machines).text),
                errhint("Set snowflake.backfill_machine_id to one that no server has or had as "
                        "machine id, and reload the configuration."));
}

// Forgets what is held for other machine ids.
void hold(MachineBlock machines)
{
    if (spans != nullptr && machines == held_for)
        return;
    require_unused(machines);
    spans = nullptr;
    latest = nullptr;
    if (memory == nullptr)
        memory =
            AllocSetContextCreate(TopMemoryContext, "snowflake backfill", ALLOCSET_DEFAULT_SIZES);
    MemoryContextReset(memory);
    HASHCTL control{};
    control.keysize = sizeof(uint32);
    control.entrysize = sizeof(Span);
    control.hcxt = memory;
    held_for = machines;
    spans = hash_create("snowflake backfill", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

Span &span_at(uint32 index)
{
    if (latest != nullptr && latest->index == index)
        return *latest;
    bool found;
    Span *span = static_cast<Span *>(hash_search(spans, &index, HASH_ENTER, &found));
    if (!found)
        *span = {index, 0, nullptr, 0, {}};
    latest = span;
    return *span;
}

[[noreturn]] void refuse_used_up(const Span &span, int64 ms)
{
    const int64 first_ms = static_cast<int64>(span.index) << span_bits;
    ereport(
        ERROR, errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
        errmsg("cannot generate an id of the past: those of %s are used up",
               pstrdup(timestamptz_to_str(timestamp_of(ms)))),
        errdetail("With backfill machine id %s each millisecond from %s on, for 2^20 of them, "
                  "has %d shares of %d ids. Sessions have taken all of them, and this one has "
                  "used up the %d that it has.",
                  block_text(held_for).text, pstrdup(timestamptz_to_str(timestamp_of(first_ms))),
                  share_count(layout()) * held_for.count(), ids_per_share(layout()), span.shares),
        errhint("Set snowflake.backfill_machine_id to a larger block, or to one that was never "
                "used, and reload the configuration. Let few sessions do the work, each on "
                "rows of other times."));
    pg_unreachable();
}

// Takes more shares: as many as there are already, so that a millisecond with many rows takes few
// writes.
void take_more(Span &span, int64 ms)
{
    const Size room = static_cast<Size>(span.run_count) * 2 * sizeof(ShareRun);
    if (span.run_count == 0)
        span.runs = static_cast<ShareRun *>(MemoryContextAlloc(memory, sizeof(ShareRun)));
    else if ((span.run_count & (span.run_count - 1)) == 0)
        span.runs = static_cast<ShareRun *>(repalloc(span.runs, room));
    const ShareRun run = take_shares(held_for, span.index, Max(span.shares, 1));
    if (run.count == 0)
        refuse_used_up(span, ms);
    span.runs[span.run_count++] = run;
    span.shares += run.count;
}

uint32 &used_at(Span &span, int64 ms)
{
    if (span.counts.is_full()) {
        const Size size = span.counts.next_capacity() * sizeof(MsCount);
        MsCount *old =
            span.counts.grow(static_cast<MsCount *>(MemoryContextAllocZero(memory, size)));
        if (old != nullptr)
            pfree(old);
    }
    return span.counts.used(offset_of(ms));
}

int64 next_at(int64 ms)
{
    Span &span = span_at(span_of(ms));
    uint32 &used = used_at(span, ms);
    for (;;) {
        while (used >=
               static_cast<uint32>(span.shares) * static_cast<uint32>(ids_per_share(layout())))
            take_more(span, ms);
        const int64 id = nth_id(layout(), ms, span.runs, used++);
        if (!is_reserved(id))
            return id;
    }
}

int64 require_past(TimestampTz timestamp)
{
    const int64 ms = ms_of(timestamp);
    if (ms < 0 || ms > max_ms)
        ereport(ERROR, errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
                errmsg("timestamp is out of range for a snowflake id"),
                errdetail("It is %s; ids go from %s on.", pstrdup(timestamptz_to_str(timestamp)),
                          pstrdup(timestamptz_to_str(timestamp_of(0)))),
                errhint("snowflake.epoch must not be later than the oldest row."));
    if (ms > now_ms())
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("cannot generate an id of the past: the timestamp is in the future"),
                errdetail("It is %s.", timestamptz_to_str(timestamp)),
                errhint("Use snowflake_next() for an id of now."));
    return ms;
}

} // namespace

} // namespace snowflake

extern "C" {

PG_FUNCTION_INFO_V1(snowflake_backfill);

// snowflake_backfill(ts timestamptz) returns bigint
//
// Every id that it returns is another one, whether it is kept or rolled back, in all sessions and
// databases, before and after a crash (lease/backfill.hpp says why).
PGDLLEXPORT Datum snowflake_backfill(PG_FUNCTION_ARGS)
{
    snowflake::require_preload();
    PreventCommandDuringRecovery("snowflake_backfill()");
    const snowflake::MachineIds ids = snowflake::require_machine_ids();
    const int64 ms = snowflake::require_past(PG_GETARG_TIMESTAMPTZ(0));
    snowflake::hold(ids.machines);
    PG_RETURN_INT64(snowflake::next_at(ms));
}
}
