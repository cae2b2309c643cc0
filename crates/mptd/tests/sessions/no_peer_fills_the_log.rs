//! A client opens and ends sessions all the time. The log has so many lines of it, and says how many were left out; those of another client are all
//! there.

use mpt_wire::control::{Kind, Message, Reason};

use crate::abuser::Abuser;
use crate::concentrator::{admit, created, server};
use crate::hosts::{Daemon, Identity, Pair, wait_for};
use crate::support::control;

/// Sessions that the client opens and ends.
const SESSIONS: u32 = 200;
/// Lines that it may have in a minute.
const LINES: usize = 100;

#[test]
fn by_sessions_that_come_and_go() {
    let pair = Pair::with_lines(2);
    let [at_server, anna, mallory] = [(); 3].map(|()| Identity::new());
    let mut config = server(&at_server, &["10.71.1.2", "10.71.2.2"]);
    admit(&mut config, "anna", &anna);
    admit(&mut config, "mallory", &mallory);
    let mut daemon = Daemon::start(&pair.b, &config);
    daemon.wait_until_answering();

    for number in 1..=SESSIONS {
        let local = format!("10.71.2.1:{}", 5000 + number);
        let to = ("10.71.2.2:4754", &at_server);
        let mut client = Abuser::connect(&pair.a, (&local, &mallory), to, (Kind::Connection, "c"));
        let before = control(&daemon, "handshakes");
        let hello = client.datagram(&[Message::Probe { token: 1 }]);
        client.send(&hello);
        wait_for("the session is established", || {
            (control(&daemon, "handshakes") > before).then_some(())
        });
        let goodbye = client.datagram(&[Message::Goodbye { reason: Reason::SHUTTING_DOWN }]);
        client.send(&goodbye);
    }
    let mut client = crate::concentrator::client(&anna, &at_server);
    client.lay_path("office", 1, 1);
    let honest = Daemon::start(&pair.a, &client);
    created(&daemon, "anna.office");
    drop(honest);
    wait_for("what happens to anna is in the log", || {
        let key = anna.public();
        let of_anna = |words: &str| !daemon.lines(&[words, &key]).is_empty();
        (of_anna("session established") && of_anna("session lost")).then_some(())
    });
    let written = daemon.lines(&[&mallory.public()]).len();
    assert!(written <= LINES, "{written} lines about {SESSIONS} sessions");
    let count = daemon.left_out("client mallory");
    // A line for the beginning and one for the end of each session, unless both were over before the daemon looked.
    let all = 2 * SESSIONS as usize;
    assert!(count + written <= all && count + written > all / 2, "{count} and {written} of {all}");
}
