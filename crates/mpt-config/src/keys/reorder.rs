//! The receive window, in `[[connection]]` and `[[client]]`.

use std::time::Duration;

use mpt_api::{Equalize, Late};

use super::super::key::{Keys, Part, Shown, field};
use crate::syntax::form::{Boolean, Choice, Integer, time};
use crate::types::reorder::Reorder;

const LATE: [(&str, Late); 2] = [("deliver", Late::Deliver), ("drop", Late::Drop)];
const EQUALIZE: [(&str, Equalize); 3] =
    [("off", Equalize::Off), ("tcp", Equalize::Tcp), ("all", Equalize::All)];

impl Keys for Reorder {
    const KEYS: &'static [&'static dyn Part<Self>] = &[
        &field!(
            Reorder.window?,
            Integer { noun: "a window in packets", range: 0..=65_535 },
            "The receive window says how many packets ahead of a missing one others may arrive and still be put in order; 0 switches it off. By \
             default it is 16384, and 32768 while the peer's mapping is adaptive and the paths' measured delays differ. It has to hold what arrives \
             at the full rate of all paths within max_delay; `mptd --check` does the sum when the paths' rates are given."
        )
        .shown(Shown::Example("16384")),
        &field!(
            Reorder.max_delay?,
            // Longer waits than any path needs would only hide that it is broken.
            time(Duration::from_millis(1)..=Duration::from_secs(10)),
            "The longest time that a packet waits after it has arrived, for a missing one or for its turn: slightly more than the difference of the \
             paths' delays. By default it is \"300 ms\"; while the peer's mapping is adaptive it follows the measured delays and the time that \
             repairs take, up to 1.5 s beyond the shortest path. What is set here bounds that as well."
        )
        .shown(Shown::Example("\"300 ms\"")),
        &field!(
            Reorder.early_release,
            Boolean,
            "If true, a missing packet is given up as soon as every path has shown that it will not come, rather than after max_delay."
        ),
        &field!(
            Reorder.late,
            Choice(&LATE),
            "A packet that arrives after it was given up is delivered out of order (\"deliver\") or dropped (\"drop\")."
        ),
        &field!(
            Reorder.equalize,
            Choice(&EQUALIZE),
            "Packets that came by a shorter path are held for as long as the longest path in use takes longer, so that all are equally late: those \
             of \"tcp\" connections, whose start suffers from a delay that seems to grow, \"all\", or none (\"off\"). It needs a session."
        ),
    ];

    fn usual() -> Self {
        Reorder {
            window: None,
            max_delay: None,
            early_release: true,
            late: Late::default(),
            equalize: Equalize::default(),
        }
    }
}

impl Default for Reorder {
    fn default() -> Self {
        Self::usual()
    }
}
