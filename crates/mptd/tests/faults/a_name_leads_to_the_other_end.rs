//! Other ends that are given by name: resolved when the path is made and later, and nothing waits for it.

use std::fs;

use mpt_api::{Command, DownReason, PathState};

use crate::hosts::{Daemon, Pair, wait_for};
use crate::support::{wait_for_echo, wait_for_state};

#[test]
fn as_soon_as_it_is_known_and_a_reload_keeps_it() {
    let pair = Pair::with_lines(2);
    let mut configs = pair.configs();
    configs[0].path("tunnel", "line1").set("remote", "one.mpt.test");
    configs[0].path("tunnel", "line2").set("remote", "two.mpt.test");
    let names = tempfile::NamedTempFile::new().unwrap();
    fs::write(names.path(), "127.0.0.1 localhost\n10.71.2.2 two.mpt.test\n").unwrap();
    let mut b = Daemon::start(&pair.b, &configs[1]);
    b.wait_until_up();
    let a = Daemon::start_with_names(&pair.a, &configs[0], names.path());
    wait_for("mptd listens", || std::os::unix::net::UnixStream::connect(a.socket()).ok());
    wait_for_state(&a, "line2", PathState::Up);
    wait_for_echo(&pair.a, &pair.b);
    let unknown = a.path("tunnel", "line1");
    assert_eq!(unknown.down, Some(DownReason::Unresolved));
    assert_eq!((unknown.remote, unknown.remote_name.as_deref()), (None, Some("one.mpt.test")));
    wait_for("the log says so", || a.log().contains("one.mpt.test").then_some(()));
    wait_for("and why the path is down", || a.log().contains("reason=unresolved").then_some(()));
    for (what, text) in [("show", format!("{:?}", a.show())), ("the log", a.log())] {
        assert!(!text.contains("0.0.0."), "{what} names no address that nobody has: {text}");
    }

    // A change of the network has it asked for at once.
    let ports = a.path("tunnel", "line2").source_ports;
    fs::write(names.path(), "10.71.1.2 one.mpt.test\n10.71.2.2 two.mpt.test\n").unwrap();
    pair.a.add_address("lo", "10.99.0.1/32");
    wait_for_state(&a, "line1", PathState::Up);
    let known = a.path("tunnel", "line1");
    assert_eq!(known.remote, Some("10.71.1.2:4754".parse().unwrap()));
    wait_for_echo(&pair.a, &pair.b);
    a.request(Command::Reload).unwrap();
    assert_eq!(a.path("tunnel", "line1").remote, known.remote);
    assert_eq!(a.path("tunnel", "line2").source_ports, ports, "the other path is the same");

    // It leads elsewhere, and the network changes.
    pair.b.add_address("line1", "10.71.1.9/24");
    fs::write(names.path(), "10.71.1.9 one.mpt.test\n10.71.2.2 two.mpt.test\n").unwrap();
    pair.a.add_address("lo", "10.99.0.2/32");
    wait_for("the path follows", || {
        (a.path("tunnel", "line1").remote == Some("10.71.1.9:4754".parse().unwrap())).then_some(())
    });
    a.stop();
}
