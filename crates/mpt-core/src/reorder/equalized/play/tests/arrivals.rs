//! Arrivals of numbers that leave by turns over two paths.

/// Returns the time of each arrival, in microseconds, with the path and the number, in the order of
/// time: so many numbers, one each millisecond, over paths of these delays in milliseconds.
pub(super) fn by_turns(delays: [u32; 2], count: u32) -> Vec<(u64, usize, u32)> {
    let of = |n: u32| {
        let path = n as usize % 2;
        (1_000 * u64::from(n) + 1_000 * u64::from(delays[path]), path, n)
    };
    let mut arrivals: Vec<_> = (0..count).map(of).collect();
    arrivals.sort_unstable();
    arrivals
}
