//! A host that stood still, or had too little of its processor for a while, has all its clients again within seconds. Paths are probed more often
//! while their answers are late, and sessions that were lost are made again: what that costs does not keep the host from answering.

use std::time::Duration;

use super::hub::{HUB, Hub, Speed, key};

const CLIENTS: usize = 100;

/// A host that is busy for 73 % of the time: it takes and sends 6,700 frames per second while connections are in use. Its socket holds what comes in
/// 95 ms.
const SPEED: Speed = Speed { frames: 46, handshake: 10, waiting: 320 };

/// The time after which all clients are there again.
const SOON: Duration = Duration::from_secs(5);

/// Lets the hub do only so many frames in 5 ms for a while. Returns the number of clients that it still had at the end.
fn after(frames: usize, shortage: Duration) -> usize {
    let mut hub = Hub::new(CLIENTS);
    hub.allow((1..=CLIENTS).map(|client| key(client).public()));
    hub.establish();
    hub.speed = Some(SPEED);
    use_all(&mut hub, Duration::from_secs(3));
    assert_eq!((up(&hub), hub.dropped), (CLIENTS, 0), "before");
    hub.speed = Some(Speed { frames, ..SPEED });
    use_all(&mut hub, shortage);
    let left = up(&hub);
    assert!(hub.dropped > 0, "it was too little");
    hub.speed = Some(SPEED);
    use_all(&mut hub, SOON);
    assert_eq!(up(&hub), CLIENTS, "{}", hub.describe(HUB));
    let dropped = hub.dropped;
    use_all(&mut hub, SOON);
    assert_eq!((up(&hub), hub.dropped), (CLIENTS, dropped), "and it stays so");
    left
}

/// Lets time pass, while all connections are in use.
fn use_all(hub: &mut Hub, time: Duration) {
    let step = Duration::from_millis(500);
    for _ in 0..time.as_millis() / step.as_millis() {
        (0..=CLIENTS).for_each(|node| hub.wake(node));
        hub.run(step);
        hub.ask();
        hub.grant();
    }
}

/// Returns the number of clients all of whose paths are up.
fn up(hub: &Hub) -> usize {
    (1..=CLIENTS).filter(|&client| hub.is_up(client)).count()
}

#[test]
fn after_a_pause_of_half_a_second() {
    after(0, Duration::from_millis(500));
}

#[test]
fn after_a_pause_of_five_seconds() {
    assert_eq!(after(0, Duration::from_secs(5)), 0);
}

#[test]
fn after_40_s_with_three_fifths_of_what_it_needs() {
    let left = after(20, Duration::from_secs(40));
    assert!(left < CLIENTS, "it was too little for all");
}

/// The probes that a few late answers add are fewer than the hub can still serve.
#[test]
fn and_five_sixths_are_enough_for_all() {
    assert_eq!(after(28, Duration::from_secs(40)), CLIENTS);
}
