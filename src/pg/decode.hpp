// What the functions that take an id have in common.
#pragma once

#include "src/border/postgres.hpp"

namespace snowflake {

// Raises an error if `id` is negative: no snowflake id is.
void require_id(int64 id);

// What that error says, for ereport(): the number is shown as `text`.
int errnegative(const char *text);

} // namespace snowflake
