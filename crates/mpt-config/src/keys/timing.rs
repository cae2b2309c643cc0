//! Probes of paths, in `[connection.peer]` and `[[client]]`.

use std::time::Duration;

use mpt_api::KEEPALIVE_US;

use super::super::key::{Keys, Part, Shown, field};
use super::super::peers::Timing;
use crate::syntax::form::{time, time_or_zero};

/// Probe interval of an idle path: shorter than the time after which NATs forget a UDP binding (RFC 4787, REQ-5: not before 2 minutes; many do after
/// 30 s).
const IDLE_KEEPALIVE: Duration = Duration::from_secs(15);

impl Keys for Timing {
    const KEYS: &'static [&'static dyn Part<Self>] = &[
        &field!(
            Timing.keepalive,
            time_or_zero(
                Duration::from_micros(*KEEPALIVE_US.start())
                    ..=Duration::from_micros(*KEEPALIVE_US.end()),
            ),
            "The probe interval of each path while packets flow. With \"0\" paths are never probed; a path is then up unless its interface or the \
             administrator says otherwise."
        ),
        &field!(
            Timing.idle_keepalive,
            time(Duration::from_millis(10)..=Duration::from_secs(600)),
            "The probe interval while no packets flow: short enough for NATs on the way to keep their bindings. It is at least keepalive."
        )
        .follows(|it, _| Some(IDLE_KEEPALIVE.max(it.keepalive))),
        &field!(
            Timing.dead?,
            time(Duration::from_millis(20)..=Duration::from_secs(600)),
            "A path is declared dead after this long without confirmation. By default its round-trip time decides: three keepalives or more."
        )
        .shown(Shown::Example("\"500 ms\"")),
    ];

    fn usual() -> Self {
        // A broken path is found within a few probes.
        let keepalive = Duration::from_millis(100);
        Timing { keepalive, idle_keepalive: IDLE_KEEPALIVE, dead: None }
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self::usual()
    }
}
