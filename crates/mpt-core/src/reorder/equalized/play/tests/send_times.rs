//! The send times that the peer tells, where a packet was sent again.

use super::{BULK, Receiver};

/// Numbers that leave at an interval over the first path, of 10 ms. One of them is lost, and is sent
/// again with a later one.
struct Numbers {
    count: u32,
    /// Microseconds.
    interval: u64,
    lost: u32,
    again_with: u32,
}

impl Numbers {
    /// Returns the numbers in their order of delivery, each with the time since it left, in
    /// microseconds. The peer tells the send times of those for which `told` is true.
    fn delivered(&self, mut receiver: Receiver, told: impl Fn(u32) -> bool) -> Vec<(u32, u64)> {
        let left = |n: u32| u64::from(n) * self.interval;
        for n in 0..self.count {
            let arrival = left(n) + 10_000;
            if told(n) {
                receiver.told(arrival, &[(n, left(n))]);
            }
            if n == self.again_with {
                receiver.receive(arrival, 0, self.lost, BULK);
            }
            if n != self.lost {
                receiver.receive(arrival, 0, n, BULK);
            }
        }
        receiver.run(5_000_000);
        receiver.delivered().into_iter().map(|(at, n)| (n, at - left(n))).collect()
    }
}

/// The messages with the send times of ten numbers were lost, and one of these numbers was sent again
/// 60 ms later. It is due as if nothing had happened, and so is all that comes behind it.
#[test]
fn what_was_sent_again_is_not_later_where_the_message_with_its_time_was_lost() {
    let numbers = Numbers { count: 80, interval: 1_000, lost: 20, again_with: 70 };
    let receiver = Receiver::new([10, 60], 0);
    let delivered = numbers.delivered(receiver, |n| !(15..25).contains(&n));
    assert!(delivered.iter().map(|&(n, _)| n).eq(0..80));
    for (n, took) in delivered {
        // The number behind those whose times are unknown left at most 10 ms later.
        assert!((91_500..102_500).contains(&took), "{n} took {took}");
    }
}

#[test]
fn send_times_are_known_for_as_long_as_packets_wait() {
    // As many send times as a peer sends, 32 in 20 ms.
    let numbers = Numbers { count: 3_000, interval: 20_000 / 32, lost: 5, again_with: 1_440 };
    let delivered = numbers.delivered(Receiver::new([10, 1_000], 0), |_| true);
    assert!(delivered.iter().map(|&(n, _)| n).eq(0..3_000));
    let (first, last) = (delivered[0].1, delivered[2_999].1);
    assert!(first.abs_diff(last) < 1_000, "{first} and {last}");
    for (n, took) in delivered {
        assert!(took.abs_diff(first) < 1_000, "{n} took {took}, the first one {first}");
    }
}
