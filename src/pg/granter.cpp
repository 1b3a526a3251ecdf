#include "src/border/postgres.hpp"

#include "src/pg/granter.hpp"

#include "src/generator/grant.hpp"
#include "src/pg/local_store.hpp"
#include "src/pg/place.hpp"
#include "src/pg/settings.hpp"
#include "src/pg/time.hpp"

namespace snowflake {

namespace {

// For so long after the last id the ceiling is still kept ahead, so that a server that is used now
// and then does not make each call wait. Then the granter sleeps until it is woken.
constexpr int64 linger_ms = 20'000;

// How often a standby looks at what it has replayed, and how soon the end of recovery is noticed at
// first (twice as late each time).
constexpr long standby_poll_ms = 5'000;
constexpr long first_poll_ms = 10;

// A new grant's floor may lie so far ahead of the clock, for tickets that were being waited for,
// and is waited for whatever snowflake.clock_tolerance is.
constexpr int64 switch_slack_ms = 100;

// After a failed write: the next attempt at the earliest, whoever asks, and the one that nobody
// asks for.
constexpr int64 retry_at_earliest_ms = 100;
constexpr long retry_ms = 1'000;

// What the granter knows, in its own process.
State *state;
State *backup; // of the state, during a claim
bool recovery_is_over;
bool floor_is_new; // the state's floor_ms, since it was last written
long poll_ms;
int64 granted_reserve_ms;  // reserve_ahead of the current grant
int64 last_newest_ms;      // newest_ms of the current grant at the last look,
int64 last_use_at_ms;      //   and when it last changed, in monotonic_ms()
int64 last_failure_at_ms;  // of a write, in monotonic_ms(); 0 if the last one succeeded
int64 replayed_written_at; // in monotonic_ms()

int64 now_unix_ms() { return SystemClock{}.now_ms(); }

GrantSlot &current_slot()
{
    SharedState &generator = shared()->generator;
    return generator.slot(generator.version.load(std::memory_order_relaxed));
}

// The current grant's machine ids; MachineBlock::first is -1 if there is none.
MachineBlock current_machines()
{
    const GrantSlot &slot = current_slot();
    return {slot.machine_first.load(std::memory_order_relaxed),
            slot.machine_bits.load(std::memory_order_relaxed)};
}

// The millisecond of the current grant's next ticket.
int64 word_ms()
{
    const uint64 word = current_slot().word.load(std::memory_order_acquire) & ~closed_bit;
    return static_cast<int64>(word >> (layout().sequence_bits() + current_machines().bits));
}

void set_error(const char *text)
{
    const TimestampTz now = text[0] != '\0' ? GetCurrentTimestamp() : 0;
    SpinLockAcquire(&shared()->error_lock);
    strlcpy(shared()->error, text, sizeof(shared()->error));
    shared()->error_at = now;
    SpinLockRelease(&shared()->error_lock);
}

TimestampTz newest_replayed() { return shared()->replayed_until.load(std::memory_order_acquire); }

// Takes over what was replayed of another server's WAL. Not of this server's own, after a crash:
// its marks are better, for they are per machine id.
void note_replay(StateHeader &header)
{
    if (shared()->started_as_replica && RecoveryInProgress())
        header.replayed_us = Max(header.replayed_us, newest_replayed());
}

// Writes the state. The log hears of a failure when it is a new one, and of its end.
bool save()
{
    LWLockAcquire(shared()->state_lock, LW_EXCLUSIVE);
    note_replay(state->header);
    const StoreProblem problem = write_state(state);
    LWLockRelease(shared()->state_lock);
    const GranterError before = granter_error();
    if (problem.happened()) {
        last_failure_at_ms = monotonic_ms();
        shared()->store_errors.fetch_add(1, std::memory_order_relaxed);
        set_error(problem.text);
        if (strcmp(before.text, problem.text) != 0)
            ereport(LOG, errmsg("snowflake: %s", problem.text),
                    errdetail("Ids are generated up to the ceiling that was recorded last, and not "
                              "beyond it until the file can be written."));
        ConditionVariableBroadcast(&shared()->granter_acted);
        return false;
    }
    last_failure_at_ms = 0;
    floor_is_new = false;
    if (before.text[0] != '\0') {
        set_error("");
        ereport(LOG, errmsg("snowflake: file \"%s\" can be written again", state_file));
    }
    return true;
}

void stamp(StateHeader &header)
{
    const Place here = place_here();
    const bool copied =
        is_copied(header.place, here) || header.system_identifier != GetSystemIdentifier();
    if (copied && !pg_strong_random(header.node, sizeof(header.node)))
        memset(header.node, 0, sizeof(header.node));
    header.epoch_unix_ms = epoch_unix_ms();
    header.machine_bits = layout().machine_bits;
    header.system_identifier = GetSystemIdentifier();
    header.place = here;
}

GrantRecord new_record(MachineBlock machines, int64 ceiling_ms)
{
    GrantRecord record{};
    record.machine_first = machines.first;
    record.machine_bits = machines.bits;
    record.timeline = GetWALInsertionTimeLine();
    record.is_open = 1;
    record.granted_unix_ms = now_unix_ms();
    record.ceiling_ms = ceiling_ms;
    record.system_identifier = state->header.system_identifier;
    strlcpy(record.source, "setting", sizeof(record.source));
    strlcpy(record.host, state->header.place.host, sizeof(record.host));
    strlcpy(record.directory, state->header.place.directory, sizeof(record.directory));
    return record;
}

void end_record(GrantRecord *record, int64 end_ms)
{
    if (record == nullptr || !record->is_open)
        return;
    record->is_open = 0;
    record->ended_unix_ms = now_unix_ms();
    record->ceiling_ms = end_ms;
}

// The same machine ids go on, from a higher floor.
void reopen_record(GrantRecord *record, int64 ceiling_ms)
{
    record->is_open = 1;
    record->ended_unix_ms = 0;
    record->ceiling_ms = ceiling_ms;
}

// The ceiling for a grant whose next id lies at `from_ms` or later. It is never further ahead of
// the clock than `reserve_ahead`, but for a floor that is: so that neither restarts in a row nor a
// clock that is wrong drive the mark on.
int64 ceiling_for(int64 from_ms)
{
    return Min(Max(from_ms, Max(now_ms(), 0) + reserve_ahead_ms()), end_of_time_ms);
}

// The floor of a grant of these machine ids: above all that was ever issued under them, and above
// all that this server has issued, so that ids stay in order; unless that is of a clock that ran
// ahead: then a fresh machine id is the way to go on at once.
int64 floor_for(MachineBlock machines, int64 after_ms)
{
    int64 floor_ms = Max(state->mark_of(machines), state->header.floor_ms);
    if (after_ms <= now_ms() + clock_tolerance_ms + switch_slack_ms)
        floor_ms = Max(floor_ms, after_ms);
    return Min(floor_ms, end_of_time_ms);
}

// Closes the current grant, if there is one, and notes its true end in the state.
void close_current()
{
    const MachineBlock machines = current_machines();
    if (machines.first < 0)
        return;
    const int64 end_ms = close_grant(shared()->generator, layout());
    shared()->order_after_ms = end_ms;
    state->set_mark(machines, end_ms);
    end_record(state->last_grant(), end_ms);
}

// Where ids of an earlier run of the server end, whatever machine ids they have: at the newest mark
// that is not of a clock that ran ahead. After a crash a mark lies ahead of what was issued; that
// itself is within the tolerance of the clock, if that did not go back further.
int64 end_of_earlier_run()
{
    const int64 latest = now_ms() + clock_tolerance_ms;
    int64 end_ms = 0;
    for (const int64 mark : state->marks)
        if (mark <= latest + reserve_ahead_ms() + switch_slack_ms)
            end_ms = Max(end_ms, mark);
    return Max(Min(end_ms, latest), 0);
}

void log_switch(const MachineIds &wanted, MachineBlock before)
{
    if (!wanted.configured && before.first >= 0)
        ereport(LOG, errmsg("snowflake: no machine id any more, was %s", block_text(before).text));
    else if (wanted.configured && before.first < 0)
        ereport(LOG, errmsg("snowflake: machine id is now %s", block_text(wanted.machines).text));
    else if (wanted.configured && wanted.machines != before)
        ereport(LOG, errmsg("snowflake: machine id is now %s, was %s",
                            block_text(wanted.machines).text, block_text(before).text));
}

void publish(const MachineIds &wanted, int64 floor_ms, int64 ceiling_ms)
{
    if (wanted.configured)
        publish_grant(
            shared()->generator, layout(),
            {wanted.machines, floor_ms, ceiling_ms, reserve_ahead_ms() + switch_slack_ms});
    else
        publish_none(shared()->generator, layout());
    granted_reserve_ms = reserve_ahead_ms();
    last_newest_ms = 0;
    last_use_at_ms = monotonic_ms(); // it was asked for, and will be used
    shared()->status.store(wanted.configured ? GrantStatus::granted : GrantStatus::none,
                           std::memory_order_release);
    ConditionVariableBroadcast(&shared()->granter_acted);
}

// Replaces the current grant by what the setting asks for. The old grant is closed first, so that
// its true end is known; calls wait until the new one, whose ceiling is on disk by then, is
// published. If it cannot be recorded the old one, whose ceiling is on disk already, is opened
// again where it ended. Therefore the write lowers no mark: a write that failed may have reached
// the disk all the same.
bool claim(const MachineIds &wanted)
{
    const MachineBlock before = current_machines();
    const int64 old_ceiling_ms = current_slot().ceiling_ms.load(std::memory_order_relaxed);
    int64 floor_ms = 0;
    int64 ceiling_ms = 0;
    memcpy(backup, state, sizeof(State));
    close_current();
    if (wanted.configured) {
        stamp(state->header);
        floor_ms = floor_for(wanted.machines, shared()->order_after_ms);
        ceiling_ms = ceiling_for(floor_ms);
        state->set_mark(wanted.machines, ceiling_ms);
        if (wanted.machines == before)
            reopen_record(state->last_grant(), ceiling_ms);
        else
            state->add_grant(new_record(wanted.machines, ceiling_ms));
    }
    if (before.first >= 0)
        for (int32 id = before.first; id <= before.last(); id++)
            state->marks[id] = Max(state->marks[id], backup->marks[id]);
    const bool has_news = wanted.configured || before.first >= 0 || floor_is_new;
    if (has_news && !save()) {
        memcpy(state, backup, sizeof(State));
        if (before.first >= 0)
            publish({true, before}, shared()->order_after_ms, old_ceiling_ms);
        return false;
    }
    publish(wanted, floor_ms, ceiling_ms);
    if (before.first >= 0)
        state->set_mark(before, shared()->order_after_ms);
    if (wanted.configured)
        state->set_mark(wanted.machines, ceiling_ms);
    log_switch(wanted, before);
    return true;
}

// Raises the current grant's ceiling, on disk first.
bool extend()
{
    const MachineBlock machines = current_machines();
    const int64 old_ceiling_ms = current_slot().ceiling_ms.load(std::memory_order_relaxed);
    const int64 ceiling_ms = ceiling_for(word_ms());
    if (ceiling_ms <= old_ceiling_ms)
        return true;
    state->set_mark(machines, ceiling_ms);
    state->last_grant()->ceiling_ms = ceiling_ms;
    if (!save()) {
        state->set_mark(machines, old_ceiling_ms);
        state->last_grant()->ceiling_ms = old_ceiling_ms;
        return false;
    }
    extend_grant(shared()->generator, ceiling_ms);
    shared()->extensions.fetch_add(1, std::memory_order_relaxed);
    ConditionVariableBroadcast(&shared()->granter_acted);
    return true;
}

// snowflake_advance(): a floor for all machine ids.
void take_advance()
{
    const int64 wanted_ms = shared()->advance_to_ms.load(std::memory_order_acquire);
    if (wanted_ms <= state->header.floor_ms)
        return;
    state->header.floor_ms = wanted_ms;
    floor_is_new = true;
}

// The state's floor is on disk.
void confirm_advance()
{
    const int64 floor_ms = state->header.floor_ms;
    if (shared()->advanced_to_ms.exchange(floor_ms, std::memory_order_acq_rel) != floor_ms)
        ConditionVariableBroadcast(&shared()->granter_acted);
}

// While recovery goes on: keeps the newest time that a replica has replayed in the state.
long watch_recovery()
{
    if (shared()->started_as_replica && newest_replayed() > state->header.replayed_us &&
        monotonic_ms() - replayed_written_at >= standby_poll_ms) {
        stamp(state->header);
        replayed_written_at = monotonic_ms();
        (void) save();
    }
    poll_ms = poll_ms == 0 ? first_poll_ms : Min(poll_ms * 2, standby_poll_ms);
    return poll_ms;
}

// The end of recovery. Ids that were issued elsewhere and have reached this server are older than
// the newest end of a transaction that it has replayed, whatever its own clock says: it starts
// above.
void leave_recovery()
{
    recovery_is_over = true;
    if (!shared()->started_as_replica)
        return;
    const TimestampTz replayed = Max(newest_replayed(), state->header.replayed_us);
    // Between an id and the end of its transaction that clock may have gone back.
    const int64 margin_ms = Max(reserve_ahead_ms(), int64{clock_tolerance_ms});
    const int64 floor_ms = Min(ms_of(replayed) + 1 + margin_ms, end_of_time_ms);
    state->header.floor_ms = Max(state->header.floor_ms, floor_ms);
    state->header.replayed_us = 0; // what it said, the floor says from now on
    floor_is_new = true;
    const GrantRecord *last = state->last_grant();
    const Place here = place_here();
    if (last != nullptr && machine_ids_setting().configured &&
        (strcmp(last->host, here.host) != 0 || strcmp(last->directory, here.directory) != 0))
        ereport(
            WARNING,
            errmsg("this server, promoted, takes over from the one that generated snowflake ids "
                   "on host \"%s\" in \"%s\"",
                   last->host, last->directory),
            errdetail("It is on host \"%s\" in \"%s\", and generates with machine id %s from %s "
                      "on: later than all that it has replayed.",
                      here.host, here.directory, block_text(machine_ids_setting().machines).text,
                      timestamptz_to_str(timestamp_of(state->header.floor_ms))),
            errhint("Make certain that the other server does not run any more, or give this one "
                    "a machine id of its own."));
}

// When the checkpoint was made from which recovery is about to start, or a later one. What is older
// will not be replayed.
TimestampTz checkpoint_time()
{
    bool crc_ok;
    ControlFileData *control = get_controlfile(DataDir, &crc_ok);
    const TimestampTz time = time_t_to_timestamptz(control->checkPointCopy.time + 1);
    pfree(control);
    return time;
}

// The epoch and the layout are those of the ids that were generated before.
void require_same_ids(const StateHeader &header)
{
    if (header.epoch_unix_ms != epoch_unix_ms())
        ereport(ERROR, errcode(ERRCODE_CONFIG_FILE_ERROR),
                errmsg("snowflake.epoch is not the one that this data directory's ids have"),
                errdetail("It is set to %lld, and was %lld when ids were first generated "
                          "(milliseconds since 1970).",
                          static_cast<long long>(epoch_unix_ms()),
                          static_cast<long long>(header.epoch_unix_ms)),
                errhint("Set snowflake.epoch to '%lld'.",
                        static_cast<long long>(header.epoch_unix_ms)));
    if (header.machine_bits != layout().machine_bits)
        ereport(ERROR, errcode(ERRCODE_CONFIG_FILE_ERROR),
                errmsg("snowflake.machine_bits is not what this data directory's ids have"),
                errdetail("It is set to %d, and was %d when ids were first generated.",
                          layout().machine_bits, header.machine_bits),
                errhint("Set snowflake.machine_bits to %d.", header.machine_bits));
}

void warn_if_copied(const Place &then)
{
    const Place here = place_here();
    const MachineIds ids = machine_ids_setting();
    if (ids.configured && is_copied(then, here))
        ereport(WARNING,
                errmsg("this data directory, which bears snowflake.machine_id %s, was copied",
                       block_text(ids.machines).text),
                errdetail("It was on host \"%s\" in \"%s\", and is on host \"%s\" in \"%s\".",
                          then.host, then.directory, here.host, here.directory),
                errhint("If the original server still runs, both generate the same ids: give "
                        "this one a machine id of its own."));
}

void warn_of(const StoreProblem &problem)
{
    if (problem.happened())
        ereport(WARNING, errmsg("snowflake: %s", problem.text));
}

// Before recovery: what another server wrote up to the checkpoint counts as replayed, and is on
// disk before the rest is, so that the next start knows of it whenever this one ends.
void prepare_for_replay(Shared &shared, State *found)
{
    // A replica whose recovery was over, but which ended before it could draw the consequence.
    if (found->header.replayed_us > 0)
        shared.started_as_replica = true;
    if (!shared.started_as_replica)
        return;
    stamp(found->header);
    found->header.replayed_us = Max(found->header.replayed_us, checkpoint_time());
    shared.replayed_until.store(found->header.replayed_us, std::memory_order_relaxed);
    warn_of(write_state(found));
}

// Whether ids have been used lately.
bool in_use()
{
    const int64 newest = current_slot().newest_ms.load(std::memory_order_acquire);
    if (newest != last_newest_ms) {
        last_newest_ms = newest;
        last_use_at_ms = monotonic_ms();
    }
    return last_use_at_ms != 0 && monotonic_ms() - last_use_at_ms < linger_ms;
}

// How far the ceiling is ahead of what is being used.
int64 ms_left()
{
    return current_slot().ceiling_ms.load(std::memory_order_relaxed) - Max(now_ms(), word_ms());
}

// Keeps the ceiling ahead while ids are used.
long extend_if_due(bool wanted)
{
    if (!in_use() && !wanted)
        return -1;
    const long half_ms = static_cast<long>(reserve_ahead_ms() / 2);
    if ((wanted || ms_left() <= half_ms) && !extend())
        return retry_ms;
    // The next time half of it is used, unless it is ahead as far as it may be and yet used up.
    const int64 due_in = ms_left() - half_ms;
    return due_in > 0 ? static_cast<long>(Min(due_in, half_ms)) : half_ms;
}

long act(bool wanted)
{
    const MachineIds setting = machine_ids_setting();
    const MachineBlock current = current_machines();
    const bool follows =
        setting.configured ? setting.machines == current
                           : shared()->status.load(std::memory_order_relaxed) == GrantStatus::none;
    take_advance();
    const bool overtaken = floor_is_new && setting.configured && state->header.floor_ms > word_ms();
    // A ceiling that is further ahead than the setting allows now: a crash would have to wait for
    // it.
    const bool too_far = setting.configured && reserve_ahead_ms() < granted_reserve_ms;
    if (!follows || overtaken || too_far) {
        if (!claim(setting))
            return retry_ms;
    } else if (floor_is_new && !save()) {
        return retry_ms;
    }
    confirm_advance();
    return setting.configured ? extend_if_due(wanted) : -1;
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

int64 monotonic_ms()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return int64{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

GranterError granter_error()
{
    GranterError result;
    SpinLockAcquire(&shared()->error_lock);
    strlcpy(result.text, shared()->error, sizeof(result.text));
    result.at = shared()->error_at;
    SpinLockRelease(&shared()->error_lock);
    return result;
}

GranterExcuse granter_excuse()
{
    GranterExcuse excuse;
    const GranterError error = granter_error();
    if (error.text[0] == '\0' && IsUnderPostmaster &&
        shared()->granter_latch.load(std::memory_order_acquire) == nullptr) {
        excuse.detail = "The snowflake background worker does not run.";
        excuse.hint = psprintf("It needs one of max_worker_processes (%d), and is started again a "
                               "second after it ended; the server's log says why it ended.",
                               max_worker_processes);
        return excuse;
    }
    excuse.detail = error.text[0] != '\0' ? pstrdup(error.text)
                                          : "The snowflake background worker has not answered.";
    excuse.hint = psprintf("It is tried again until file \"%s\" in the data directory can be "
                           "written. snowflake.grant_timeout (%d ms) is how long a call waits.",
                           state_file, grant_timeout_ms);
    return excuse;
}

void log_the_end()
{
    ereport(WARNING,
            errmsg("the 41 bits of a snowflake id's timestamp run out at %s",
                   timestamptz_to_str(timestamp_of(end_of_time_ms))),
            errdetail("No id can be generated from then on."),
            errhint("Plan the move to another epoch and to new ids."));
}

void check_state_at_start(Shared &shared)
{
    publish_none(shared.generator, layout());
    if (now_ms() >= last_year_ms) {
        shared.end_logged_day.store(now_ms() / ms_per_day, std::memory_order_relaxed);
        log_the_end();
    }

    State *found = allocate_state();
    if (read_state(found)) {
        require_same_ids(found->header);
        warn_if_copied(found->header.place);
    }
    prepare_for_replay(shared, found);
    pfree(found);
}

void record_replay()
{
    State *found = allocate_state();
    LWLockAcquire(shared()->state_lock, LW_EXCLUSIVE);
    if (!read_state(found))
        stamp(found->header);
    note_replay(found->header);
    const StoreProblem problem = write_state(found);
    LWLockRelease(shared()->state_lock);
    pfree(found);
    warn_of(problem);
}

namespace {

// Reads the state. If it cannot be read the worker ends; what calls and the view say is why.
bool read_state_at_start()
{
    const MemoryContext context = CurrentMemoryContext;
    volatile bool found = false;
    PG_TRY();
    {
        found = read_state(state);
    }
    PG_CATCH();
    {
        MemoryContextSwitchTo(context);
        ErrorData *error = CopyErrorData();
        set_error(error->message);
        FreeErrorData(error);
        PG_RE_THROW();
    }
    PG_END_TRY();
    return found;
}

} // namespace

void granter_start()
{
    if (state == nullptr) {
        MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
        state = allocate_state();
        backup = allocate_state();
        MemoryContextSwitchTo(old);
    }
    if (!read_state_at_start())
        stamp(state->header);
    if (shared()->order_after_ms == 0)
        shared()->order_after_ms = end_of_earlier_run();
    // A granter of this server that ended without a crash, by a signal, has left its grant closed,
    // or open: its true end is still to be seen in shared memory.
    if (current_machines().first >= 0) {
        close_current();
        publish_none(shared()->generator, layout());
        shared()->status.store(GrantStatus::pending, std::memory_order_release);
    } else {
        GrantRecord *last = state->last_grant();
        end_record(last, last != nullptr ? last->ceiling_ms : 0);
    }
}

long granter_step()
{
    const bool wanted = shared()->extension_wanted.exchange(false, std::memory_order_acq_rel);
    if (RecoveryInProgress())
        return watch_recovery();
    if (!recovery_is_over)
        leave_recovery();
    // A disk that fails is not asked again for every call that waits.
    const int64 since_failure = monotonic_ms() - last_failure_at_ms;
    if (last_failure_at_ms != 0 && since_failure < retry_at_earliest_ms) {
        if (wanted)
            shared()->extension_wanted.store(true, std::memory_order_release);
        return retry_at_earliest_ms - since_failure;
    }
    return act(wanted);
}

void granter_stop()
{
    if (RecoveryInProgress()) {
        if (shared()->started_as_replica)
            (void) save();
        return;
    }
    if (current_machines().first < 0 && !floor_is_new)
        return;
    close_current();
    (void) save();
}

bool wait_for_granter(int64 deadline_ms)
{
    static uint32 event = 0;
    if (event == 0)
        event = wait_event("SnowflakeGrant");
    if (!IsUnderPostmaster) { // a standalone backend is its own granter
        if (state == nullptr)
            granter_start();
        (void) granter_step();
        return monotonic_ms() < deadline_ms;
    }
    Latch *granter = shared()->granter_latch.load(std::memory_order_acquire);
    if (granter != nullptr)
        SetLatch(granter);
    const int64 left = deadline_ms - monotonic_ms();
    if (left <= 0)
        return false;
    (void) ConditionVariableTimedSleep(&shared()->granter_acted, left, event);
    return true;
}

} // namespace snowflake
