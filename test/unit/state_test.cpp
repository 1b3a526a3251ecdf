// The state file: what is written is what is read, and nothing else is read at all.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/lease/state.hpp"

namespace snowflake {

void PrintTo(StateError error, std::ostream *out)
{
    constexpr const char *names[] = {"none",    "truncated", "not_a_state",
                                     "version", "checksum",  "contents"};
    *out << names[static_cast<int>(error)];
}

namespace {

using Bytes = std::vector<unsigned char>;

std::unique_ptr<State> make_state(int machine_bits = default_machine_bits)
{
    auto state = std::make_unique<State>();
    std::memset(state.get(), 0, sizeof(State));
    state->header.epoch_unix_ms = 1735689600000;
    state->header.machine_bits = machine_bits;
    state->header.system_identifier = 7'300'000'000'000'000'001;
    for (std::size_t i = 0; i < sizeof(state->header.node); i++)
        state->header.node[i] = static_cast<std::uint8_t>(200 + i);
    state->header.floor_ms = 5;
    state->header.replayed_us = 850'000'000'000'000;
    std::strcpy(state->header.place.host, "one.example");
    std::strcpy(state->header.place.os_id, "0123456789abcdef0123456789abcdef");
    std::strcpy(state->header.place.directory, "/var/lib/postgresql/15/main");
    state->header.place.device = 66307;
    state->header.place.inode = 131073;
    return state;
}

GrantRecord make_grant(std::int32_t first, std::int32_t bits, std::int64_t granted)
{
    GrantRecord grant;
    std::memset(&grant, 0, sizeof(grant));
    grant.machine_first = first;
    grant.machine_bits = bits;
    grant.timeline = 3;
    grant.is_open = 1;
    grant.granted_unix_ms = granted;
    grant.ceiling_ms = 61'000'000'000;
    grant.system_identifier = 7'300'000'000'000'000'001;
    std::strcpy(grant.source, "setting");
    std::strcpy(grant.host, "one.example");
    std::strcpy(grant.directory, "/var/lib/postgresql/15/main");
    return grant;
}

// A state with a bit of everything.
std::unique_ptr<State> make_full_state()
{
    auto state = make_state();
    state->set_mark({7, 0}, 61'000'000'000);
    state->set_mark({8, 2}, 61'000'000'500);
    state->set_mark({1023, 0}, 1);
    for (int i = 0; i < 3; i++)
        state->add_grant(make_grant(7 + i, 0, 1'796'000'000'000 + i));
    return state;
}

Bytes encode(const State &state)
{
    Bytes bytes(max_state_size);
    bytes.resize(encode_state(state, bytes.data()));
    return bytes;
}

// What is decoded from these bytes, which lie in a block of just their size: an access beyond it is
// one that a sanitizer sees. What was in the state before must not matter.
StateError decode(const Bytes &bytes, State &state)
{
    std::memset(&state, 0xA5, sizeof(state));
    const std::unique_ptr<unsigned char[]> copy(new unsigned char[bytes.size()]);
    if (!bytes.empty())
        std::memcpy(copy.get(), bytes.data(), bytes.size());
    return decode_state(copy.get(), bytes.size(), state);
}

StateError decode(const Bytes &bytes)
{
    const auto state = std::make_unique<State>();
    return decode(bytes, *state);
}

void expect_round_trip(const State &state)
{
    const Bytes bytes = encode(state);
    ASSERT_LE(bytes.size(), max_state_size);
    const auto read = std::make_unique<State>();
    ASSERT_EQ(decode(bytes, *read), StateError::none);

    // What the encoding adds to the header aside, all is as it was.
    StateHeader header = read->header;
    EXPECT_EQ(header.size, bytes.size());
    std::memcpy(header.magic, state.header.magic, sizeof(header.magic));
    header.version = state.header.version;
    header.size = state.header.size;
    header.run_count = state.header.run_count;
    EXPECT_EQ(std::memcmp(&header, &state.header, sizeof(header)), 0);
    EXPECT_EQ(std::memcmp(read->marks, state.marks, sizeof(state.marks)), 0);
    EXPECT_EQ(
        std::memcmp(read->grants, state.grants, state.header.grant_count * sizeof(GrantRecord)), 0);

    EXPECT_EQ(encode(*read), bytes);
}

// Changes a state's bytes and makes their checksum fit again: what a faulty program would write.
StateError decode_crafted(const State &state,
                          const std::function<void(StateHeader &, Bytes &)> &change)
{
    Bytes bytes = encode(state);
    StateHeader header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    change(header, bytes);
    std::memcpy(bytes.data(), &header, sizeof(header));
    const std::size_t end = bytes.size() - sizeof(std::uint32_t);
    const std::uint32_t crc = detail::crc32c(bytes.data(), end);
    std::memcpy(bytes.data() + end, &crc, sizeof(crc));
    return decode(bytes);
}

StateError decode_with_run(MarkRun run, int machine_bits = default_machine_bits)
{
    const auto state = make_state(machine_bits);
    state->set_mark({0, 0}, 1);
    return decode_crafted(*state, [run](StateHeader &, Bytes &bytes) {
        std::memcpy(bytes.data() + sizeof(StateHeader), &run, sizeof(run));
    });
}

StateError decode_with_grant(const GrantRecord &grant)
{
    const auto state = make_state();
    state->add_grant(grant);
    return decode(encode(*state));
}

// Checksum ---------------------------------------------------------------------------------------

std::uint32_t crc_of(const std::string &text)
{
    return detail::crc32c(reinterpret_cast<const unsigned char *>(text.data()), text.size());
}

// RFC 3720, appendix B.4, and the check value that catalogues of checksums have.
TEST(Crc32c, HasTheKnownValues)
{
    EXPECT_EQ(crc_of(""), 0U);
    EXPECT_EQ(crc_of("123456789"), 0xE3069283U);
    EXPECT_EQ(crc_of(std::string(32, '\0')), 0x8A9136AAU);
    EXPECT_EQ(crc_of(std::string(32, '\xFF')), 0x62A8AB43U);
    std::string ascending;
    for (int i = 0; i < 32; i++)
        ascending += static_cast<char>(i);
    EXPECT_EQ(crc_of(ascending), 0x46DD794EU);
}

// Round trip -------------------------------------------------------------------------------------

TEST(State, IsReadAsItWasWritten)
{
    expect_round_trip(*make_state());
    expect_round_trip(*make_full_state());
}

TEST(State, HasAHeaderAndAChecksumAtLeast)
{
    const Bytes bytes = encode(*make_state());
    EXPECT_EQ(bytes.size(), sizeof(StateHeader) + sizeof(std::uint32_t));
    EXPECT_EQ(std::string(bytes.begin(), bytes.begin() + 8), "SNOWMARK");
}

TEST(State, KeepsMarksOfMachineIdsInARowAsOneRun)
{
    const auto state = make_state(16);
    state->set_mark({256, 8}, 77);
    state->set_mark({512, 0}, 77);
    state->set_mark({513, 0}, 78);
    EXPECT_EQ(encode(*state).size(),
              sizeof(StateHeader) + 2 * sizeof(MarkRun) + sizeof(std::uint32_t));
    expect_round_trip(*state);
}

TEST(State, KeepsTheMarksOfEveryMachineId)
{
    for (const int machine_bits : {min_machine_bits, default_machine_bits, max_machine_bits}) {
        SCOPED_TRACE(machine_bits);
        const std::int32_t machines = 1 << machine_bits;
        const auto state = make_state(machine_bits);
        for (std::int32_t id = 0; id < machines; id++)
            state->set_mark({id, 0}, 60'000'000'000 + id * 3);
        expect_round_trip(*state);

        // One run for all of them, and as many as there can be with gaps.
        state->set_mark({0, machine_bits}, max_ms + 1);
        expect_round_trip(*state);
        for (std::int32_t id = 0; id < machines; id += 2)
            state->set_mark({id, 0}, 0);
        expect_round_trip(*state);
    }
}

TEST(State, FitsWhenItIsAsLargeAsItGets)
{
    const auto state = make_state(max_machine_bits);
    for (std::int32_t id = 0; id < 1 << max_machine_bits; id++)
        state->set_mark({id, 0}, 1 + id % 2);
    for (std::size_t i = 0; i < max_grants; i++)
        state->add_grant(make_grant(static_cast<std::int32_t>(i), 0, 1));
    EXPECT_EQ(encode(*state).size(), max_state_size);
    expect_round_trip(*state);
}

TEST(State, KeepsAnyMarksOfBlocks)
{
    std::mt19937_64 random(4711);
    for (int round = 0; round < 200; round++) {
        const int machine_bits = 1 + static_cast<int>(random() % 12);
        const auto state = make_state(machine_bits);
        for (int i = 0; i < 20; i++) {
            const auto bits = static_cast<std::int32_t>(random() % (machine_bits + 1));
            const auto first =
                static_cast<std::int32_t>(random() % (1U << (machine_bits - bits)) << bits);
            state->set_mark({first, bits}, static_cast<std::int64_t>(random() % (max_ms + 2)));
        }
        expect_round_trip(*state);
    }
}

// Marks ------------------------------------------------------------------------------------------

TEST(Marks, OfABlockAreTheLargestOfItsMachineIds)
{
    const auto state = make_state();
    EXPECT_EQ(state->mark_of({0, 10}), 0);
    state->set_mark({10, 0}, 500);
    state->set_mark({8, 1}, 300);
    EXPECT_EQ(state->mark_of({8, 0}), 300);
    EXPECT_EQ(state->mark_of({8, 1}), 300);
    EXPECT_EQ(state->mark_of({8, 2}), 500);
    EXPECT_EQ(state->mark_of({11, 0}), 0);
    EXPECT_EQ(state->mark_of({0, 3}), 0);
    EXPECT_EQ(state->mark_of({12, 2}), 0);
}

TEST(Marks, CanBeLowered)
{
    const auto state = make_state();
    state->set_mark({8, 2}, 500);
    state->set_mark({8, 1}, 400);
    EXPECT_EQ(state->mark_of({8, 1}), 400);
    EXPECT_EQ(state->mark_of({8, 2}), 500);
}

// History ----------------------------------------------------------------------------------------

TEST(History, KeepsTheNewestGrants)
{
    const auto state = make_state();
    EXPECT_EQ(state->last_grant(), nullptr);
    for (std::int64_t i = 0; i < 1000; i++) {
        const GrantRecord &added =
            state->add_grant(make_grant(static_cast<std::int32_t>(i), 0, 5000 + i));
        ASSERT_EQ(&added, state->last_grant());
        ASSERT_EQ(added.granted_unix_ms, 5000 + i);
        const auto count = std::min<std::size_t>(static_cast<std::size_t>(i) + 1, max_grants);
        ASSERT_EQ(state->header.grant_count, count);
        ASSERT_EQ(state->grants[0].granted_unix_ms,
                  5000 + i + 1 - static_cast<std::int64_t>(count));
    }
    ASSERT_EQ(max_grants, 256U);
    for (std::size_t i = 0; i < max_grants; i++)
        EXPECT_EQ(state->grants[i].granted_unix_ms,
                  5000 + 1000 - static_cast<std::int64_t>(max_grants - i));
    expect_round_trip(*state);
}

TEST(History, MayAddOneOfItsOwnGrantsAgain)
{
    const auto state = make_state();
    for (std::int32_t i = 0; i < 256; i++)
        state->add_grant(make_grant(i, 0, i));
    const GrantRecord newest = *state->last_grant();
    state->add_grant(newest);
    EXPECT_EQ(state->grants[254].granted_unix_ms, 255);
    EXPECT_EQ(state->grants[255].granted_unix_ms, 255);
    EXPECT_EQ(state->grants[0].granted_unix_ms, 1);
}

// Damage -----------------------------------------------------------------------------------------

TEST(DamagedState, IsRefusedWhicheverBitIsWrong)
{
    Bytes bytes = encode(*make_full_state());
    const auto state = std::make_unique<State>();
    for (std::size_t bit = 0; bit < bytes.size() * 8; bit++) {
        bytes[bit / 8] ^= static_cast<unsigned char>(1U << bit % 8);
        ASSERT_NE(decode_state(bytes.data(), bytes.size(), *state), StateError::none)
            << "bit " << bit;
        bytes[bit / 8] ^= static_cast<unsigned char>(1U << bit % 8);
    }
    EXPECT_EQ(decode_state(bytes.data(), bytes.size(), *state), StateError::none);
}

TEST(DamagedState, IsRefusedWhereverItEnds)
{
    const Bytes bytes = encode(*make_full_state());
    for (std::size_t size = 0; size < bytes.size(); size++)
        ASSERT_EQ(decode(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size))),
                  StateError::truncated)
            << size << " bytes";
}

TEST(DamagedState, IsRefusedIfItGoesOnAfterItsEnd)
{
    Bytes bytes = encode(*make_full_state());
    bytes.push_back(0);
    EXPECT_EQ(decode(bytes), StateError::truncated);
    bytes.resize(max_state_size + 1);
    EXPECT_EQ(decode(bytes), StateError::truncated);
}

TEST(DamagedState, IsRefusedWithZeroesFromAnyByteOn)
{
    const Bytes bytes = encode(*make_full_state());
    for (std::size_t from = 0; from < bytes.size(); from++) {
        Bytes torn = bytes;
        std::fill(torn.begin() + static_cast<std::ptrdiff_t>(from), torn.end(), 0);
        if (torn != bytes) {
            ASSERT_NE(decode(torn), StateError::none) << "from byte " << from;
        }
    }
}

// A write of which only some sectors have arrived.
TEST(DamagedState, IsRefusedIfPartsOfItAreOfAnotherOne)
{
    const auto state = make_full_state();
    const Bytes before = encode(*state);
    state->set_mark({7, 0}, 61'000'002'000);
    state->last_grant()->ceiling_ms = 61'000'002'000;
    const Bytes after = encode(*state);
    ASSERT_EQ(before.size(), after.size());
    for (std::size_t cut = 1; cut < before.size(); cut++) {
        Bytes torn(after.begin(), after.begin() + static_cast<std::ptrdiff_t>(cut));
        torn.insert(torn.end(), before.begin() + static_cast<std::ptrdiff_t>(cut), before.end());
        if (torn != before && torn != after) {
            ASSERT_NE(decode(torn), StateError::none) << "cut at byte " << cut;
        }
    }
}

TEST(DamagedState, IsRefusedIfItIsNone)
{
    EXPECT_EQ(decode({}), StateError::truncated);
    EXPECT_EQ(decode(Bytes(1000, 0)), StateError::not_a_state);
    EXPECT_EQ(decode(Bytes(1000, 0xFF)), StateError::not_a_state);
}

TEST(DamagedState, IsRefusedIfItIsOfAnotherVersion)
{
    for (const std::uint32_t version : {0U, 2U, UINT32_MAX}) {
        EXPECT_EQ(
            decode_crafted(*make_full_state(),
                           [version](StateHeader &header, Bytes &) { header.version = version; }),
            StateError::version);
    }
}

TEST(DamagedState, MayBeAnyBytes)
{
    std::mt19937_64 random(815);
    const Bytes valid = encode(*make_full_state());
    const auto state = std::make_unique<State>();
    for (int round = 0; round < 20'000; round++) {
        Bytes bytes(random() % 3000);
        for (unsigned char &byte : bytes)
            byte = static_cast<unsigned char>(random());
        // Some begin well, and some say the right size, so that they get further.
        if (round % 3 != 0)
            std::copy_n(valid.begin(), std::min<std::size_t>(bytes.size(), 8 + random() % 300),
                        bytes.begin());
        if (round % 3 == 2 && bytes.size() >= sizeof(StateHeader)) {
            const auto size = static_cast<std::uint32_t>(bytes.size());
            std::memcpy(bytes.data() + offsetof(StateHeader, size), &size, sizeof(size));
        }
        ASSERT_NE(decode_state(bytes.data(), bytes.size(), *state), StateError::none);
    }
}

// Bytes whose checksum fits, with a few changed at random: refused, or read as a state that can be.
TEST(DamagedState, IsNeverReadAsAnImpossibleOne)
{
    std::mt19937_64 random(1138);
    const auto valid = make_full_state();
    const auto state = std::make_unique<State>();
    int refused = 0;
    for (int round = 0; round < 2000; round++) {
        Bytes bytes = encode(*valid);
        for (int i = 0; i < 4; i++) {
            const bool in_header = random() % 2 == 0;
            bytes[random() % (in_header ? 88 : bytes.size())] =
                static_cast<unsigned char>(random());
        }
        const std::size_t end = bytes.size() - sizeof(std::uint32_t);
        const std::uint32_t crc = detail::crc32c(bytes.data(), end);
        std::memcpy(bytes.data() + end, &crc, sizeof(crc));
        if (decode(bytes, *state) != StateError::none) {
            refused++;
            continue;
        }
        ASSERT_LE(state->header.grant_count, max_grants);
        ASSERT_GE(state->header.machine_bits, min_machine_bits);
        ASSERT_LE(state->header.machine_bits, max_machine_bits);
        for (const std::int64_t mark : state->marks) {
            ASSERT_GE(mark, 0);
            ASSERT_LE(mark, max_ms + 1);
        }
    }
    EXPECT_GT(refused, 100);
}

// Crafted ----------------------------------------------------------------------------------------

TEST(CraftedState, IsRefusedIfItsCountsAreHuge)
{
    const auto state = make_full_state();
    for (const std::uint32_t count : {257U, 65'537U, 0x0FFFFFFFU, 0x10000000U, 0x7FFFFFFFU,
                                      0x80000000U, 0xFFFFFFFEU, UINT32_MAX}) {
        SCOPED_TRACE(count);
        EXPECT_EQ(decode_crafted(*state, [count](StateHeader &header,
                                                 Bytes &) { header.grant_count = count; }),
                  StateError::truncated);
        EXPECT_EQ(decode_crafted(
                      *state, [count](StateHeader &header, Bytes &) { header.run_count = count; }),
                  StateError::truncated);
        EXPECT_EQ(decode_crafted(*state,
                                 [count](StateHeader &header, Bytes &) {
                                     header.run_count = count;
                                     header.grant_count = count;
                                     header.size = UINT32_MAX;
                                 }),
                  StateError::truncated);
        // The size fits what 32 bits make of the counts.
        EXPECT_EQ(decode_crafted(*state,
                                 [count](StateHeader &header, Bytes &bytes) {
                                     header.run_count = 0;
                                     header.grant_count = count;
                                     header.size = static_cast<std::uint32_t>(
                                         sizeof(StateHeader) + count * std::uint32_t{256} + 4);
                                     bytes.resize(std::min<std::size_t>(
                                         std::max<std::size_t>(header.size, sizeof(header) + 4),
                                         1 << 20));
                                 }),
                  StateError::truncated);
    }
}

TEST(CraftedState, IsRefusedIfItSaysAnotherSize)
{
    for (const std::uint32_t more : {1U, 16U, 256U, UINT32_MAX}) {
        EXPECT_EQ(decode_crafted(*make_full_state(),
                                 [more](StateHeader &header, Bytes &) { header.size += more; }),
                  StateError::truncated)
            << more;
    }
}

TEST(CraftedState, IsRefusedIfRunsAndGrantsShareItsBytesAnotherWay)
{
    // 16 runs are as long as one grant.
    const auto state = make_full_state();
    EXPECT_EQ(decode_crafted(*state,
                             [](StateHeader &header, Bytes &) {
                                 header.grant_count++;
                                 header.run_count -= 16;
                             }),
              StateError::truncated);
    // This one is as long as it should be. What was a grant is no runs.
    EXPECT_EQ(decode_crafted(*state,
                             [](StateHeader &header, Bytes &) {
                                 header.grant_count--;
                                 header.run_count += 16;
                             }),
              StateError::contents);
}

TEST(CraftedState, IsRefusedIfItsMachineBitsCannotBe)
{
    for (const std::int32_t bits : {INT32_MIN, -1, 0, 17, 31, 32, 64, INT32_MAX}) {
        SCOPED_TRACE(bits);
        EXPECT_EQ(
            decode_crafted(*make_full_state(),
                           [bits](StateHeader &header, Bytes &) { header.machine_bits = bits; }),
            StateError::contents);
    }
    // Its marks and grants do not fit this one.
    EXPECT_EQ(decode_crafted(*make_full_state(),
                             [](StateHeader &header, Bytes &) { header.machine_bits = 3; }),
              StateError::contents);
}

TEST(CraftedState, IsRefusedIfItsFloorCannotBe)
{
    for (const std::int64_t floor : {INT64_MIN, std::int64_t{-1}, max_ms + 2, INT64_MAX}) {
        const auto state = make_full_state();
        state->header.floor_ms = floor;
        EXPECT_EQ(decode(encode(*state)), StateError::contents) << floor;
    }
    const auto state = make_full_state();
    state->header.floor_ms = max_ms + 1;
    expect_round_trip(*state);
}

TEST(CraftedState, IsRefusedIfARunIsOutsideTheMachineIds)
{
    EXPECT_EQ(decode_with_run({0, 1, 1}), StateError::none);
    EXPECT_EQ(decode_with_run({0, 1024, 1}), StateError::none);
    EXPECT_EQ(decode_with_run({1023, 1, 1}), StateError::none);
    EXPECT_EQ(decode_with_run({0, 65536, 1}, 16), StateError::none);
    for (const MarkRun &run : std::initializer_list<MarkRun>{
             {-1, 1, 1},
             {INT32_MIN, 1, 1},
             {0, 0, 1},
             {0, -1, 1},
             {0, INT32_MIN, 1},
             {0, 1025, 1},
             {1, 1024, 1},
             {1023, 2, 1},
             {1024, 1, 1},
             {INT32_MAX, 1, 1},
             {INT32_MAX, INT32_MAX, 1},
             {0, INT32_MAX, 1},
         })
        EXPECT_EQ(decode_with_run(run), StateError::contents)
            << run.first << " and " << run.count << " in all";
    EXPECT_EQ(decode_with_run({1, 65536, 1}, 16), StateError::contents);
}

TEST(CraftedState, IsRefusedIfAMarkCannotBe)
{
    EXPECT_EQ(decode_with_run({3, 1, max_ms + 1}), StateError::none);
    for (const std::int64_t mark :
         {INT64_MIN, std::int64_t{-1}, max_ms + 2, std::int64_t{1} << 52, INT64_MAX})
        EXPECT_EQ(decode_with_run({3, 1, mark}), StateError::contents) << mark;
}

TEST(CraftedState, IsRefusedIfAGrantsMachineIdsCannotBe)
{
    EXPECT_EQ(decode_with_grant(make_grant(0, 0, 1)), StateError::none);
    EXPECT_EQ(decode_with_grant(make_grant(0, 10, 1)), StateError::none);
    EXPECT_EQ(decode_with_grant(make_grant(1023, 0, 1)), StateError::none);
    EXPECT_EQ(decode_with_grant(make_grant(-1, 0, 1)), StateError::contents);
    EXPECT_EQ(decode_with_grant(make_grant(INT32_MIN, 0, 1)), StateError::contents);
    EXPECT_EQ(decode_with_grant(make_grant(1024, 0, 1)), StateError::contents);
    EXPECT_EQ(decode_with_grant(make_grant(1023, 1, 1)), StateError::contents);
    EXPECT_EQ(decode_with_grant(make_grant(INT32_MAX, 10, 1)), StateError::contents);
    EXPECT_EQ(decode_with_grant(make_grant(0, -1, 1)), StateError::contents);
    EXPECT_EQ(decode_with_grant(make_grant(0, 11, 1)), StateError::contents);
    EXPECT_EQ(decode_with_grant(make_grant(0, INT32_MAX, 1)), StateError::contents);
    EXPECT_EQ(decode_with_grant(make_grant(0, INT32_MIN, 1)), StateError::contents);
}

TEST(CraftedState, IsRefusedIfATextHasNoEnd)
{
    const auto fill = [](auto &text) { std::memset(text, 'x', sizeof(text)); };
    const std::function<void(State &)> endless[] = {
        [&](State &state) { fill(state.header.place.host); },
        [&](State &state) { fill(state.header.place.os_id); },
        [&](State &state) { fill(state.header.place.directory); },
        [&](State &state) { fill(state.grants[1].source); },
        [&](State &state) { fill(state.grants[1].host); },
        [&](State &state) { fill(state.grants[2].directory); },
    };
    for (const auto &change : endless) {
        const auto state = make_full_state();
        change(*state);
        EXPECT_EQ(decode(encode(*state)), StateError::contents);
    }
}

} // namespace

} // namespace snowflake
