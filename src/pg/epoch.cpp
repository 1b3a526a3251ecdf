#include "src/border/postgres.hpp"

#include <regex.h>

#include "src/pg/epoch.hpp"

#include "src/pg/time.hpp"

namespace snowflake {

namespace {

struct Preset {
    const char *name;
    int64 unix_ms;
};

constexpr Preset presets[] = {
    {"unix", 0},
    {"twitter", 1'288'834'974'657}, // 2010-11-04 01:42:54.657, twitter/snowflake's IdWorker.scala
    {"discord", 1'420'070'400'000}, // 2015-01-01, Discord's API reference, "Snowflakes"
    {"pgedge", 1'672'531'200'000},  // 2023-01-01, pgEdge's documentation of its snowflake extension
};

constexpr int64 earliest_unix_ms = postgres_epoch_unix_ms;

// When this version was made: 2026-12-01. A clock that reads less is wrong, and an epoch before it
// is in the past for certain; so a server whose clock lost its battery starts, and only the calls
// fail.
constexpr int64 release_unix_ms = 1'796'083'200'000;

// What may be wrong with the text of an epoch, and what to say then.
constexpr EpochText not_an_epoch = {
    0,
    "It is neither a date and time, nor a number of milliseconds, nor the name of a known epoch.",
    "Use a date and time such as 2025-01-01 00:00:00+00 (without a zone: UTC), whole milliseconds "
    "since "
    "1970, or one of unix, twitter, discord, pgedge."};
constexpr EpochText no_such_time = {0, "There is no such date and time.",
                                    "Use a date and time such as 2025-01-01 00:00:00+00."};
constexpr EpochText not_whole = {0, "An epoch is in whole milliseconds.",
                                 "Leave the microseconds out."};
constexpr EpochText too_early = {
    0,
    "An epoch must not be earlier than 2000-01-01 00:00:00+00, except "
    "\"unix\".",
    "Choose a later one. A number is in milliseconds since 1970, not in "
    "seconds."};
constexpr EpochText too_late = {
    0,
    "The epoch is in the future by this server's clock: no id could be "
    "generated before it.",
    "Choose an epoch in the past, or set the server's clock right. A number "
    "is in milliseconds since 1970."};

bool matches(const char *text, const char *pattern)
{
    regex_t regex;
    if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return false;
    const bool result = regexec(&regex, text, 0, nullptr, 0) == 0;
    regfree(&regex);
    return result;
}

// Parses a date and time, by PostgreSQL's own rules, once its form is certain: an ISO 8601 one
// means the same with every DateStyle and TimeZone. Names of zones are not taken: what they mean
// changes, and before PostgreSQL 16 an unknown one would raise an error, which a check of a setting
// must not.
EpochText parse_timestamp(const char *text)
{
    const char *const date = "^[0-9]{4}-[0-9]{2}-[0-9]{2}";
    const char *const time = "([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?)?";
    const char *const zone = " ?(Z|[+-][0-9]{2}(:?[0-9]{2})?)$";
    char zoned[128];
    char zoneless[128];
    snprintf(zoned, sizeof(zoned), "%s%s%s", date, time, zone);
    snprintf(zoneless, sizeof(zoneless), "%s%s$", date, time);
    const bool has_zone = matches(text, zoned);
    if (!has_zone && !matches(text, zoneless))
        return not_an_epoch;

    char work[MAXDATELEN + MAXDATEFIELDS];
    char *fields[MAXDATEFIELDS];
    int types[MAXDATEFIELDS];
    int count;
    int kind;
    int offset = 0;
    struct pg_tm tm;
    fsec_t fraction;
    TimestampTz timestamp;
    if (ParseDateTime(text, work, sizeof(work), fields, types, MAXDATEFIELDS, &count) != 0 ||
        decode_date_time(fields, types, count, &kind, &tm, &fraction,
                         has_zone ? &offset : nullptr) != 0 ||
        kind != DTK_DATE || tm2timestamp(&tm, fraction, &offset, &timestamp) != 0)
        return no_such_time;
    if (timestamp % 1000 != 0)
        return not_whole;
    return {timestamp / 1000 + postgres_epoch_unix_ms, nullptr, nullptr};
}

// A number of milliseconds; one too large to be one is in the far future.
EpochText parse_milliseconds(const char *text)
{
    int64_t unix_ms = 0;
    const auto [stop, error] = std::from_chars(text, text + strlen(text), unix_ms);
    if (error == std::errc::result_out_of_range)
        return too_late;
    return {unix_ms, nullptr, nullptr};
}

} // namespace

EpochText parse_epoch(const char *text, int64 now_unix_ms)
{
    for (const Preset &preset : presets)
        if (pg_strcasecmp(text, preset.name) == 0)
            return {preset.unix_ms, nullptr, nullptr};

    const EpochText epoch =
        matches(text, "^[0-9]+$") ? parse_milliseconds(text) : parse_timestamp(text);
    if (epoch.error != nullptr)
        return epoch;
    if (epoch.unix_ms < earliest_unix_ms)
        return too_early;
    if (epoch.unix_ms > Max(now_unix_ms, release_unix_ms))
        return too_late;
    return epoch;
}

} // namespace snowflake
