//! The other end is given by name. It moves, the name with it: the path comes back at the new address.

use std::fs;
use std::time::Duration;

use crate::hosts::traffic::tcp_both_ways;
use crate::hosts::{Daemon, Pair, wait_within};
use crate::support::{authenticate, wait_until_down};

#[test]
fn a_name_is_resolved_again_while_its_path_is_dead() {
    let pair = Pair::with_lines(2);
    let mut configs = pair.configs();
    let _identities = authenticate(&mut configs);
    configs[0].path("tunnel", "line1").set("remote", "far.example");
    for path in ["line1", "line2"] {
        configs[1].path("tunnel", path).unset("remote");
    }
    let names = tempfile::NamedTempFile::new().unwrap();
    fs::write(&names, "10.71.1.2 far.example\n").unwrap();
    let mut a = Daemon::start_with_names(&pair.a, &configs[0], names.path());
    let mut b = Daemon::start(&pair.b, &configs[1]);
    a.wait_until_up();
    b.wait_until_up();
    let path = a.path("tunnel", "line1");
    assert_eq!(path.remote_name.as_deref(), Some("far.example"));
    assert_eq!(path.remote, Some("10.71.1.2:4754".parse().unwrap()));

    pair.b.ip("address del 10.71.1.2/24 dev line1");
    pair.b.ip("address add 10.71.1.22/24 dev line1");
    configs[1].path("tunnel", "line1").set("local", "10.71.1.22");
    b.write_config(&configs[1]);
    b.request(mpt_api::Command::Reload).unwrap();
    fs::write(&names, "10.71.1.22 far.example\n").unwrap();
    wait_within(Duration::from_secs(30), "the name is resolved again", || {
        let path = a.path("tunnel", "line1");
        (path.remote == Some("10.71.1.22:4754".parse().unwrap())).then_some(())
    });
    wait_until_down(&a, "line1", None);
    wait_until_down(&b, "line1", None);
    tcp_both_ways(&pair.a, &pair.b, "10.72.0.2:5001", 300_000);
}

/// It is not known at the start, and the daemon goes on all the same.
#[test]
fn also_when_it_was_unknown_before() {
    let pair = Pair::with_lines(2);
    let mut configs = pair.configs();
    let _identities = authenticate(&mut configs);
    configs[0].path("tunnel", "line1").set("remote", "far.example");
    configs[1].path("tunnel", "line1").unset("remote");
    let names = tempfile::NamedTempFile::new().unwrap();
    let a = Daemon::start_with_names(&pair.a, &configs[0], names.path());
    let b = Daemon::start(&pair.b, &configs[1]);
    a.wait_until_answering();
    b.wait_until_answering();
    wait_until_down(&a, "line2", None);
    assert_eq!(a.path("tunnel", "line1").remote, None);
    tcp_both_ways(&pair.a, &pair.b, "10.72.0.2:5001", 300_000);
    fs::write(&names, "10.71.1.2 far.example\n").unwrap();
    wait_within(Duration::from_secs(30), "the name is resolved", || {
        a.path("tunnel", "line1").remote.map(drop)
    });
    wait_until_down(&a, "line1", None);
    wait_until_down(&b, "line1", None);
}
