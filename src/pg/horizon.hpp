// snowflake_horizon(): the id below which a reader misses nothing; and what transactions leave for
// it. The protocol, and why it is right, is in src/generator/horizon.hpp.
#pragma once

#include "src/border/postgres.hpp"

namespace snowflake {

// In the shmem hooks: asks for the horizon's own piece of shared memory, and sets it up (with
// AddinShmemInitLock held).
void request_horizon_memory();
void set_up_horizon_memory();

// In _PG_init: hears of each transaction's and each query's end, in this process and its children.
void watch_transactions();

// Lets this process's generator lower the bound of the transaction that it draws for, which is the
// leader's in a parallel worker. Once per process, before its first id.
void bind_generator();

} // namespace snowflake
