// Batches: from tickets to ids.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "src/generator/answer.hpp"
#include "src/id/layout.hpp"
#include "test/unit/server.hpp"

namespace snowflake {

namespace {

constexpr Layout layout{};

constexpr Batch batch_of(std::int64_t ms, std::int32_t sequence, std::uint32_t count,
                         MachineBlock machines)
{
    const int width = layout.sequence_bits() + machines.bits;
    return {static_cast<std::uint64_t>(ms) << width | static_cast<std::uint64_t>(sequence), count,
            width, std::int64_t{machines.first} << layout.sequence_bits()};
}

std::vector<Parts> parts_of(Batch batch)
{
    std::vector<Parts> parts;
    std::int64_t id = 0;
    while (batch.next(id))
        parts.push_back(layout.decode(id));
    return parts;
}

constexpr std::int64_t first_of(Batch batch)
{
    std::int64_t id = -1;
    return batch.next(id) ? id : -1;
}

static_assert(first_of(batch_of(5, 3, 1, {7, 0})) == layout.encode({5, 7, 3}));
static_assert(first_of(batch_of(5, 3, 0, {7, 0})) == -1);

TEST(Batch, HandsOutOneIdPerTicketInOrder)
{
    EXPECT_EQ(parts_of(batch_of(5, 10, 3, {7, 0})),
              (std::vector<Parts>{{5, 7, 10}, {5, 7, 11}, {5, 7, 12}}));
}

TEST(Batch, GoesOnInTheNextMillisecondWhenTheSequenceIsUsedUp)
{
    EXPECT_EQ(parts_of(batch_of(5, 4094, 4, {7, 0})),
              (std::vector<Parts>{{5, 7, 4094}, {5, 7, 4095}, {6, 7, 0}, {6, 7, 1}}));
}

TEST(Batch, GoesOnWithTheBlocksNextMachineIdBeforeTheNextMillisecond)
{
    EXPECT_EQ(parts_of(batch_of(5, 4095, 2, {8, 1})),
              (std::vector<Parts>{{5, 8, 4095}, {5, 9, 0}}));
    EXPECT_EQ(parts_of(batch_of(5, 4096 + 4095, 2, {8, 1})),
              (std::vector<Parts>{{5, 9, 4095}, {6, 8, 0}}));
}

TEST(Batch, LeavesOutTheReservedIdWhereverItStands)
{
    EXPECT_EQ(parts_of(batch_of(5, 0, 2, {0, 0})), (std::vector<Parts>{{5, 0, 1}}));
    EXPECT_EQ(parts_of(batch_of(5, 4095, 3, {0, 0})),
              (std::vector<Parts>{{5, 0, 4095}, {6, 0, 1}}));
    EXPECT_EQ(parts_of(batch_of(5, 4095, 2, {0, 0})), (std::vector<Parts>{{5, 0, 4095}}));
    EXPECT_TRUE(parts_of(batch_of(5, 0, 1, {0, 0})).empty());
}

TEST(Batch, StaysEmptyOnceItIsEmpty)
{
    Batch batch = batch_of(5, 0, 1, {7, 0});
    std::int64_t id = 0;
    EXPECT_TRUE(batch.next(id));
    EXPECT_FALSE(batch.next(id));
    EXPECT_FALSE(batch.next(id));
    EXPECT_EQ(batch.left, 0u);
}

} // namespace

} // namespace snowflake
