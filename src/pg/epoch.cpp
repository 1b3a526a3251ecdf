#include "src/border/postgres.hpp"

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

bool parse_milliseconds(const char *text, int64 &unix_ms)
{
    const char *end = text + strlen(text);
    const auto [stop, error] = std::from_chars(text, end, unix_ms);
    return error == std::errc() && stop == end;
}

bool starts_with_year(const char *text)
{
    return strspn(text, "0123456789") == 4 && text[4] == '-';
}

// Parses a timestamp, with a time zone or without one, by PostgreSQL's own rules. Those of
// timestamptz would take the zone from the session, so a text without one is tried first.
bool parse_timestamp(const char *text, TimestampTz &timestamp)
{
    for (const bool with_zone : {false, true}) {
        char work[MAXDATELEN + MAXDATEFIELDS];
        char *fields[MAXDATEFIELDS];
        int types[MAXDATEFIELDS];
        int count;
        int kind;
        int zone = 0;
        struct pg_tm tm;
        fsec_t fraction;

        if (ParseDateTime(text, work, sizeof(work), fields, types, MAXDATEFIELDS, &count) != 0)
            return false;
        if (decode_date_time(fields, types, count, &kind, &tm, &fraction,
                             with_zone ? &zone : nullptr) == 0)
            return kind == DTK_DATE &&
                   tm2timestamp(&tm, fraction, with_zone ? &zone : nullptr, &timestamp) == 0;
    }
    return false;
}

EpochText wrong(const char *error, const char *hint) { return {0, error, hint}; }

} // namespace

EpochText parse_epoch(const char *text, int64 now_unix_ms)
{
    const char *const forms = "Use a date and time such as 2025-01-01 00:00:00+00 (without a zone: "
                              "UTC), whole milliseconds since 1970, or one of unix, twitter, "
                              "discord, pgedge.";
    for (const Preset &preset : presets)
        if (pg_strcasecmp(text, preset.name) == 0)
            return {preset.unix_ms, nullptr, nullptr};

    int64 unix_ms;
    if (!parse_milliseconds(text, unix_ms)) {
        TimestampTz timestamp;
        if (!starts_with_year(text) || !parse_timestamp(text, timestamp))
            return wrong("It is neither a date and time that starts with the year, nor a number of "
                         "milliseconds, nor the name of a known epoch.",
                         forms);
        if (timestamp % 1000 != 0)
            return wrong("An epoch is in whole milliseconds.", forms);
        unix_ms = timestamp / 1000 + postgres_epoch_unix_ms;
    }
    if (unix_ms < earliest_unix_ms)
        return wrong("An epoch must not be earlier than 2000-01-01 00:00:00+00, except \"unix\".",
                     "A number is in milliseconds since 1970, not in seconds.");
    if (unix_ms > (now_unix_ms > release_unix_ms ? now_unix_ms : release_unix_ms))
        return wrong("The epoch is in the future by this server's clock: no id could be generated "
                     "before it.",
                     "Choose an epoch in the past, or set the server's clock right.");
    return {unix_ms, nullptr, nullptr};
}

} // namespace snowflake
