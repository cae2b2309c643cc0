//! The wait in the sender's queue that is taken off the hold, by which the hold is longer.

use super::{BULK, Receiver, by_turns};

/// Returns by how much the packets of a flow over two paths of these delays take longer than the
/// second path, in milliseconds.
fn longer(delays: [u32; 2]) -> f64 {
    let mut receiver = Receiver::new(delays, 0);
    for (at, path, n) in by_turns(delays, 200) {
        receiver.told(at, &[(n, 1_000 * u64::from(n))]);
        receiver.receive(at, path, n, BULK);
    }
    receiver.run(1_000_000);
    let (at, n) = *receiver.delivered().last().expect("all come");
    (at as f64 - 1_000.0 * f64::from(n)) / 1_000.0 - f64::from(delays[1])
}

/// The sender tolerates a queue of 10 ms in short paths.
#[test]
fn short_paths_hide_half_of_a_round_trip_time() {
    // A round trip takes 6 + 10 + 1 ms.
    let short = longer([1, 6]);
    assert!((18.0..19.0).contains(&short), "{short}");
    let long = longer([20, 50]);
    assert!((29.5..30.5).contains(&long), "10 ms and 20 ms: {long}");
}
