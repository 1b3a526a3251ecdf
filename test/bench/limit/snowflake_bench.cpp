// What the benchmark compares the extension with. To be preloaded, beside the extension; it has
// shared memory of its own.
//
//   bench_limit()      the physical limit: a clock read and an addition to a shared counter
//   bench_spin_next()  the extension's generator, but spinning where the extension sleeps
//   bench_cpu_time()   this backend's CPU time
#include "src/border/postgres.hpp"

#include "src/generator/clock.hpp"
#include "src/generator/generator.hpp"
#include "src/generator/grant.hpp"
#include "src/generator/shared_state.hpp"

namespace {

using namespace snowflake;

struct Shared {
    alignas(line_size) std::atomic<uint64> counter; // of bench_limit()
    SharedState generator;                          // of bench_spin_next()
};

static_assert(alignof(Shared) <= PG_CACHE_LINE_SIZE, "ShmemInitStruct aligns to no more than that");

// The default layout and the extension's default epoch, 2025-01-01 00:00 UTC.
constexpr Layout layout{};
constexpr SystemClock system_clock{INT64CONST(1'735'689'600'000)};
constexpr MachineBlock machine{1, 0};
constexpr int tolerance_ms = 1000;

Shared *shared;
Generator<SystemClock> generator; // attached in the postmaster; the backends inherit it

shmem_request_hook_type previous_request_hook;
shmem_startup_hook_type previous_startup_hook;

void request()
{
    if (previous_request_hook != nullptr)
        previous_request_hook();
    RequestAddinShmemSpace(sizeof(Shared));
}

void start_up()
{
    if (previous_startup_hook != nullptr)
        previous_startup_hook();

    bool found = false;
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    shared = static_cast<Shared *>(ShmemInitStruct("snowflake_bench", sizeof(Shared), &found));
    if (!found) {
        new (shared) Shared{};
        publish_grant(shared->generator, layout,
                      {machine, system_clock.now_ms() + 1, end_of_time_ms, /* floor_slack_ms */ 0});
    }
    LWLockRelease(AddinShmemInitLock);
    generator.attach(shared->generator, layout, system_clock, tolerance_ms);
}

void require_preload()
{
    if (unlikely(shared == nullptr))
        ereport(ERROR, errmsg("snowflake_bench must be in shared_preload_libraries"));
}

// What the extension does with an answer (src/pg/next.cpp), without the sleep.
pg_noinline int64 settle(Answer answer)
{
    while (answer.verdict == Verdict::wait) {
        CHECK_FOR_INTERRUPTS();
        answer = generator.resume();
    }
    if (answer.verdict == Verdict::refused)
        elog(ERROR, "the generator refuses, reason %d", static_cast<int>(answer.reason));
    int64_t id = 0;
    (void) answer.batch.next(id);
    return id;
}

} // namespace

extern "C" {

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(bench_limit);
PG_FUNCTION_INFO_V1(bench_spin_next);
PG_FUNCTION_INFO_V1(bench_cpu_time);

PGDLLEXPORT void _PG_init(void)
{
    if (!process_shared_preload_libraries_in_progress)
        return;
    previous_request_hook = shmem_request_hook;
    shmem_request_hook = request;
    previous_startup_hook = shmem_startup_hook;
    shmem_startup_hook = start_up;
}

PGDLLEXPORT Datum bench_limit(PG_FUNCTION_ARGS)
{
    (void) fcinfo;
    require_preload();
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now); // the compiler does not see into it, so it is not left out
    PG_RETURN_INT64(static_cast<int64>(shared->counter.fetch_add(1)));
}

PGDLLEXPORT Datum bench_spin_next(PG_FUNCTION_ARGS)
{
    (void) fcinfo;
    require_preload();
    int64_t id;
    Answer answer;
    if (likely(generator.next(id, answer)))
        PG_RETURN_INT64(id);
    PG_RETURN_INT64(settle(answer));
}

// The sum of utime and stime of /proc/PID/stat, but in nanoseconds, not in hundredths of a second.
PGDLLEXPORT Datum bench_cpu_time(PG_FUNCTION_ARGS)
{
    (void) fcinfo;
    timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    PG_RETURN_FLOAT8(static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9);
}
}
