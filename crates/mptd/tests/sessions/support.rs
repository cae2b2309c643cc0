//! Ends with keys.

use std::thread;
use std::time::{Duration, Instant};

use mpt_api::{DownReason, PathState};

use crate::hosts::{Config, Daemon, Identity, PATIENCE, Pair, wait_for};

/// Gives each of two configurations a key of its own and that of the other for the connection `tunnel`.
pub(crate) fn authenticate(configs: &mut [Config; 2]) -> [Identity; 2] {
    let identities = [Identity::new(), Identity::new()];
    for (end, config) in configs.iter_mut().enumerate() {
        config.daemon().set("private_key_file", identities[end].file());
        config.peer("tunnel").set("public_key", identities[1 - end].public());
    }
    identities
}

/// The packets of the connection `tunnel` are spread in equal shares: every path carries data, whatever the others could carry.
pub(crate) fn share_equally(configs: &mut [Config; 2]) {
    for config in configs {
        config.connection("tunnel").set("mapping", "packet");
    }
}

/// Daemons at both ends of a pair, with a session between them, and every path up. The key files may go afterwards.
pub(crate) fn start_with_session(pair: &Pair) -> [Daemon; 2] {
    let mut configs = pair.configs();
    let _identities = authenticate(&mut configs);
    pair.start(&configs)
}

/// Starts daemons like [`start_with_session`]; both paths carry equal shares of the data.
pub(crate) fn start_with_equal_shares(pair: &Pair) -> [Daemon; 2] {
    let mut configs = pair.configs();
    let _identities = authenticate(&mut configs);
    share_equally(&mut configs);
    pair.start(&configs)
}

/// Waits until a path of the connection `tunnel` is down for this reason; `None`: up.
pub(crate) fn wait_until_down(daemon: &Daemon, path: &str, reason: Option<DownReason>) {
    let start = Instant::now();
    loop {
        let path = daemon.path("tunnel", path);
        if path.down == reason && (path.state == PathState::Up) == reason.is_none() {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "not down ({reason:?}) within {PATIENCE:?}: {path:#?}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A counter of the control protocol. It has to be there, also while it is 0.
pub(crate) fn control(daemon: &Daemon, counter: &str) -> u64 {
    daemon.show().daemon.control[counter]
}

/// Waits until a counter of the control protocol has at least this value.
pub(crate) fn wait_for_control(daemon: &Daemon, counter: &str, value: u64) {
    wait_for(&format!("{counter} is {value}"), || {
        (control(daemon, counter) >= value).then_some(())
    });
}
