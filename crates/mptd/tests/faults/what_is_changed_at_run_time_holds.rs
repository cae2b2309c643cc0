//! Paths, interfaces and connections changed by the control socket while data flows, and what the file says of it later.

use std::fs;
use std::io::{BufReader, Write};
use std::os::unix::net::UnixStream;

use mpt_api::{
    Code, Command, DownReason, EventKind, PathState, Reply, Request, Response, ResponseBody,
};

use crate::hosts::{Daemon, PATIENCE, Pair, wait_for};
use crate::support::{Picture, Stream, wait_for_echo, wait_for_state, wait_for_use};

const ADDRESS: &str = "10.72.0.2:5001";

/// Does it and gives what was changed.
fn change(daemon: &Daemon, command: Command) -> Vec<String> {
    match daemon.request(command) {
        Ok(Reply::Changed(changed)) => changed.changes,
        other => panic!("{other:?}"),
    }
}

fn refused(daemon: &Daemon, command: Command) -> Code {
    daemon.request(command).unwrap_err().code
}

fn add_path(connection: &str, line: u32, end: u32) -> Command {
    let toml = format!(
        "name = \"line{line}\"\nlocal = \"10.71.{line}.{end}\"\nremote = \"10.71.{line}.{}\"\n",
        3 - end
    );
    Command::AddPath { connection: connection.into(), toml }
}

fn delete_path(connection: &str, path: &str) -> Command {
    Command::DeletePath { connection: connection.into(), path: path.into() }
}

fn save(daemon: &Daemon) -> Vec<String> {
    change(daemon, Command::SaveConnection { connection: "tunnel".into() })
}

fn paths(daemon: &Daemon) -> Vec<String> {
    daemon.connection("tunnel").paths.into_iter().map(|path| path.name).collect()
}

/// Events from now on.
fn monitor(daemon: &Daemon) -> impl FnMut() -> EventKind {
    let mut stream = UnixStream::connect(daemon.socket()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(mpt_api::to_line(&Request::new(Command::Monitor)).as_bytes()).unwrap();
    let mut reader = BufReader::new(stream);
    let mut next = move || -> ResponseBody {
        let line = mpt_api::read_line(&mut reader, mpt_api::MAX_RESPONSE).unwrap().unwrap();
        serde_json::from_slice::<Response>(&line).unwrap().body
    };
    assert_eq!(next(), ResponseBody::Result(Reply::Monitoring));
    move || match next() {
        ResponseBody::Event(event) => event.kind,
        other => panic!("{other:?}"),
    }
}

#[test]
fn paths_come_and_go_under_traffic() {
    let pair = Pair::with_lines(3);
    let mut configs = pair.configs();
    configs.iter_mut().for_each(|config| config.remove("tunnel", Some("line3")));
    let [a, b] = pair.start(&configs);
    let mut events = monitor(&a);
    let stream = Stream::start(&pair.a, &pair.b, ADDRESS);
    stream.wait_for_progress();
    for (daemon, end) in [(&a, 1), (&b, 2)] {
        let done = change(daemon, add_path("tunnel", 3, end));
        assert_eq!(done, ["connection tunnel: path line3 added"]);
        wait_for_state(daemon, "line3", PathState::Up);
    }
    wait_for_use(&a, &["line1", "line2", "line3"]);
    let added = EventKind::PathAdded { connection: "tunnel".into(), path: "line3".into() };
    assert_eq!(events(), added);

    // A change that cannot be made changes nothing.
    assert_eq!(refused(&a, add_path("tunnel", 3, 1)), Code::Config);
    assert_eq!(refused(&a, add_path("office", 3, 1)), Code::NotFound);
    assert_eq!(refused(&a, delete_path("tunnel", "line9")), Code::NotFound);
    let bad = "name = \"x\"\nlocal = \"10.71.3.1\"\nremote = \"10.71.3.9\"\nwieght = 3\n";
    let bad = Command::AddPath { connection: "tunnel".into(), toml: bad.into() };
    let failure = a.request(bad).unwrap_err();
    assert!(failure.message.contains("4") && failure.message.contains("wieght"), "{failure}");
    let _taken = pair.a.udp("10.71.3.1:4999");
    let taken = "name = \"x\"\nlocal = \"10.71.3.1\"\nremote = \"10.71.3.9\"\nlocal_port = 4999\n";
    let taken = Command::AddPath { connection: "tunnel".into(), toml: taken.into() };
    assert_eq!(refused(&a, taken), Code::Failed);
    assert_eq!(paths(&a), ["line1", "line2", "line3"]);

    for daemon in [&a, &b] {
        change(daemon, delete_path("tunnel", "line1"));
        assert_eq!(paths(daemon), ["line2", "line3"]);
    }
    let removed = EventKind::PathRemoved { connection: "tunnel".into(), path: "line1".into() };
    assert_eq!(events(), removed);
    stream.wait_for_progress();
    change(&a, delete_path("tunnel", "line2"));
    assert_eq!(refused(&a, delete_path("tunnel", "line3")), Code::BadRequest);
    stream.end();

    // A reload of the file as it was keeps it so.
    a.request(Command::Reload).unwrap();
    assert_eq!(paths(&a), ["line3"]);
}

#[test]
fn an_interface_takes_all_its_paths_down_and_up() {
    let pair = Pair::with_lines(2);
    let mut configs = pair.configs();
    for config in &mut configs {
        config.path("tunnel", "line2").set("interface", "line2");
    }
    let [a, _b] = pair.start(&configs);
    let stream = Stream::start(&pair.a, &pair.b, ADDRESS);
    let set = |interface: &str, up| Command::SetInterface { interface: interface.into(), up };
    for line in ["line1", "line2"] {
        assert_eq!(
            change(&a, set(line, false)),
            [format!("connection tunnel: path {line}: up changed")]
        );
        assert_eq!(a.path("tunnel", line).down, Some(DownReason::Administrative));
        stream.wait_for_progress();
        assert!(change(&a, set(line, false)).is_empty(), "it was so before");
        change(&a, set(line, true));
        wait_for_state(&a, line, PathState::Up);
    }
    assert_eq!(refused(&a, set("line9", true)), Code::NotFound);
    wait_for_use(&a, &["line1", "line2"]);
    stream.end();
}

#[test]
fn connections_are_created_and_deleted() {
    let pair = Pair::with_lines(2);
    let mut configs = pair.configs();
    configs.iter_mut().for_each(|config| config.remove("tunnel", Some("line2")));
    let [a, b] = pair.start(&configs);
    let before = Picture::of(&pair.a);
    let mut events = monitor(&a);
    let create = |end: u32| {
        let (peer, networks) = (3 - end, ["10.80.0.0/16", "10.81.0.0/16"][end as usize - 1]);
        let toml = format!(
            "[[connection]]\nname = \"second\"\nkey = 7\nnetworks = [\"{networks}\"]\n[[connection.path]]\nname = \"only\"\n\
             local = \"10.71.2.{end}\"\nremote = \"10.71.2.{peer}\"\n"
        );
        Command::CreateConnection { toml }
    };
    pair.b.add_address("lo", "10.80.0.1/32");
    pair.a.add_address("lo", "10.81.0.1/32");
    change(&b, create(2));
    assert_eq!(change(&a, create(1)), ["connection second added"]);
    assert_eq!(events(), EventKind::ConnectionAdded { connection: "second".into() });
    assert_eq!(refused(&a, create(1)), Code::Config, "there is one of this name");
    let [here, there] = [pair.a.udp("10.81.0.1:0"), pair.b.udp("10.80.0.1:0")];
    wait_for("the new connection carries", || {
        here.send_to(b"x", there.local_addr().unwrap()).unwrap();
        (b.connection("second").received.packets > 0).then_some(())
    });
    a.request(Command::Reload).unwrap();
    assert_eq!(a.show().connections.len(), 2, "the file knows nothing of it");

    let delete = |name: &str| Command::DeleteConnection { connection: name.into() };
    assert_eq!(events(), EventKind::Reloaded { changes: 0 });
    assert_eq!(change(&a, delete("second")), ["connection second removed"]);
    assert_eq!(events(), EventKind::ConnectionRemoved { connection: "second".into() });
    assert_eq!(refused(&a, delete("second")), Code::NotFound);
    pair.a.ip("addr del 10.81.0.1/32 dev lo");
    before.wait_for(&pair.a);

    // A reload brings back the connections of the file, as the file has them.
    change(&a, delete("tunnel"));
    assert!(a.show().connections.is_empty());
    let Ok(Reply::Reloaded(reloaded)) = a.request(Command::Reload) else { panic!("no reload") };
    assert_eq!(reloaded.changes, ["connection tunnel added"]);
    wait_for_echo(&pair.a, &pair.b);
}

#[test]
fn what_is_saved_is_there_after_a_restart_and_the_rest_of_the_file_too() {
    let pair = Pair::with_lines(3);
    let mut configs = pair.configs();
    configs[0].remove("tunnel", Some("line3"));
    let [mut a, _b] = pair.start(&configs);
    let text = fs::read_to_string(a.config_file()).unwrap();
    let text = format!("# Of the administrator.\n{text}\n# The end.\n");
    a.write_file(&text);
    assert!(save(&a).is_empty(), "nothing was changed");
    assert_eq!(fs::read_to_string(a.config_file()).unwrap(), text);

    change(&a, add_path("tunnel", 3, 1));
    change(&a, delete_path("tunnel", "line1"));
    let weight = mpt_api::PathChange { weight: std::num::NonZeroU16::new(9), ..Default::default() };
    a.set_path("tunnel", "line2", weight);
    assert_eq!(save(&a).len(), 1);
    let saved = fs::read_to_string(a.config_file()).unwrap();
    assert!(
        saved.starts_with("# Of the administrator.") && saved.contains("# The end."),
        "{saved}"
    );
    let as_changed = |a: &Daemon| {
        assert_eq!(paths(a), ["line2", "line3"]);
        assert_eq!(a.path("tunnel", "line2").weight, 9);
    };
    a.request(Command::Reload).unwrap();
    as_changed(&a);
    a.signal(nix::sys::signal::Signal::SIGTERM);
    a.wait_until_ended();
    a.start_again(&pair.a);
    a.wait_until_up();
    as_changed(&a);

    // By hand back to what it was, in the file: that decides.
    a.write_file(&text);
    a.request(Command::Reload).unwrap();
    assert_eq!(paths(&a), ["line1", "line2"]);
    assert_eq!(a.path("tunnel", "line2").weight, 1);
}
