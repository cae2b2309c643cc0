//! A file with an error, and one that the system refuses: everything stays as it is, and the answer says why.

use mpt_api::{Code, Command, Failure};
use nix::sys::signal::Signal;

use crate::hosts::{Config, Daemon, Pair, wait_for};
use crate::support::{Picture, Stream};

/// Returns the state that has to stay: the host, and the paths of each connection with their ports and peers.
fn state(pair: &Pair, daemon: &Daemon) -> (Picture, Vec<(String, Vec<mpt_api::Path>)>) {
    let mut connections: Vec<_> =
        daemon.show().connections.into_iter().map(|it| (it.name, it.paths)).collect();
    for path in connections.iter_mut().flat_map(|(_, paths)| paths) {
        // These values change with traffic.
        (path.sent, path.received) = Default::default();
        path.drops.clear();
        path.heard_from = None;
    }
    (Picture::of(&pair.a), connections)
}

/// Two connections over two lines.
fn configs(pair: &Pair) -> [Config; 2] {
    let mut configs = pair.configs();
    for (config, end) in configs.iter_mut().zip(1_u8..) {
        config.connection("second").set("networks", vec![format!("10.74.0.{}", 3 - end)]);
        config.connection("second").set("key", 2);
        config.lay_path("second", 1, end);
        let addresses = [format!("10.72.0.{end}/24"), format!("10.74.0.{end}/24")];
        config.device("mpt0").set("addresses", addresses.to_vec());
        config.connection("tunnel").set("networks", vec![format!("10.72.0.{}", 3 - end)]);
    }
    configs
}

/// Applies what `change` makes of the file, which has to be refused, beside streams over both connections.
fn refused(change: impl FnOnce(&mut Config), code: Code, named: &[&str]) {
    let pair = Pair::with_lines(2);
    let configs = configs(&pair);
    let [a, b] = pair.start(&configs);
    let streams =
        ["10.72.0.2:5001", "10.74.0.2:5001"].map(|it| Stream::start(&pair.a, &pair.b, it));
    streams.iter().for_each(Stream::wait_for_progress);
    // In use by somebody else.
    let _port = pair.a.udp("10.71.2.1:6000");
    pair.a.ip("route add 10.88.0.0/16 via 10.71.1.2");
    pair.a.ip("tuntap add taken mode tun");
    let before = state(&pair, &a);

    let mut config = configs[0].clone();
    change(&mut config);
    a.write_config(&config);
    let failure = a.request(Command::Reload).expect_err("it cannot be applied");
    assert_eq!(failure.code, code, "{failure}");
    for name in named {
        assert!(failure.message.contains(name), "no {name:?} in: {failure}");
    }
    assert_eq!(state(&pair, &a), before);
    streams.iter().for_each(Stream::wait_for_progress);
    for stream in streams {
        stream.end();
    }
    for connection in ["tunnel", "second"] {
        let reorder = b.connection(connection).reorder;
        let wrong = reorder.stray + reorder.duplicate + reorder.overflow;
        assert_eq!(wrong, 0, "the numbers go on: {reorder:?}");
    }

    // And what is right is applied afterwards.
    a.write_config(&configs[0]);
    a.request(Command::Reload).unwrap();
    a.stop();
}

/// Everything else that a file can change.
fn change_much(config: &mut Config) {
    config.remove("second", None);
    config.path("tunnel", "line1").set("weight", 7).set("mtu", 1400);
    config.connection("tunnel").set("networks", vec!["10.72.0.2", "10.87.0.0/16"]);
    config.device("mpt0").set("addresses", vec!["10.72.0.1/24", "10.73.0.1/24"]);
    config
        .connection("third")
        .set("networks", vec!["10.75.0.2"])
        .set("device", "mpt1")
        .set("key", 3);
    config.connection("tunnel").set("device", "mpt0");
    config.device("mpt1").set("addresses", vec!["10.75.0.1/24"]);
    config.lay_path("third", 2, 1);
}

#[test]
fn for_an_error_in_it() {
    let change = |config: &mut Config| {
        config.path("tunnel", "line1").set("weight", 7);
        config.path("tunnel", "line2").set("weight", 0);
    };
    refused(change, Code::Config, &["mpt.toml:", "weight", "0"]);
}

#[test]
fn for_a_port_in_use() {
    let change = |config: &mut Config| {
        change_much(config);
        config.path("tunnel", "line2").set("local_port", 6000);
    };
    refused(change, Code::Failed, &["tunnel", "line2", "10.71.2.1:6000", "in use"]);
}

#[test]
fn for_a_route_that_exists() {
    let change = |config: &mut Config| {
        change_much(config);
        config.connection("third").set("networks", vec!["10.75.0.2", "10.88.0.0/16"]);
    };
    refused(change, Code::Failed, &["10.88.0.0/16"]);
}

#[test]
fn for_a_device_that_exists() {
    let change = |config: &mut Config| {
        change_much(config);
        config.device("taken").set("addresses", vec!["10.76.0.1/24"]);
    };
    refused(change, Code::Failed, &["taken exists already"]);
}

#[test]
fn and_by_signal_the_log_says_why() {
    let pair = Pair::with_lines(1);
    let [a, _b] = pair.start(&pair.configs());
    let before = state(&pair, &a);
    for text in ["[[connection]\n", "[daemon]\nlog = 3\n", "\u{0}"] {
        let errors = a.log().matches("not reloaded").count();
        a.write_file(text);
        a.signal(Signal::SIGHUP);
        wait_for("the log says so", || {
            (a.log().matches("not reloaded").count() > errors).then_some(())
        });
        let Err(Failure { code, message, .. }) = a.request(Command::Reload) else {
            panic!("{text:?} was applied");
        };
        assert_eq!(code, Code::Config, "{message}");
        assert!(message.contains("mpt.toml"), "{message}");
        assert_eq!(state(&pair, &a), before);
    }
    std::fs::remove_file(a.config_file()).unwrap();
    assert_eq!(a.request(Command::Reload).expect_err("there is none").code, Code::Config);
    assert_eq!(state(&pair, &a), before);
    a.stop();
}
