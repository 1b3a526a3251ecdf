#include "src/border/postgres.hpp"

#include "src/pg/settings.hpp"

#include "src/generator/clock.hpp"
#include "src/pg/epoch.hpp"

namespace snowflake {

int clock_tolerance_ms;
int grant_timeout_ms;
int sequence_spread;

namespace {

constexpr const char *default_epoch = "2025-01-01 00:00:00+00";
constexpr int default_clock_tolerance_ms = 1000;
constexpr int default_reserve_ahead_ms = 2000;
constexpr int min_reserve_ahead_ms = 100;
constexpr int default_grant_timeout_ms = 5000;
constexpr int max_clock_tolerance_ms = 3'600'000;

// Where PostgreSQL keeps the values.
char *machine_id_value;
char *backfill_machine_id_value;
char *epoch_value;
int machine_bits_value = default_machine_bits;
int reserve_ahead_value = -1;

bool defined = false;
int64 epoch_in_use;

bool check_epoch(char **value, void **, GucSource)
{
    const EpochText epoch = parse_epoch(*value, SystemClock{}.now_ms());
    if (epoch.error == nullptr)
        return true;
    GUC_check_errdetail("%s", epoch.error);
    GUC_check_errhint("%s", epoch.hint);
    return false;
}

// Every error names the part that is wrong and the range that is allowed.
void explain(const MachineIds &ids)
{
    const int offender_length = static_cast<int>(ids.offender.size());
    const char *offender = ids.offender.data();
    switch (ids.error) {
    case MachineIdError::none:
        break;
    case MachineIdError::syntax:
        GUC_check_errdetail("\"%.*s\" is neither a machine id nor a block of them.",
                            offender_length, offender);
        break;
    case MachineIdError::out_of_range:
        GUC_check_errdetail("Machine id %.*s is outside the permitted range 0 .. %d.",
                            offender_length, offender, layout().max_machine());
        break;
    case MachineIdError::reversed:
        GUC_check_errdetail("The block \"%.*s\" ends before it starts.", offender_length, offender);
        break;
    case MachineIdError::not_a_power:
        GUC_check_errdetail("The block \"%.*s\" has %d machine ids, which is not a power of two.",
                            offender_length, offender, ids.size);
        break;
    case MachineIdError::not_aligned:
        GUC_check_errdetail("The block \"%.*s\" has %d machine ids, but does not start at a "
                            "multiple of %d.",
                            offender_length, offender, ids.size, ids.size);
        break;
    }
    GUC_check_errhint("Set it to a number from 0 to %d (snowflake.machine_bits is %d), or to an "
                      "aligned block of a power of two, such as 0-1.",
                      layout().max_machine(), layout().machine_bits);
}

bool check_machine_id(char **value, void **, GucSource)
{
    const MachineIds ids = parse_machine_ids(*value, layout());
    if (ids.error == MachineIdError::none)
        return true;
    explain(ids);
    return false;
}

bool check_reserve_ahead(int *value, void **, GucSource)
{
    if (*value == -1 || *value >= min_reserve_ahead_ms)
        return true;
    GUC_check_errdetail("%d ms is less than what one write of the state may take.", *value);
    GUC_check_errhint("Set it to -1, for the default, or to %d ms or more.", min_reserve_ahead_ms);
    return false;
}

bool check_sequence_spread(int *value, void **, GucSource)
{
    const int largest = layout().max_sequence() + 1;
    if (*value <= largest)
        return true;
    GUC_check_errdetail("%d is more than a machine id has ids per millisecond, %d.", *value,
                        largest);
    GUC_check_errhint("Set it to a number from 0 to %d (snowflake.machine_bits is %d).", largest,
                      layout().machine_bits);
    return false;
}

struct Setting {
    const char *name;
    void (*define)(const char *name);
};

// machine_bits comes first: the checks of others need it.
constexpr Setting settings[] = {
    {"snowflake.machine_bits",
     [](const char *name) {
         DefineCustomIntVariable(name, "Number of bits of an id that hold the machine id.",
                                 "The sequence has the rest of the 22 bits below the timestamp.",
                                 &machine_bits_value, default_machine_bits, min_machine_bits,
                                 max_machine_bits, PGC_POSTMASTER, 0, nullptr, nullptr, nullptr);
     }},
    {"snowflake.machine_id",
     [](const char *name) {
         DefineCustomStringVariable(
             name, "Machine id, or aligned block of machine ids, that this server generates with.",
             "No other server may have it. Empty: ids are decoded but not generated.",
             &machine_id_value, "", PGC_SIGHUP, 0, check_machine_id, nullptr, nullptr);
     }},
    {"snowflake.backfill_machine_id",
     [](const char *name) {
         DefineCustomStringVariable(
             name, "Machine id, or aligned block of machine ids, of ids of times that are past.",
             "No server may have it as machine id, now or ever. Empty: there are none.",
             &backfill_machine_id_value, "", PGC_SIGHUP, 0, check_machine_id, nullptr, nullptr);
     }},
    {"snowflake.epoch",
     [](const char *name) {
         DefineCustomStringVariable(
             name, "The moment that an id's timestamp counts milliseconds from.",
             "A date and time (without a zone: UTC), milliseconds since 1970, or one of unix, "
             "twitter, discord, pgedge.",
             &epoch_value, default_epoch, PGC_POSTMASTER, 0, check_epoch, nullptr, nullptr);
     }},
    {"snowflake.clock_tolerance",
     [](const char *name) {
         DefineCustomIntVariable(
             name, "How far the clock may go back and be waited for.",
             "When it goes back by more, generating ids is refused until it has caught up.",
             &clock_tolerance_ms, default_clock_tolerance_ms, 0, max_clock_tolerance_ms, PGC_SIGHUP,
             GUC_UNIT_MS, nullptr, nullptr, nullptr);
     }},
    {"snowflake.reserve_ahead",
     [](const char *name) {
         DefineCustomIntVariable(name, "How far ahead of the clock the ceiling of ids is recorded.",
                                 "So long may a disk be away, and so long a restart after a crash "
                                 "waits. -1: 2 seconds.",
                                 &reserve_ahead_value, -1, -1, 3'600'000, PGC_SIGHUP, GUC_UNIT_MS,
                                 check_reserve_ahead, nullptr, nullptr);
     }},
    {"snowflake.sequence_spread",
     [](const char *name) {
         DefineCustomIntVariable(
             name, "Below which sequence a millisecond starts that does not follow a full one.",
             "0: at sequence 0. With a spread, the ids of a quiet server do not all have the same "
             "remainders.",
             &sequence_spread, 0, 0, 1 << (timestamp_shift - min_machine_bits), PGC_SIGHUP, 0,
             check_sequence_spread, nullptr, nullptr);
     }},
    {"snowflake.grant_timeout",
     [](const char *name) {
         DefineCustomIntVariable(
             name, "How long a call waits for the right to generate ids.",
             "It has to be waited for after a start, and when the disk does not take the mark.",
             &grant_timeout_ms, default_grant_timeout_ms, 0, 3'600'000, PGC_USERSET, GUC_UNIT_MS,
             nullptr, nullptr, nullptr);
     }},
};

// Defines one setting. PostgreSQL only warns of a wrong value that the configuration file gave to
// it before it was defined, and takes the default: with another epoch or machine id, ids would be
// wrong. So such a value is checked once more, and ends the server's start.
void define(const Setting &setting)
{
    const char *given = GetConfigOption(setting.name, true, false);
    char *value = given != nullptr ? pstrdup(given) : nullptr;
    setting.define(setting.name);
    if (value != nullptr)
        set_config_option(setting.name, value, PGC_POSTMASTER, PGC_S_FILE, GUC_ACTION_SET, false,
                          FATAL, false);
}

} // namespace

void define_settings()
{
    for (const Setting &setting : settings)
        define(setting);
    MarkGUCPrefixReserved("snowflake");
    epoch_in_use = parse_epoch(epoch_value, SystemClock{}.now_ms()).unix_ms;
    defined = true;
}

bool settings_are_defined() { return defined; }

Layout layout() { return {machine_bits_value}; }

int64 epoch_unix_ms() { return epoch_in_use; }

int64 reserve_ahead_ms()
{
    return reserve_ahead_value == -1 ? default_reserve_ahead_ms : reserve_ahead_value;
}

MachineIds machine_ids_setting() { return parse_machine_ids(machine_id_value, layout()); }

MachineIds backfill_machine_ids_setting()
{
    return parse_machine_ids(backfill_machine_id_value, layout());
}

void require_preload()
{
    if (likely(defined))
        return;
    ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("snowflake must be loaded via shared_preload_libraries"),
            errdetail("Machine id, epoch and layout are set up when the server starts with it."),
            errhint("Add snowflake to shared_preload_libraries in postgresql.conf and restart the "
                    "server."));
}

} // namespace snowflake
