#include "src/border/postgres.hpp"

#include <unistd.h>

#include "src/pg/shmem.hpp"

#include "src/pg/granter.hpp"
#include "src/pg/horizon.hpp"
#include "src/pg/settings.hpp"

namespace snowflake {

Generator<SystemClock> process_generator; // children inherit it, attached but unused

namespace {

shmem_request_hook_type previous_request_hook;
shmem_startup_hook_type previous_startup_hook;

constexpr const char *lock_name = "SnowflakeState";

Shared *memory;

void request()
{
    if (previous_request_hook != nullptr)
        previous_request_hook();
    RequestAddinShmemSpace(sizeof(Shared));
    RequestNamedLWLockTranche(lock_name, 2);
    request_horizon_memory();
}

// Whether recovery is about to replay what another server wrote: a standby, a restore from an
// archive, or a base backup.
bool starts_as_replica()
{
    for (const char *sign : {"standby.signal", "recovery.signal", "backup_label"})
        if (access(sign, F_OK) == 0)
            return true;
    return false;
}

// Runs in the postmaster before any other process exists, again after a crash, which makes shared
// memory anew. (Where processes are not forked it runs in each, and finds the memory set up.)
void start_up()
{
    if (previous_startup_hook != nullptr)
        previous_startup_hook();

    bool found = false;
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    void *place = ShmemInitStruct("snowflake", sizeof(Shared), &found);
    memory = static_cast<Shared *>(place);
    if (!found) {
        memset(place, 0, sizeof(Shared));
        new (place) Shared{};
        ConditionVariableInit(&memory->granter_acted);
        SpinLockInit(&memory->error_lock);
        memory->state_lock = &GetNamedLWLockTranche(lock_name)[0].lock;
        memory->backfill_lock = &GetNamedLWLockTranche(lock_name)[1].lock;
        memory->started_as_replica = starts_as_replica();
        check_state_at_start(*memory);
    }
    set_up_horizon_memory();
    LWLockRelease(AddinShmemInitLock);
    process_generator.attach(memory->generator, layout(), SystemClock{epoch_unix_ms()},
                             clock_tolerance_ms, sequence_spread);
}

} // namespace

void request_shared_memory()
{
    previous_request_hook = shmem_request_hook;
    shmem_request_hook = request;
    previous_startup_hook = shmem_startup_hook;
    shmem_startup_hook = start_up;
}

Shared *shared() { return memory; }

} // namespace snowflake
