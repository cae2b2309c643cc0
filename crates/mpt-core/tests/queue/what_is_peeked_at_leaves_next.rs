//! A look at the head and what leaves after it agree, and the look loses no decision to drop.

use super::harness::{Owner, WIDE, ms, origin, packet};

/// Serves three flows in two queues, of which one is looked at before each segment.
#[test]
fn whatever_waits() {
    let start = origin();
    let [mut plain, mut peeked] = [0, 1].map(|_| Owner::new(WIDE));
    for owner in [&mut plain, &mut peeked] {
        owner.queue.set_target(ms(20), ms(30));
    }
    let mut drops = 0;
    for t in 0..3000 {
        let now = start + ms(t);
        for owner in [&mut plain, &mut peeked] {
            while owner.queue.len_segments() < 200 {
                owner.push(now, packet(0, 3, 1400)).unwrap();
                owner.push(now, packet(1, 1, 700)).unwrap();
            }
            if t % 10 == 0 {
                owner.push(now, packet(2 + t, 1, 100)).unwrap();
            }
        }
        let head = peeked.queue.peek(now).unwrap();
        assert_eq!(peeked.queue.peek(now), Some(head));
        peeked.let_go();
        let left = peeked.pop(now).unwrap();
        assert_eq!(plain.pop(now), Some(left));
        let seen = (head.id, head.segment, head.bytes, head.sparse, head.tag, head.flow);
        assert_eq!(seen, (left.id, left.segment, left.bytes, left.sparse, left.tag, left.tag));
        drops = plain.queue.counters().dropped;
        assert_eq!(peeked.queue.counters().dropped, drops);
    }
    assert!(drops > 5, "{drops} drops");
}
