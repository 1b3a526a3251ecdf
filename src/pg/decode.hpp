// What the functions that take an id have in common.
#pragma once

#include "src/border/postgres.hpp"

namespace snowflake {

// Raises an error if `id` is negative: no snowflake id is.
void require_id(int64 id);

} // namespace snowflake
