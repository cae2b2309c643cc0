//! The owner does not ask for events for a long time, while every creation of a connection fails. The latest of them wait, and no more than a bound.

use std::iter;
use std::time::Duration;

use mpt_core::compat::{Authentication, Create, Key};

use crate::harness::{End, config, start};

/// Events that may wait.
const BOUND: usize = 256;
/// Timeouts that are served: several for each creation that fails.
const TIMEOUTS: usize = 20_000;

#[test]
fn of_creations_that_nobody_answers() {
    let mut config = config(2, &Authentication::None);
    config.create = Some(Create {
        authentication: Authentication::Digest(Key::from_text("secret").unwrap()),
        ask: true,
        data_port: 23_452,
        remote_data_port: 23_453,
        command_port: 60_456,
        window: 900,
        max_delay: Duration::from_millis(300),
        weights: vec![(1, 1), (1, 1)],
    });
    let mut compat = End::new(start(), config).compat;
    for _ in 0..TIMEOUTS {
        let now = compat.next_timeout().expect("it tries again");
        compat.handle_timeout(now);
        while compat.poll_transmit().is_some() || compat.poll_path_event().is_some() {}
    }
    let waited = iter::from_fn(|| compat.poll_event()).count();
    assert_eq!(waited, BOUND);
}
