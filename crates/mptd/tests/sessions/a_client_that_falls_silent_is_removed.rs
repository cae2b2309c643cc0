//! A client that is gone without a word leaves nothing behind at the server.

use std::time::{Duration, Instant};

use mpt_api::{EventKind, LossReason};

use crate::concentrator::{admit, assigned, client, created, find, server};
use crate::hosts::{Daemon, Identity, Pair, wait_within};

/// The shortest there is.
const SILENT: Duration = Duration::from_secs(30);

#[test]
fn a_client_that_falls_silent_is_removed() {
    let pair = Pair::with_lines(1);
    let identities = [Identity::new(), Identity::new()];
    let mut server = server(&identities[1], &["10.71.1.2"]);
    admit(&mut server, "anna", &identities[0]);
    // An idle path is dead after four of these.
    let section = server.client("anna").set("silent", format!("{} s", SILENT.as_secs()));
    section.set("idle_keepalive", "100 ms");
    let mut client = client(&identities[0], &identities[1]);
    client.lay_path("office", 1, 1);
    let b = Daemon::start(&pair.b, &server);
    let mut a = Daemon::start(&pair.a, &client);
    created(&b, "anna.office");
    let address = assigned(&a);
    let mut events = b.monitor();
    a.kill();
    let start = Instant::now();
    wait_within(SILENT + Duration::from_secs(15), "the connection is removed", || {
        find(&b, "anna.office").is_none().then_some(())
    });
    // Its last frame came a keepalive before it was killed, or a few on a busy machine.
    assert!(start.elapsed() > SILENT - Duration::from_secs(1), "{:?}", start.elapsed());
    let reason = events.find_map(|event| match event {
        EventKind::ClientRemoved { client, connection, reason } => {
            assert_eq!((client.as_str(), connection.as_str()), ("anna", "anna.office"));
            Some(reason)
        }
        _ => None,
    });
    assert_eq!(reason, Some(LossReason::Silent));
    assert!(!pair.b.ip("route show").contains(&format!("{address} ")));
}
