#include "src/border/postgres.hpp"

#include "src/pg/shmem.hpp"

#include "src/pg/grant.hpp"
#include "src/pg/settings.hpp"

namespace snowflake {

Generator<SystemClock> process_generator; // children inherit it, attached but unused

namespace {

shmem_request_hook_type previous_request_hook;
shmem_startup_hook_type previous_startup_hook;

Shared *memory;

Size memory_size()
{
    const Size machines = Size{1} << layout().machine_bits;
    return offsetof(Shared, marks) + machines * sizeof(std::atomic<int64>);
}

void request()
{
    if (previous_request_hook != nullptr)
        previous_request_hook();
    RequestAddinShmemSpace(memory_size());
}

// Runs in the postmaster before any other process exists, again after a crash, which makes shared
// memory anew. (Where processes are not forked it runs in each, and finds the memory set up.)
void start_up()
{
    if (previous_startup_hook != nullptr)
        previous_startup_hook();

    bool found = false;
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    void *place = ShmemInitStruct("snowflake", memory_size(), &found);
    memory = static_cast<Shared *>(place);
    if (!found) {
        memset(place, 0, memory_size());
        new (place) Shared{};
        begin_granting(*memory);
    }
    LWLockRelease(AddinShmemInitLock);
    process_generator.attach(memory->generator, layout(), SystemClock{epoch_unix_ms()},
                             clock_tolerance_ms);
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
