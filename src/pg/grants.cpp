// snowflake_grants, the history of grants, and snowflake_advance().
#include "src/border/postgres.hpp"

#include "src/pg/decode.hpp"
#include "src/pg/granter.hpp"
#include "src/pg/local_store.hpp"
#include "src/pg/settings.hpp"
#include "src/pg/time.hpp"

namespace snowflake {

namespace {

// How far ahead of the clock an id may be that snowflake_advance() takes: until the clock has
// passed it, no id is generated.
constexpr int64 advance_at_most_ms = 3'600'000;

TimestampTz timestamp_of_unix(int64 unix_ms) { return timestamp_of(unix_ms - epoch_unix_ms()); }

void put_grant(ReturnSetInfo *result, const GrantRecord &grant)
{
    char system_identifier[24];
    snprintf(system_identifier, sizeof(system_identifier), UINT64_FORMAT, grant.system_identifier);
    Datum values[] = {
        CStringGetTextDatum(block_text({grant.machine_first, grant.machine_bits}).text),
        CStringGetTextDatum(grant.source),
        CStringGetTextDatum(grant.host),
        CStringGetTextDatum(grant.directory),
        DirectFunctionCall3(numeric_in, CStringGetDatum(system_identifier),
                            ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)),
        Int32GetDatum(static_cast<int32>(grant.timeline)),
        TimestampTzGetDatum(timestamp_of_unix(grant.granted_unix_ms)),
        TimestampTzGetDatum(timestamp_of_unix(grant.ended_unix_ms)),
        TimestampTzGetDatum(timestamp_of(grant.ceiling_ms)),
    };
    bool nulls[lengthof(values)] = {};
    nulls[7] = grant.is_open != 0;
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

void check_advance(int64 id)
{
    require_id(id);
    if ((id >> timestamp_shift) - now_ms() > advance_at_most_ms)
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("snowflake id is too far in the future to advance to"),
                errdetail("Its timestamp is %s; until the clock has passed it, no id could be "
                          "generated.",
                          timestamptz_to_str(timestamp_of(id >> timestamp_shift))),
                errhint("If these ids count from an earlier epoch, set snowflake.epoch to that one "
                        "before the first id is generated."));
}

// Asks the granter, and waits until it has made it durable.
void advance_to(int64 floor_ms)
{
    const int64 deadline_ms = monotonic_ms() + Max(grant_timeout_ms, 1000);
    std::atomic<int64> &wanted = shared()->advance_to_ms;
    int64 before = wanted.load(std::memory_order_relaxed);
    while (floor_ms > before &&
           !wanted.compare_exchange_weak(before, floor_ms, std::memory_order_acq_rel))
        ;
    ConditionVariablePrepareToSleep(&shared()->granter_acted);
    bool in_time = true;
    while (shared()->advanced_to_ms.load(std::memory_order_acquire) < floor_ms && in_time) {
        in_time = wait_for_granter(deadline_ms);
        CHECK_FOR_INTERRUPTS();
    }
    ConditionVariableCancelSleep();
    if (shared()->advanced_to_ms.load(std::memory_order_acquire) >= floor_ms)
        return;
    const GranterExcuse excuse = granter_excuse();
    ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("could not record in time that snowflake ids are to be advanced"),
            errdetail("%s", excuse.detail), errhint("%s", excuse.hint));
}

} // namespace

} // namespace snowflake

extern "C" {

PG_FUNCTION_INFO_V1(snowflake_get_grants);
PG_FUNCTION_INFO_V1(snowflake_advance);

// snowflake_get_grants(out …) returns setof record: the rows of snowflake_grants
PGDLLEXPORT Datum snowflake_get_grants(PG_FUNCTION_ARGS)
{
    snowflake::require_preload();
    InitMaterializedSRF(fcinfo, 0);
    ReturnSetInfo *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
    snowflake::State *state = snowflake::allocate_state();
    if (snowflake::read_state(state))
        for (uint32 i = 0; i < state->header.grant_count; i++)
            snowflake::put_grant(result, state->grants[i]);
    pfree(state);
    PG_RETURN_NULL();
}

// snowflake_advance(id bigint) returns void
PGDLLEXPORT Datum snowflake_advance(PG_FUNCTION_ARGS)
{
    snowflake::require_preload();
    PreventCommandDuringRecovery("snowflake_advance()");
    const int64 id = PG_GETARG_INT64(0);
    snowflake::check_advance(id);
    snowflake::advance_to((id >> snowflake::timestamp_shift) + 1);
    PG_RETURN_VOID();
}
}
