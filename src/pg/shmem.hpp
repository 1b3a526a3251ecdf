// The library's piece of shared memory, and this process's end of the generator in it.
#pragma once

#include "src/border/postgres.hpp"

#include "src/generator/clock.hpp"
#include "src/generator/generator.hpp"
#include "src/generator/shared_state.hpp"

namespace snowflake {

enum class GrantStatus : uint32 {
    pending, // the granter has not come to it yet: the server starts, or is a standby
    none,    // snowflake.machine_id is empty
    granted,
};

struct Shared {
    SharedState generator;

    // Written by the granter.
    std::atomic<GrantStatus> status;
    std::atomic<Latch *> granter_latch; // to wake it; NULL while there is none
    std::atomic<uint64> extensions;     // of ceilings
    std::atomic<uint64> store_errors;

    // Set before any other process exists.
    bool started_as_replica; // recovery replays, or has replayed, what another server wrote
    LWLock *state_lock;      // held by whoever writes the state file
    LWLock *backfill_lock;   // held by whoever reads or writes which shares of past ids are taken

    // The granter's own, here to outlive its process: no id that this server has issued lies at or
    // above this millisecond, but of machine ids whose clock ran ahead. 0: not known yet.
    int64 order_after_ms;

    // Written by the startup process: the newest end of a transaction that recovery has replayed.
    std::atomic<TimestampTz> replayed_until;

    // Written by backends.
    std::atomic<bool> extension_wanted; // a call has come to the ceiling
    std::atomic<uint64> grant_waits;    // calls that waited for the granter
    std::atomic<int64> advance_to_ms;   // snowflake_advance(): no id below this one any more …
    std::atomic<int64> advanced_to_ms;  // … and what the granter has made durable of it

    // The day (days since the epoch) on which the nearing end of the 41 bits was last logged.
    std::atomic<int64> end_logged_day;

    // Broadcast by the granter when it has done, or failed to do, what a call may wait for.
    ConditionVariable granter_acted;

    // The granter's newest error and when it was; guarded by the lock. Empty: none since the last
    // success.
    slock_t error_lock;
    TimestampTz error_at;
    char error[256];
};

static_assert(alignof(Shared) <= PG_CACHE_LINE_SIZE, "ShmemInitStruct aligns to no more than that");
static_assert(std::is_trivially_destructible_v<Shared>);
static_assert(std::atomic<GrantStatus>::is_always_lock_free);
static_assert(std::atomic<Latch *>::is_always_lock_free);
static_assert(std::atomic<bool>::is_always_lock_free);

// Asks for the memory and has it set up when the server has it. For _PG_init.
void request_shared_memory();

// NULL where the library was not preloaded.
Shared *shared();

// This process's generator; attached only where shared() is not NULL.
extern Generator<SystemClock> process_generator;

} // namespace snowflake
