// What a server durably remembers of its grants, and the bytes of the file that holds it.
//
// Pure: the caller reads, writes and allocates. The file is the header, the runs of marks, the
// grants, and a CRC-32C of all that; integers are as the machine has them, for a data directory
// cannot move to a machine of another kind either.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "src/id/layout.hpp"
#include "src/id/machine_block.hpp"

namespace snowflake {

inline constexpr std::size_t max_grants = 256; // the history keeps the newest
inline constexpr std::size_t max_machines = std::size_t{1} << max_machine_bits;

// Where a data directory lives: what tells a copy of it from itself. Texts end with a zero byte and
// are cut off where they are longer.
struct Place {
    char host[64];       // host name
    char os_id[40];      // the operating system's machine id, empty if it has none
    char directory[128]; // the data directory's path, its end if it is longer
    std::uint64_t device;
    std::uint64_t inode;
};

// One line of the history.
struct GrantRecord {
    std::int32_t machine_first; // MachineBlock
    std::int32_t machine_bits;
    std::uint32_t timeline;
    std::uint32_t is_open;        // 1: the grant in force, or one that a crash ended
    std::int64_t granted_unix_ms; // milliseconds since 1970
    std::int64_t ended_unix_ms;   // 0 while it is open
    std::int64_t ceiling_ms;      // ids of it lie below; milliseconds since the epoch
    std::uint64_t system_identifier;
    char source[16]; // where the machine id came from
    char host[64];
    char directory[128];
};

// What the file says beside marks and grants.
struct StateHeader {
    char magic[8];
    std::uint32_t version;
    std::uint32_t size; // of the whole file, the CRC included
    std::int64_t epoch_unix_ms;
    std::int32_t machine_bits;
    std::uint32_t run_count;
    std::uint32_t grant_count;
    std::uint32_t unused;
    std::uint64_t system_identifier;
    std::uint8_t node[16];    // a random identity, made anew where the directory was copied to
    std::int64_t floor_ms;    // no id of any machine id lies below, from here on
    std::int64_t replayed_us; // newest replayed commit, microseconds since 2000; 0 if none
    Place place;
};

// Machine ids in a row that have the same mark: no id at or above that millisecond was ever issued
// under them. Machine ids without a run have never been used.
struct MarkRun {
    std::int32_t first;
    std::int32_t count;
    std::int64_t mark_ms;
};

static_assert(sizeof(Place) == 248 && sizeof(GrantRecord) == 256 && sizeof(MarkRun) == 16);
static_assert(sizeof(StateHeader) == 328);
static_assert(std::is_trivially_copyable_v<StateHeader>);
static_assert(std::is_trivially_copyable_v<GrantRecord>);

// The state in memory. About 600 kB: to be allocated, not put on a stack.
struct State {
    StateHeader header;
    std::int64_t marks[max_machines]; // per machine id, 0 if it has never been used
    GrantRecord grants[max_grants];   // the oldest first, header.grant_count of them

    std::int64_t mark_of(MachineBlock machines) const noexcept
    {
        std::int64_t mark = 0;
        for (std::int32_t id = machines.first; id <= machines.last(); id++)
            mark = marks[id] > mark ? marks[id] : mark;
        return mark;
    }

    void set_mark(MachineBlock machines, std::int64_t mark_ms) noexcept
    {
        for (std::int32_t id = machines.first; id <= machines.last(); id++)
            marks[id] = mark_ms;
    }

    // Adds a line to the history; the oldest one goes if it is full.
    GrantRecord &add_grant(const GrantRecord &grant) noexcept
    {
        if (header.grant_count == max_grants) {
            std::memmove(grants, grants + 1, (max_grants - 1) * sizeof(GrantRecord));
            header.grant_count--;
        }
        grants[header.grant_count] = grant;
        return grants[header.grant_count++];
    }

    // The newest grant, or nullptr.
    GrantRecord *last_grant() noexcept
    {
        return header.grant_count == 0 ? nullptr : &grants[header.grant_count - 1];
    }
};

inline constexpr std::size_t max_state_size = sizeof(StateHeader) + max_machines * sizeof(MarkRun) +
                                              max_grants * sizeof(GrantRecord) +
                                              sizeof(std::uint32_t);
inline constexpr char state_magic[8] = {'S', 'N', 'O', 'W', 'M', 'A', 'R', 'K'};
inline constexpr std::uint32_t state_version = 1;

enum class StateError : std::uint8_t {
    none,
    truncated,   // shorter, or longer, than it says
    not_a_state, // does not begin as a state file does
    version,     // of a version that this library does not know
    checksum,    // its CRC does not fit
    contents,    // the CRC fits, but what it says cannot be
};

namespace detail {

// CRC-32C (Castagnoli), reflected polynomial 0x82F63B78 (RFC 3720, appendix B.4).
constexpr std::array<std::uint32_t, 256> crc_table = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; i++) {
        std::uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc & 1) ? crc >> 1 ^ 0x82F63B78U : crc >> 1;
        table[i] = crc;
    }
    return table;
}();

inline std::uint32_t crc32c(const unsigned char *bytes, std::size_t size) noexcept
{
    std::uint32_t crc = ~std::uint32_t{0};
    for (std::size_t i = 0; i < size; i++)
        crc = crc_table[(crc ^ bytes[i]) & 0xFF] ^ crc >> 8;
    return ~crc;
}

inline bool ends_with_zero(const char *text, std::size_t size) noexcept
{
    return std::memchr(text, 0, size) != nullptr;
}

// The state that decode_state() has read: whether it can be.
inline bool is_possible(const State &state) noexcept
{
    const StateHeader &header = state.header;
    if (header.machine_bits < min_machine_bits || header.machine_bits > max_machine_bits ||
        header.floor_ms < 0 || header.floor_ms > max_ms + 1 ||
        !ends_with_zero(header.place.host, sizeof(header.place.host)) ||
        !ends_with_zero(header.place.os_id, sizeof(header.place.os_id)) ||
        !ends_with_zero(header.place.directory, sizeof(header.place.directory)))
        return false;
    for (std::uint32_t i = 0; i < header.grant_count; i++) {
        const GrantRecord &grant = state.grants[i];
        const bool block_fits =
            grant.machine_bits >= 0 && grant.machine_bits <= header.machine_bits &&
            grant.machine_first >= 0 &&
            grant.machine_first <= (1 << header.machine_bits) - (1 << grant.machine_bits);
        if (!block_fits || !ends_with_zero(grant.source, sizeof(grant.source)) ||
            !ends_with_zero(grant.host, sizeof(grant.host)) ||
            !ends_with_zero(grant.directory, sizeof(grant.directory)))
            return false;
    }
    return true;
}

} // namespace detail

// Writes the state's bytes to `bytes`, which has room for max_state_size. Returns how many.
inline std::size_t encode_state(const State &state, unsigned char *bytes) noexcept
{
    StateHeader header = state.header;
    unsigned char *at = bytes + sizeof(header);
    header.run_count = 0;
    const std::int32_t machines = 1 << header.machine_bits;
    for (std::int32_t id = 0; id < machines;) {
        MarkRun run{id, 1, state.marks[id]};
        while (id + run.count < machines && state.marks[id + run.count] == run.mark_ms)
            run.count++;
        id += run.count;
        if (run.mark_ms == 0)
            continue;
        std::memcpy(at, &run, sizeof(run));
        at += sizeof(run);
        header.run_count++;
    }
    std::memcpy(at, state.grants, header.grant_count * sizeof(GrantRecord));
    at += header.grant_count * sizeof(GrantRecord);

    std::memcpy(header.magic, state_magic, sizeof(header.magic));
    header.version = state_version;
    header.size = static_cast<std::uint32_t>(at - bytes + sizeof(std::uint32_t));
    std::memcpy(bytes, &header, sizeof(header));
    const std::uint32_t crc = detail::crc32c(bytes, static_cast<std::size_t>(at - bytes));
    std::memcpy(at, &crc, sizeof(crc));
    return header.size;
}

// Reads a state from `size` bytes. Any bytes may be given; unless the result is `none`, the state
// is not to be used.
inline StateError decode_state(const unsigned char *bytes, std::size_t size, State &state) noexcept
{
    StateHeader &header = state.header;
    if (size < sizeof(header) + sizeof(std::uint32_t))
        return StateError::truncated;
    std::memcpy(&header, bytes, sizeof(header));
    if (std::memcmp(header.magic, state_magic, sizeof(header.magic)) != 0)
        return StateError::not_a_state;
    if (header.version != state_version)
        return StateError::version;
    if (header.run_count > max_machines || header.grant_count > max_grants || header.size != size ||
        size != sizeof(header) + header.run_count * sizeof(MarkRun) +
                    header.grant_count * sizeof(GrantRecord) + sizeof(std::uint32_t))
        return StateError::truncated;
    std::uint32_t crc;
    std::memcpy(&crc, bytes + size - sizeof(crc), sizeof(crc));
    if (crc != detail::crc32c(bytes, size - sizeof(crc)))
        return StateError::checksum;

    const unsigned char *at = bytes + sizeof(header);
    std::memcpy(state.grants, at + header.run_count * sizeof(MarkRun),
                header.grant_count * sizeof(GrantRecord));
    if (!detail::is_possible(state))
        return StateError::contents;
    std::memset(state.marks, 0, sizeof(state.marks));
    for (std::uint32_t i = 0; i < header.run_count; i++, at += sizeof(MarkRun)) {
        MarkRun run;
        std::memcpy(&run, at, sizeof(run));
        const std::int32_t machines = 1 << header.machine_bits;
        if (run.first < 0 || run.count < 1 || run.first > machines - run.count || run.mark_ms < 0 ||
            run.mark_ms > max_ms + 1)
            return StateError::contents;
        for (std::int32_t id = run.first; id < run.first + run.count; id++)
            state.marks[id] = run.mark_ms;
    }
    return StateError::none;
}

} // namespace snowflake
