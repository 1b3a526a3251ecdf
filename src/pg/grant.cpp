#include "src/border/postgres.hpp"

#include "src/pg/grant.hpp"

#include "src/generator/grant.hpp"
#include "src/pg/settings.hpp"
#include "src/pg/time.hpp"

namespace snowflake {

namespace {

int64 now_ms() { return SystemClock{epoch_unix_ms()}.now_ms(); }

int64 mark_of(const Shared &shared, MachineBlock machines)
{
    int64 mark = 0;
    for (int32 id = machines.first; id <= machines.last(); id++)
        mark = Max(mark, shared.marks[id].load(std::memory_order_relaxed));
    return mark;
}

void raise_mark(Shared &shared, MachineBlock machines, int64 mark)
{
    for (int32 id = machines.first; id <= machines.last(); id++)
        if (mark > shared.marks[id].load(std::memory_order_relaxed))
            shared.marks[id].store(mark, std::memory_order_relaxed);
}

// The current grant's machine ids; MachineBlock::first is -1 if there is none.
MachineBlock current_machines(const Shared &shared)
{
    const SharedState &state = shared.generator;
    const GrantSlot &slot = state.slot(state.version.load(std::memory_order_relaxed));
    return {slot.machine_first.load(std::memory_order_relaxed),
            slot.machine_bits.load(std::memory_order_relaxed)};
}

// Publishes what the setting asks for. `after_ms`: no id of this server so far lies at or above it.
void publish(Shared &shared, const MachineIds &wanted, int64 after_ms)
{
    if (!wanted.configured) {
        publish_none(shared.generator, layout());
        return;
    }
    // The new ids follow the old ones in order, unless the old ones are of a clock that ran ahead:
    // then they need not, and a fresh machine id is the way to go on at once.
    int64 floor_ms = mark_of(shared, wanted.machines);
    if (after_ms <= now_ms() + clock_tolerance_ms)
        floor_ms = Max(floor_ms, after_ms);
    floor_ms = Min(floor_ms, end_of_time_ms);
    publish_grant(shared.generator, layout(),
                  {wanted.machines, floor_ms, end_of_time_ms, /* floor_slack_ms */ 0});
}

} // namespace

BlockText block_text(MachineBlock machines)
{
    BlockText result;
    if (machines.bits == 0)
        snprintf(result.text, sizeof(result.text), "%d", machines.first);
    else
        snprintf(result.text, sizeof(result.text), "%d-%d", machines.first, machines.last());
    return result;
}

void log_the_end()
{
    ereport(WARNING,
            errmsg("the 41 bits of a snowflake id's timestamp run out at %s",
                   timestamptz_to_str(timestamp_of(end_of_time_ms))),
            errdetail("No id can be generated from then on."),
            errhint("Plan the move to another epoch and to new ids."));
}

void begin_granting(Shared &shared)
{
    if (now_ms() >= last_year_ms) {
        shared.end_logged_day.store(now_ms() / ms_per_day, std::memory_order_relaxed);
        log_the_end();
    }
    // Nothing that an earlier run of this server issued lies beyond the present millisecond, for
    // ids leave only when the clock has reached them.
    publish(shared, machine_ids_setting(), Max(now_ms() + 1, 0));
}

void follow_setting(Shared &shared)
{
    const MachineIds wanted = machine_ids_setting();
    const MachineBlock current = current_machines(shared);
    if (wanted.configured ? wanted.machines == current : current.first < 0)
        return;

    const int64 end_ms = close_grant(shared.generator, layout());
    if (current.first >= 0)
        raise_mark(shared, current, end_ms);
    publish(shared, wanted, end_ms);

    if (!wanted.configured)
        ereport(LOG, errmsg("snowflake: no machine id any more, was %s", block_text(current).text));
    else if (current.first < 0)
        ereport(LOG, errmsg("snowflake: machine id is now %s", block_text(wanted.machines).text));
    else
        ereport(LOG, errmsg("snowflake: machine id is now %s, was %s",
                            block_text(wanted.machines).text, block_text(current).text));
}

} // namespace snowflake
