// The library's piece of shared memory, and this process's end of the generator in it.
#pragma once

#include "src/border/postgres.hpp"

#include "src/generator/clock.hpp"
#include "src/generator/generator.hpp"
#include "src/generator/shared_state.hpp"

namespace snowflake {

struct Shared {
    SharedState generator;

    // The day (days since the epoch) on which the nearing end of the 41 bits was last logged.
    std::atomic<int64> end_logged_day;

    // One mark per machine id, 2^machine_bits of them: no id at or above that millisecond has ever
    // been issued under it. Written by the granter only (grant.cpp).
    std::atomic<int64> marks[FLEXIBLE_ARRAY_MEMBER];
};

static_assert(alignof(Shared) <= PG_CACHE_LINE_SIZE, "ShmemInitStruct aligns to no more than that");
static_assert(std::is_trivially_destructible_v<Shared>);

// Asks for the memory and has it set up, with the first grant, when the server has it. For
// _PG_init.
void request_shared_memory();

// NULL where the library was not preloaded.
Shared *shared();

// This process's generator; attached only where shared() is not NULL.
extern Generator<SystemClock> process_generator;

} // namespace snowflake
