// An aligned block of machine ids: 2^bits of them, the first a multiple of 2^bits.
//
// The machine field stands right above the sequence, so such a block is nothing but a sequence that
// is `bits` wider; the generator needs no other notion of it. One machine id is a block of bits 0.
#pragma once

#include <cstdint>

namespace snowflake {

struct MachineBlock {
    std::int32_t first; // the smallest machine id of the block
    std::int32_t bits;  // the block has 2^bits machine ids, 0 .. Layout::machine_bits

    constexpr std::int32_t count() const noexcept { return 1 << bits; }
    constexpr std::int32_t last() const noexcept { return first + count() - 1; }
    constexpr bool operator==(const MachineBlock &) const noexcept = default;
};

} // namespace snowflake
