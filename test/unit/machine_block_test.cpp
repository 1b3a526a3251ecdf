// Blocks of machine ids.
#include <gtest/gtest.h>

#include "src/id/machine_block.hpp"
#include "test/unit/server.hpp"

namespace snowflake {

namespace {

static_assert(MachineBlock{8, 2}.count() == 4 && MachineBlock{8, 2}.last() == 11);

TEST(MachineBlock, OfNoBitsIsOneMachineId)
{
    EXPECT_EQ((MachineBlock{7, 0}.count()), 1);
    EXPECT_EQ((MachineBlock{7, 0}.last()), 7);
}

TEST(MachineBlock, OfKBitsHasTwoToTheKMachineIds)
{
    for (int bits = 0; bits <= 16; bits++) {
        const MachineBlock block{0, bits};
        EXPECT_EQ(block.count(), 1 << bits);
        EXPECT_EQ(block.last(), (1 << bits) - 1);
    }
}

TEST(MachineBlock, DiffersByItsStartAndByItsSize)
{
    EXPECT_EQ((MachineBlock{8, 2}), (MachineBlock{8, 2}));
    EXPECT_NE((MachineBlock{8, 2}), (MachineBlock{12, 2}));
    EXPECT_NE((MachineBlock{8, 2}), (MachineBlock{8, 1}));
}

} // namespace

} // namespace snowflake
