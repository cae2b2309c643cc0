//! Blocks of numbers for routing tables.

use std::ops::Range;

/// Numbers of our tables ("mp" and a counter). Nobody numbers tables by hand up here.
pub const NUMBERS: Range<u32> = 0x6d70_0000..0x6d80_0000;

/// Numbers in a block: more tables than a host has interfaces and paths.
pub(super) const BLOCK: u32 = 0x1000;

/// The block of a number, if it is one of ours.
pub(in crate::netlink) fn block(number: u32) -> Option<u32> {
    NUMBERS.contains(&number).then_some(number - number % BLOCK)
}

/// True if a number stands for a block.
pub(in crate::netlink) fn is_first_of_block(number: u32) -> bool {
    block(number) == Some(number)
}
