#include "src/border/postgres.hpp"

#include "src/pg/horizon.hpp"

#include "src/generator/horizon.hpp"
#include "src/pg/granter.hpp"
#include "src/pg/settings.hpp"
#include "src/pg/shmem.hpp"

namespace snowflake {

namespace {

// What the ring holds at least beyond what must be in it: how many xids may be used up between a
// statement's snapshot and its call, before the answer is 0.
constexpr uint64 ring_at_least = 16000;

constexpr const char *lock_name = "SnowflakePrepared";

// A prepared transaction keeps its bound in an advisory lock, for PostgreSQL carries locks along:
// to its dummy process, through a crash or a restart, and to a standby. The lock's key is the xid
// and the bound; its kind, the fourth field, is one that no SQL function takes (those take 1 and
// 2).
constexpr uint16 bound_lock_kind = 41;

// The bound of the transaction that was prepared last in a dummy process. It stays after the
// transaction has ended, for snapshots that do not see it, until the next one comes: then it moves
// into the ring.
struct Prepared {
    uint64 xid; // with its epoch; 0: none yet
    int64 bound;
};

// In shared memory, guarded by the lock.
struct PreparedTable {
    LWLock *lock;
    bool is_loaded;                          // with those that recovery brought back,
    uint64 loaded_until;                     //   and no xid had reached this one by then
    Prepared entries[FLEXIBLE_ARRAY_MEMBER]; // one per dummy process
};

HorizonState *state;
PreparedTable *prepared;

// A horizon that was told to a query of this transaction that still runs.
struct Told {
    Snapshot snapshot;
    TransactionId xmax;
    uint32 xcnt;
    int64 horizon;
};

// Almost always empty or of one.
Told *told;
int told_count;
int told_room;

ExecutorEnd_hook_type previous_executor_end;

uint64 ring_size()
{
    return pg_nextpower2_64(ring_at_least + 2 * (MaxBackends + max_prepared_xacts));
}

Size horizon_size() { return HorizonState::size_for(ring_size(), MaxBackends); }

Size prepared_size()
{
    return offsetof(PreparedTable, entries) + max_prepared_xacts * sizeof(Prepared);
}

Bound &bound_of(const PGPROC *process) { return state->bounds()[process - ProcGlobal->allProcs]; }

// An xid of about now, with its epoch.
uint64 full_xid(TransactionId xid, uint64 next)
{
    return next - static_cast<uint32>(static_cast<uint32>(next) - xid);
}

uint64 next_xid() { return U64FromFullTransactionId(ReadNextFullTransactionId()); }

// Transactions

uint64 my_xid() { return U64FromFullTransactionId(GetTopFullTransactionIdIfAny()); }

void put_bound_into_lock()
{
    const int64 bound = bound_of(MyProc).load(std::memory_order_relaxed);
    if (bound == no_bound)
        return;
    LOCKTAG tag;
    SET_LOCKTAG_ADVISORY(tag, GetTopTransactionId(), static_cast<uint32>(bound >> 32),
                         static_cast<uint32>(bound), bound_lock_kind);
    (void) LockAcquire(&tag, ShareLock, false, false);
}

// Enters a transaction that is prepared now, with the lock held. (A dummy process that is free
// still has its last transaction's xid. Should that be this one's, 2^32 xids later, an entry there
// does no harm.)
void enter_prepared(uint64 xid, int64 bound)
{
    for (int i = 0; i < max_prepared_xacts; i++) {
        Prepared &entry = prepared->entries[i];
        if (PreparedXactProcs[i].xid != static_cast<TransactionId>(xid))
            continue;
        if (entry.xid != 0 && entry.xid != xid)
            state->remember(entry.xid, entry.bound);
        entry = {xid, bound};
    }
}

// The transaction is prepared, and nobody can end it yet.
void hand_over_to_prepared()
{
    Bound &mine = bound_of(MyProc);
    const int64 bound = mine.load(std::memory_order_relaxed);
    if (bound == no_bound)
        return;
    LWLockAcquire(prepared->lock, LW_EXCLUSIVE);
    enter_prepared(my_xid(), bound);
    LWLockRelease(prepared->lock);
    mine.store(no_bound, std::memory_order_release);
}

// A transaction that commits is out of the ProcArray at XACT_EVENT_COMMIT: new snapshots see its
// rows. A parallel worker's transactions end here too, but its ids are in the leader's bound; its
// own is untouched.
void at_transaction_event(XactEvent event, void *)
{
    switch (event) {
    case XACT_EVENT_COMMIT:
        state->end(bound_of(MyProc), my_xid());
        break;
    case XACT_EVENT_ABORT:
        state->end(bound_of(MyProc), 0);
        break;
    case XACT_EVENT_PRE_PREPARE:
        put_bound_into_lock();
        return;
    case XACT_EVENT_PREPARE:
        hand_over_to_prepared();
        break;
    default:
        return;
    }
    process_generator.end_transaction();
    told_count = 0;
}

// One answer per snapshot
//
// Within one query the answer must not change: a filter asks for each row, and the scans of several
// partitions each for themselves. A row that was left out under the first answer, below one that is
// delivered under the next, would be lost. So what was told to a query is told again for the same
// snapshot, which nobody can free while the query runs.

const Told *find_told(Snapshot snapshot)
{
    for (int i = told_count - 1; i >= 0; i--)
        // An entry that an error has left behind may be of an older snapshot in the same place. If
        // these two are equal as well, both see the same transactions.
        if (told[i].snapshot == snapshot && told[i].xmax == snapshot->xmax &&
            told[i].xcnt == snapshot->xcnt)
            return &told[i];
    return nullptr;
}

void forget_told(Snapshot snapshot)
{
    int kept = 0;
    for (int i = 0; i < told_count; i++)
        if (told[i].snapshot != snapshot)
            told[kept++] = told[i];
    told_count = kept;
}

void remember_told(Snapshot snapshot, int64 horizon)
{
    if (snapshot->regd_count == 0) // of no query: the planner's, or a lone expression's
        return;
    forget_told(snapshot);
    if (told_count == told_room) {
        const int room = Max(16, 2 * told_room);
        const Size size = room * sizeof(Told);
        told = static_cast<Told *>(told == nullptr ? MemoryContextAlloc(TopMemoryContext, size)
                                                   : repalloc(told, size));
        told_room = room;
    }
    told[told_count++] = {snapshot, snapshot->xmax, snapshot->xcnt, horizon};
}

// The query still has its snapshot registered, once, now that its execution has ended; if that is
// not all, another one runs under the same snapshot.
void at_query_end(QueryDesc *query)
{
    if (previous_executor_end != nullptr)
        previous_executor_end(query);
    else
        standard_ExecutorEnd(query);
    if (told_count > 0 && query->snapshot != InvalidSnapshot && query->snapshot->regd_count <= 1)
        forget_told(query->snapshot);
}

// The reader

// A snapshot, with full xids.
struct View {
    Snapshot snapshot;
    uint64 xmin;
    uint64 xmax;

    bool cannot_see(uint64 xid) const
    {
        return xid >= xmin && XidInMVCCSnapshot(static_cast<TransactionId>(xid), snapshot);
    }
};

View view_of(Snapshot snapshot)
{
    const uint64 next = next_xid();
    return {snapshot, full_xid(snapshot->xmin, next), full_xid(snapshot->xmax, next)};
}

[[noreturn]] void refuse()
{
    if (shared()->status.load(std::memory_order_acquire) == GrantStatus::none)
        ereport(
            ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("cannot tell the horizon of snowflake ids: this server has no machine id"),
            errdetail("snowflake.machine_id is empty: where the next id will lie is not known."),
            errhint("Set snowflake.machine_id in postgresql.conf to a number from 0 to %d that "
                    "no other server has, and reload the configuration.",
                    layout().max_machine()));
    const GranterExcuse excuse = granter_excuse();
    ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("cannot tell the horizon of snowflake ids: the right to generate them could not "
                   "be recorded in time"),
            errdetail("%s", excuse.detail), errhint("%s", excuse.hint));
    pg_unreachable();
}

bool read_running(int64_t &id) { return lowest_running(shared()->generator, layout(), *state, id); }

// R1 and R2. While the grant is being changed, waits for the granter as snowflake_next() does.
int64 await_running()
{
    int64_t id = 0;
    if (read_running(id))
        return id;
    const int64 deadline_ms = monotonic_ms() + grant_timeout_ms;
    bool found = false;
    ConditionVariablePrepareToSleep(&shared()->granter_acted);
    for (;;) {
        found = read_running(id);
        if (found || shared()->status.load(std::memory_order_acquire) == GrantStatus::none)
            break;
        if (!wait_for_granter(deadline_ms))
            break;
        CHECK_FOR_INTERRUPTS();
    }
    ConditionVariableCancelSleep();
    if (!found)
        refuse();
    return id;
}

// Those transactions that recovery brought back have their bounds in locks. The ones that were
// prepared since then enter the table themselves; so this is done once.
void load_prepared()
{
    const LockData *locks = GetLockStatusData();
    const uint64 next = next_xid();
    for (int i = 0; i < locks->nelements; i++) {
        const LOCKTAG &tag = locks->locks[i].locktag;
        if (tag.locktag_type != LOCKTAG_ADVISORY || tag.locktag_field4 != bound_lock_kind)
            continue;
        enter_prepared(full_xid(tag.locktag_field1, next),
                       static_cast<int64>(uint64{tag.locktag_field2} << 32 | tag.locktag_field3));
    }
    // After all that: a snapshot with a later xmax sees those that ended before they got here.
    prepared->loaded_until = next_xid();
    prepared->is_loaded = true;
}

void make_loaded()
{
    LWLockAcquire(prepared->lock, LW_EXCLUSIVE);
    if (!prepared->is_loaded)
        load_prepared();
    LWLockRelease(prepared->lock);
}

bool is_in_table(uint64 xid)
{
    for (int i = 0; i < max_prepared_xacts; i++)
        if (prepared->entries[i].xid == xid)
            return true;
    return false;
}

// Whether the table may lack a transaction that recovery brought back and that ended before the
// table was loaded, and which this snapshot, if it was taken before that, does not see. One that is
// still in progress is either in the table, or drew no id before it was prepared, or is an ordinary
// one.
bool may_be_incomplete(const View &view)
{
    if (view.xmax > prepared->loaded_until)
        return false;
    const uint64 next = next_xid();
    for (uint32 i = 0; i < view.snapshot->xcnt; i++) {
        const TransactionId xid = view.snapshot->xip[i];
        if (!is_in_table(full_xid(xid, next)) && !TransactionIdIsInProgress(xid))
            return true;
    }
    return false;
}

// R2, of prepared transactions, which had their bound with the others before. False if not all are
// known that the snapshot does not see.
bool lower_to_prepared(int64_t &id, const View &view)
{
    if (max_prepared_xacts == 0)
        return true;
    LWLockAcquire(prepared->lock, LW_SHARED);
    if (!prepared->is_loaded) {
        LWLockRelease(prepared->lock);
        make_loaded();
        LWLockAcquire(prepared->lock, LW_SHARED);
    }
    for (int i = 0; i < max_prepared_xacts; i++) {
        const Prepared &entry = prepared->entries[i];
        if (entry.xid != 0 && entry.bound < id && view.cannot_see(entry.xid))
            id = entry.bound;
    }
    const bool is_complete = !may_be_incomplete(view);
    LWLockRelease(prepared->lock);
    return is_complete;
}

// The horizon of a snapshot, or 0 if the snapshot is too old for that to be known.
int64 compute_horizon(Snapshot snapshot)
{
    // One that was taken while this server was a standby lists its transactions in another way.
    if (snapshot->snapshot_type != SNAPSHOT_MVCC || snapshot->takenDuringRecovery)
        return 0;
    const View view = view_of(snapshot);
    int64_t id = await_running();
    if (!lower_to_prepared(id, view))
        return 0;
    const uint64 ended = state->ended();
    // Those that the snapshot does not see and that can have ended since; and of each process one
    // that ended before but came to the ring later (of a dummy process: was moved there later).
    const uint64 newest = snapshot->xcnt + (next_xid() - view.xmax) +
                          static_cast<uint64>(MaxBackends + max_prepared_xacts) + 1;
    const bool is_known = state->lower_to_ended(
        id, ended, newest, [&view](uint64 xid) { return view.cannot_see(xid); });
    return is_known ? id : 0;
}

} // namespace

void request_horizon_memory()
{
    RequestAddinShmemSpace(add_size(horizon_size(), prepared_size()));
    RequestNamedLWLockTranche(lock_name, 1);
}

void set_up_horizon_memory()
{
    bool found = false;
    state =
        static_cast<HorizonState *>(ShmemInitStruct("snowflake horizon", horizon_size(), &found));
    if (!found) {
        memset(static_cast<void *>(state), 0, horizon_size());
        new (state) HorizonState{};
        state->ring_size = ring_size();
        state->bound_count = static_cast<uint64>(MaxBackends);
        for (uint64 i = 0; i < state->ring_size; i++)
            new (&state->ring()[i]) Ended{};
        for (uint64 i = 0; i < state->bound_count; i++)
            new (&state->bounds()[i]) Bound{no_bound};
    }
    prepared = static_cast<PreparedTable *>(
        ShmemInitStruct("snowflake prepared", prepared_size(), &found));
    if (!found) {
        memset(static_cast<void *>(prepared), 0, prepared_size());
        prepared->lock = &GetNamedLWLockTranche(lock_name)->lock;
    }
}

void watch_transactions()
{
    RegisterXactCallback(at_transaction_event, nullptr);
    previous_executor_end = ExecutorEnd_hook;
    ExecutorEnd_hook = at_query_end;
}

void bind_generator()
{
    const PGPROC *leader = MyProc->lockGroupLeader;
    process_generator.bind(bound_of(leader != nullptr ? leader : MyProc));
}

} // namespace snowflake

extern "C" {

PG_FUNCTION_INFO_V1(snowflake_horizon);

// snowflake_horizon() returns bigint
PGDLLEXPORT Datum snowflake_horizon(PG_FUNCTION_ARGS)
{
    using namespace snowflake;
    (void) fcinfo;
    require_preload();
    PreventCommandDuringRecovery("snowflake_horizon()");
    Snapshot snapshot = GetActiveSnapshot();
    if (const Told *before = find_told(snapshot))
        PG_RETURN_INT64(before->horizon);
    const int64 horizon = compute_horizon(snapshot);
    remember_told(snapshot, horizon);
    PG_RETURN_INT64(horizon);
}
}
