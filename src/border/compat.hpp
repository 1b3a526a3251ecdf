// Where PostgreSQL's versions differ: the only file with a version #if. Included by postgres.hpp.
#pragma once

#if PG_VERSION_NUM < 150000
#error "snowflake needs PostgreSQL 15 or later"
#endif

// The library is built with hidden symbols; before 16 PGDLLEXPORT was empty on Unix.
#if PG_VERSION_NUM < 160000
#undef PGDLLEXPORT
#define PGDLLEXPORT __attribute__((visibility("default")))
#endif

// Leaves an input function with an error: a soft one, from 16 on, where its caller wants that.
#if PG_VERSION_NUM >= 160000
#define SNOWFLAKE_INPUT_ERROR(fcinfo, ...) ereturn((fcinfo)->context, Datum{0}, __VA_ARGS__)
#else
#define SNOWFLAKE_INPUT_ERROR(fcinfo, ...) ereport(ERROR, __VA_ARGS__)
#endif

namespace snowflake {

// The module's name and version show in pg_get_loaded_modules() from 18 on.
#if PG_VERSION_NUM >= 180000
#define SNOWFLAKE_MODULE_MAGIC                                                                     \
    PG_MODULE_MAGIC_EXT(.name = "snowflake", .version = SNOWFLAKE_VERSION)
#else
#define SNOWFLAKE_MODULE_MAGIC PG_MODULE_MAGIC
#endif

// Registers a wait event of this name, or answers the one that all extensions shared before 17.
inline uint32 wait_event(const char *name)
{
#if PG_VERSION_NUM >= 170000
    return WaitEventExtensionNew(name);
#else
    (void) name;
    return PG_WAIT_EXTENSION;
#endif
}

inline int decode_date_time(char **fields, int *types, int count, int *kind, struct pg_tm *tm,
                            fsec_t *fraction, int *zone)
{
#if PG_VERSION_NUM >= 160000
    DateTimeErrorExtra extra;
    return DecodeDateTime(fields, types, count, kind, tm, fraction, zone, &extra);
#else
    return DecodeDateTime(fields, types, count, kind, tm, fraction, zone);
#endif
}

// Whether the current user may call a function.
inline bool may_call(Oid function)
{
#if PG_VERSION_NUM >= 160000
    return object_aclcheck(ProcedureRelationId, function, GetUserId(), ACL_EXECUTE) == ACLCHECK_OK;
#else
    return pg_proc_aclcheck(function, GetUserId(), ACL_EXECUTE) == ACLCHECK_OK;
#endif
}

inline RangeType *make_range_of(TypeCacheEntry *type, RangeBound *lower, RangeBound *upper,
                                bool empty)
{
#if PG_VERSION_NUM >= 160000
    return make_range(type, lower, upper, empty, nullptr);
#else
    return make_range(type, lower, upper, empty);
#endif
}

// Puts a message that belongs to no transaction into the WAL. Returns where it ends.
inline XLogRecPtr log_message(const char *prefix, const char *message, Size size)
{
#if PG_VERSION_NUM >= 170000
    return LogLogicalMessage(prefix, message, size, false, false);
#else
    return LogLogicalMessage(prefix, message, size, false);
#endif
}

} // namespace snowflake
