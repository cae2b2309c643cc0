//! The command line against a daemon that plays a part: what it asks, what it prints, how it exits.

use std::os::unix::net::UnixListener;
use std::process::Stdio;

use mpt_api::snapshot::{DownReason, PathState, SessionRole};
use mpt_api::{
    Changed, Clients, Code, Estimate, Event, EventKind, LossReason, Mapping, Measured,
    MeasuredPath, Queue, Reloaded, Reply, Response, ShortFlows, Snapshot, to_line,
};

use crate::example::snapshot;
use crate::fake::{FakeDaemon, Outcome, mpt, outcome};

fn snapshot_reply() -> Reply {
    Reply::Snapshot(Box::new(snapshot()))
}

#[test]
fn show_prints_tables() {
    let (asked, outcome) = FakeDaemon::replying(snapshot_reply()).run(&["show"]);
    assert_eq!(asked, mpt_api::Command::Show);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!(outcome.stdout, @r#"
    mptd 0.1.0, pid 17, up 2h 1m 5s, 5 KiB of 64 MiB buffers in use
      key       HIgo9xNzJMWLKASShiTqIybxZ0U3wGLiUeJ1PKf8ykw=
      drops     2 wrong_key
      control   12 probes_sent

    device mpt0: 10.9.0.1/30, MTU 1440
      offloads  tso, uso
      drops     5 no_connection

    device mpt1: 10.9.0.1/30, MTU 1440
      offloads  tso, uso
      drops     5 no_connection

    connection office: degraded, device mpt0, packet mapping, key 1, MTU 1440
      networks  10.9.0.2/32, 192.168.2.0/24
      session   established 1h 1s ago, with xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=, client anna, opened by the peer, keys agreed 17s ago, data sealed with AES-256-GCM, keepalive 100 ms, idle 15.0 s
      sent      94.1 Mbit/s, 8333 packets/s; 173 MB, 123456 packets in all
      received  0 bit/s, 0 packets/s; 0 B, 0 packets in all
      window    16384 packets, at most 300 ms, 3 waiting
      wait      median 12 us, 99 % 49.9 ms, longest 1.20 s
      held      4200 packets, dsl by 31.0 ms
      order     9000 in order, 10 after gap, 2 late, 0 duplicate, 0 overflow, 0 stray
      drops     7 foreign_source
      remarks   6 mss_clamped

      PATH  STATE             LOCAL              REMOTE             WEIGHT  IN  TIER            MTU      SENDING  RECEIVING        SENT  RECEIVED
      dsl   up                192.0.2.1:4754     198.51.100.1:4754      10   1     0  1500 (probed)  94.1 Mbit/s    0 bit/s  123456 pkt     0 pkt
      lte   down (interface)  wwan0, no address  not heard yet           1   1     0  1500 (probed)      0 bit/s    0 bit/s       0 pkt     0 pkt
      liveness  lte: round trip 49.9 ms +- 1.50 ms, least 40.0 ms, the peer does not hear us, we do not hear the peer, dead after 300 ms, died 2 times
      drops     dsl: 4 queue_full

    connection branch: degraded, device mpt1, flow mapping, key 1, no sequence numbers, MTU 1440
      networks  10.9.0.2/32, 192.168.2.0/24
      sent      94.1 Mbit/s, 8333 packets/s; 173 MB, 123456 packets in all
      received  0 bit/s, 0 packets/s; 0 B, 0 packets in all
      window    off
      held      4200 packets, dsl by 31.0 ms
      order     9000 in order, 10 after gap, 2 late, 0 duplicate, 0 overflow, 0 stray
      drops     7 foreign_source
      remarks   6 mss_clamped

      PATH  STATE  LOCAL           REMOTE             WEIGHT  IN  TIER            MTU      SENDING  RECEIVING        SENT  RECEIVED
      dsl   up     192.0.2.1:4754  198.51.100.1:4754      10   1     0  1500 (probed)  94.1 Mbit/s    0 bit/s  123456 pkt     0 pkt
      drops     dsl: 4 queue_full
    "#);
}

#[test]
fn show_says_what_is_learnt_of_paths_and_what_waits_for_room_on_them() {
    let mut snapshot = snapshot();
    let office = &mut snapshot.connections[0];
    office.mapping = Mapping::Adaptive;
    office.queue = Some(Queue {
        bytes: 90_000,
        packets: 60,
        flows: 2,
        left: 9_000,
        marked: 0,
        dropped: 5,
        overflowed: 0,
        superseded: 0,
    });
    let dsl = Estimate {
        rate: 47_800_000,
        bottleneck_seen: true,
        delivered: 46_100_000,
        queue_us: 4_200,
        lost_per_million: 1_200,
        idle_ms: Some(40),
        ..Estimate::default()
    };
    let lte = Estimate { rate: 4_000_000, delivered: 1_900_000, jitter_us: 8_100, ..dsl };
    office.short_flows = Some(ShortFlows { path: "dsl".to_owned(), bytes: 14_400_000 });
    office.paths[0].estimate = Some(dsl);
    office.paths[1].estimate = Some(Estimate { bottleneck_seen: false, ..lte });
    let (_, outcome) = FakeDaemon::replying(Reply::Snapshot(Box::new(snapshot))).run(&["show"]);
    for line in [
        "  queue     60 packets of 2 flows waiting, 88 KiB, 5 dropped\n",
        "  short     flows over dsl alone, up to 14 MiB\n",
        "  learnt    dsl: 47.8 Mbit/s, delivers 46.1 Mbit/s, queue 4.20 ms, jitter 0 us, loss 0.12 %\n",
        "  learnt    lte: no bottleneck seen up to 1.90 Mbit/s, queue 4.20 ms, jitter 8.10 ms, loss 0.12 %\n",
    ] {
        assert!(outcome.stdout.contains(line), "{line} is not in\n{}", outcome.stdout);
    }
}

/// This is the state before a server has assigned an address.
#[test]
fn show_says_where_there_is_no_address_and_no_network() {
    let mut snapshot = snapshot();
    snapshot.devices[0].addresses.clear();
    snapshot.devices[0].offloads.clear();
    snapshot.connections[0].networks.clear();
    let (_, outcome) = FakeDaemon::replying(Reply::Snapshot(Box::new(snapshot))).run(&["show"]);
    for text in [
        "\ndevice mpt0: no address, MTU 1440\n  offloads  none\n",
        "\nconnection office: degraded, device mpt0, packet mapping, key 1, MTU 1440\n  networks  none\n",
    ] {
        assert!(outcome.stdout.contains(text), "{text} is not in\n{}", outcome.stdout);
    }
}

#[test]
fn show_asks_for_one_connection() {
    let (asked, outcome) = FakeDaemon::replying(snapshot_reply()).run(&["show", "branch"]);
    assert_eq!(asked, mpt_api::Command::ShowConnection { connection: "branch".into() });
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
    assert!(outcome.stdout.contains("\nconnection branch: "));
}

#[test]
fn show_of_a_connection_that_is_not_there_fails() {
    assert_eq!(
        FakeDaemon::refusing(Code::NotFound, "no connection \"home\"").run(&["show", "home"]).1,
        outcome(1, "", "mpt: no connection \"home\"\n")
    );
}

#[test]
fn show_as_json_gives_everything() {
    let (_, outcome) = FakeDaemon::replying(snapshot_reply()).run(&["show", "--json"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
    assert_eq!(serde_json::from_str::<Snapshot>(&outcome.stdout).unwrap(), snapshot());
}

#[test]
fn path_commands_ask_for_the_change() {
    for (args, change, said) in [
        (vec!["path", "up", "office", "dsl"], r#"{"up":true}"#, "in service"),
        (vec!["path", "down", "office", "dsl"], r#"{"up":false}"#, "out of service"),
        (vec!["path", "set", "office", "dsl", "weight=3"], r#"{"weight":3}"#, "weight 3"),
        (
            vec!["path", "set", "office", "dsl", "weight_in=65535", "tier=1"],
            r#"{"weight_in":65535,"tier":1}"#,
            "weight_in 65535, tier 1",
        ),
    ] {
        let (asked, done) = FakeDaemon::replying(Reply::Done).run(&args);
        let said = format!("path dsl of connection office: {said}\n");
        assert_eq!(done, outcome(0, &said, ""), "{args:?}");
        let mpt_api::Command::SetPath { connection, path, change: asked } = asked else {
            panic!("{asked:?}")
        };
        assert_eq!((connection.as_str(), path.as_str()), ("office", "dsl"));
        assert_eq!(serde_json::to_string(&asked).unwrap(), change);
    }
}

#[test]
fn changes_are_asked_for_as_they_are_written() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("connection.toml");
    std::fs::write(&file, "[[connection]]\n").unwrap();
    let mut requests = String::new();
    for args in [
        "path add office lte interface=wwan0 remote=198.51.100.1 weight=2 nat=true",
        "path del office lte",
        "path delete office lte",
        "interface up wwan0",
        "interface down wwan0",
        "connection create FILE",
        "connection delete office",
        "connection save office",
        "client disconnect anna",
        "keepalive office 50ms",
        "keepalive office --path dsl 0",
    ] {
        let args: Vec<_> = (args.split(' '))
            .map(|arg| if arg == "FILE" { file.to_str().unwrap() } else { arg })
            .collect();
        let changed = Changed { changes: vec!["it is so".into()], warnings: vec!["is it?".into()] };
        let (asked, done) = FakeDaemon::replying(Reply::Changed(changed)).run(&args);
        assert_eq!(done, outcome(0, "warning: is it?\nit is so\n", ""), "{args:?}");
        requests += &serde_json::to_string(&asked).unwrap();
        requests.push('\n');
    }
    insta::assert_snapshot!(requests, @r#"
    {"add_path":{"connection":"office","toml":"name = \"lte\"\ninterface = \"wwan0\"\nremote = \"198.51.100.1\"\nweight = 2\nnat = true\n"}}
    {"delete_path":{"connection":"office","path":"lte"}}
    {"delete_path":{"connection":"office","path":"lte"}}
    {"set_interface":{"interface":"wwan0","up":true}}
    {"set_interface":{"interface":"wwan0","up":false}}
    {"create_connection":{"toml":"[[connection]]\n"}}
    {"delete_connection":{"connection":"office"}}
    {"save_connection":{"connection":"office"}}
    {"disconnect_client":{"client":"anna"}}
    {"set_keepalive":{"connection":"office","keepalive_us":50000}}
    {"set_keepalive":{"connection":"office","path":"dsl","keepalive_us":0}}
    "#);
}

fn clients() -> Clients {
    let client = |name: &str, connections: &[mpt_api::ClientConnection]| mpt_api::Client {
        name: name.into(),
        public_key: "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=".into(),
        connections: connections.into(),
    };
    let office = mpt_api::ClientConnection {
        name: "anna.office".into(),
        addresses: vec!["10.8.0.2".parse().unwrap()],
        networks: vec!["192.168.7.0/24".parse().unwrap()],
        created_s: 3661,
        paths: 2,
        paths_up: 1,
    };
    Clients { clients: vec![client("anna", &[office]), client("sensor", &[])] }
}

#[test]
fn clients_are_listed_with_their_connections() {
    let (asked, outcome) = FakeDaemon::replying(Reply::Clients(clients())).run(&["client", "list"]);
    assert_eq!(asked, mpt_api::Command::Clients);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!(outcome.stdout, @r#"
      CLIENT  CONNECTION   PATHS UP         SINCE  ADDRESSES AND NETWORKS    KEY
      anna    anna.office    1 of 2  1h 1m 1s ago  10.8.0.2, 192.168.7.0/24  xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=
      sensor  -                   -             -  -                         xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=
    "#);
    let json = FakeDaemon::replying(Reply::Clients(clients())).run(&["client", "list", "--json"]).1;
    assert_eq!(serde_json::from_str::<Clients>(&json.stdout).unwrap(), clients());
}

#[test]
fn what_was_so_before_is_told() {
    let daemon = FakeDaemon::replying(Reply::Changed(Changed::default()));
    assert_eq!(daemon.run(&["interface", "up", "eth0"]).1, outcome(0, "nothing has changed\n", ""));
}

#[test]
fn an_answer_to_another_question_is_not_understood() {
    for args in [
        &["path", "up", "office", "dsl"][..],
        &["reload"],
        &["measure", "office"],
        &["monitor"],
        &["connection", "show"],
    ] {
        let daemon = FakeDaemon::replying(Reply::Changed(Changed::default()));
        assert_eq!(daemon.run(args).1.code, Some(4), "{args:?}");
    }
    let daemon = FakeDaemon::replying(Reply::Done);
    assert_eq!(daemon.run(&["path", "del", "office", "dsl"]).1.code, Some(4));
}

fn measurement() -> Measured {
    let path = |name: &str, rate: Option<u64>, weight: Option<u16>| MeasuredPath {
        path: name.into(),
        out_bits_per_second: rate,
        in_bits_per_second: rate.map(|rate| rate / 2),
        weight,
        weight_in: weight,
    };
    Measured {
        paths: vec![path("dsl", Some(94_000_000), Some(2)), path("lte", None, None)],
        set: false,
    }
}

#[test]
fn measure_prints_a_table() {
    let (asked, done) =
        FakeDaemon::replying(Reply::Measured(measurement())).run(&["measure", "office"]);
    let expected =
        mpt_api::Command::Measure { connection: "office".into(), set: false, duration_ms: 1000 };
    assert_eq!(asked, expected);
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!(done.stdout, @r#"
      PATH       SENDING     RECEIVING  WEIGHT  IN
      dsl    94.0 Mbit/s   47.0 Mbit/s       2   2
      lte   not measured  not measured       -   -
    set them with --set
    "#);
    let daemon = FakeDaemon::replying(Reply::Measured(measurement()));
    let (asked, done) =
        daemon.run(&["measure", "office", "--set", "--duration", "250ms", "--json"]);
    let expected =
        mpt_api::Command::Measure { connection: "office".into(), set: true, duration_ms: 250 };
    assert_eq!(asked, expected);
    assert_eq!(serde_json::from_str::<Measured>(&done.stdout).unwrap(), measurement());
}

#[test]
fn connection_show_is_show() {
    let show = FakeDaemon::replying(snapshot_reply()).run(&["show", "branch"]);
    let connection = FakeDaemon::replying(snapshot_reply()).run(&["connection", "show", "branch"]);
    assert_eq!(connection, show);
}

#[test]
fn a_file_that_is_not_there_is_named_before_the_daemon_is_asked() {
    let done: Outcome = mpt().args(["connection", "create", "/no/file"]).output().unwrap().into();
    assert_eq!(done, outcome(1, "", "mpt: /no/file: No such file or directory (os error 2)\n"));
}

#[test]
fn a_refusal_is_told_and_exits_with_1() {
    let daemon = FakeDaemon::refusing(Code::NotFound, "no path \"dls\"");
    assert_eq!(
        daemon.run(&["path", "up", "office", "dls"]).1,
        outcome(1, "", "mpt: no path \"dls\"\n")
    );
}

#[test]
fn reload_tells_what_it_did() {
    let reloaded = Reloaded {
        changes: vec!["connection office: path lte added".into()],
        restart: vec!["daemon.buffer_limit".into()],
        warnings: vec!["mpt.toml:3: connection.window: too small".into()],
    };
    let (asked, done) = FakeDaemon::replying(Reply::Reloaded(reloaded)).run(&["reload"]);
    assert_eq!(asked, mpt_api::Command::Reload);
    let expected = "warning: mpt.toml:3: connection.window: too small\n\
                    connection office: path lte added\n\
                    daemon.buffer_limit: changed, takes effect when mptd is started again\n";
    assert_eq!(done, outcome(0, expected, ""));
    let daemon = FakeDaemon::replying(Reply::Reloaded(Reloaded::default()));
    assert_eq!(daemon.run(&["reload"]).1, outcome(0, "nothing has changed\n", ""));
    let daemon = FakeDaemon::refusing(Code::Config, "mpt.toml:3: bad\nmpt.toml:4: worse");
    assert_eq!(
        daemon.run(&["reload"]).1,
        outcome(1, "", "mpt: mpt.toml:3: bad\nmpt.toml:4: worse\n")
    );
}

fn monitored() -> String {
    let event = |kind| to_line(&Response::event(Event { time_ms: 1_760_000_000_123, kind }));
    let changed = EventKind::PathChanged {
        connection: "office".into(),
        path: "dsl".into(),
        state: PathState::Down,
        down: Some(DownReason::Interface),
        weight: 3,
        weight_in: 1,
        tier: 0,
        max_rate: None,
        min_rate: None,
        mtu: 1492,
    };
    let established = EventKind::SessionEstablished {
        connection: Some("office".into()),
        peer: "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=".into(),
        peer_name: None,
        role: SessionRole::Initiator,
    };
    let lost = EventKind::SessionLost {
        connection: None,
        peer: "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=".into(),
        peer_name: Some("noc".into()),
        reason: LossReason::Silent,
    };
    to_line(&Response::result(Reply::Monitoring))
        + &event(changed)
        + &event(established)
        + &event(lost)
        + &event(EventKind::Missed { count: 3 })
}

#[test]
fn monitor_prints_events_until_the_daemon_goes() {
    let (asked, done) = FakeDaemon::answering(monitored()).run(&["monitor"]);
    assert_eq!(asked, mpt_api::Command::Monitor);
    let expected = "2025-10-09T08:53:20.123Z office dsl: down (interface), weight 3, weight_in 1, tier 0, MTU 1492\n\
                    2025-10-09T08:53:20.123Z office: session with xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg= opened here\n\
                    2025-10-09T08:53:20.123Z steering: session with noc lost: nothing heard\n\
                    2025-10-09T08:53:20.123Z 3 events missed\n";
    assert_eq!(done, outcome(3, expected, "mpt: the daemon closed the connection\n"));
}

#[test]
fn monitor_as_json_prints_one_event_per_line() {
    let (_, done) = FakeDaemon::answering(monitored()).run(&["monitor", "--json"]);
    let kinds: Vec<_> = (done.stdout.lines())
        .map(|line| serde_json::from_str::<Event>(line).unwrap().kind)
        .collect();
    assert!(matches!(
        kinds[..],
        [EventKind::PathChanged { .. }, _, _, EventKind::Missed { count: 3 }]
    ));
}

#[test]
fn a_daemon_that_is_not_there_exits_with_3() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("mptd.sock");
    let missing: Outcome = mpt().arg("reload").env("MPT_SOCKET", &socket).output().unwrap().into();
    let message = format!(
        "mpt: {}: cannot reach mptd: No such file or directory (os error 2); start mptd, or name its socket with --socket\n",
        socket.display()
    );
    assert_eq!(missing, outcome(3, "", &message));
    // A daemon that died leaves its socket.
    drop(UnixListener::bind(&socket).unwrap());
    let refused: Outcome = mpt().arg("reload").env("MPT_SOCKET", &socket).output().unwrap().into();
    assert_eq!(refused.code, Some(3));
}

#[test]
fn a_daemon_that_hangs_up_exits_with_3() {
    assert_eq!(
        FakeDaemon::answering("").run(&["show"]).1,
        outcome(3, "", "mpt: the daemon closed the connection\n")
    );
    assert_eq!(FakeDaemon::answering("{\"version\":2,").run(&["show"]).1.code, Some(3));
}

#[test]
fn a_daemon_that_is_not_understood_exits_with_4() {
    assert_eq!(
        FakeDaemon::answering("{\"version\":1,\"something\":\"else\"}\n").run(&["show"]).1,
        outcome(
            4,
            "",
            "mpt: the daemon speaks version 1 of the control API, this mpt version 2; use the mpt of its release\n"
        )
    );
    for garbage in ["\n", "hello\n", "{\"version\":2}\n", "{\"version\":2,\"result\":\"dance\"}\n"]
    {
        assert_eq!(FakeDaemon::answering(garbage).run(&["show"]).1.code, Some(4), "{garbage}");
    }
    assert_eq!(FakeDaemon::replying(Reply::Done).run(&["show"]).1.code, Some(4));
    assert_eq!(FakeDaemon::refusing(Code::Version, "old").run(&["show"]).1.code, Some(4));
}

#[test]
fn a_wrong_command_line_exits_with_2() {
    for args in [
        vec![],
        vec!["shwo"],
        vec!["path", "up", "office"],
        vec!["path", "set", "office", "dsl"],
        vec!["path", "set", "office", "dsl", "weight=0"],
        vec!["path", "set", "office", "dsl", "mtu=1500"],
        vec!["path", "add", "office", "dsl"],
        vec!["path", "add", "office", "dsl", "weight"],
        vec!["interface", "sideways", "eth0"],
        vec!["connection", "create"],
        vec!["keepalive", "office", "1ms"],
        vec!["measure", "office", "--duration", "1min"],
    ] {
        let done: Outcome = mpt().args(&args).output().unwrap().into();
        assert_eq!(done.code, Some(2), "{args:?}");
        assert_eq!(done.stdout, "");
    }
}

#[test]
fn help_documents_the_exit_codes() {
    let help: Outcome = mpt().arg("--help").output().unwrap().into();
    assert_eq!(help.code, Some(0));
    for code in 0..=6 {
        assert!(
            help.stdout.contains(&format!("\n  {code}  ")),
            "{code} is not in\n{}",
            help.stdout
        );
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let daemon = FakeDaemon::replying(snapshot_reply());
    let mut child = mpt()
        .arg("--socket")
        .arg(&daemon.socket)
        .args(["show", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let done: Outcome = child.wait_with_output().unwrap().into();
    assert_eq!(done, outcome(0, "", ""));
}

/// Commands that have no JSON of their own make an object of each line.
#[test]
fn json_is_for_every_command() {
    let (_, done) =
        FakeDaemon::replying(Reply::Done).run(&["path", "up", "office", "dsl", "--json"]);
    let text = "{\"text\":\"path dsl of connection office: in service\"}\n";
    assert_eq!(done, outcome(0, text, ""));
    let key = mpt().args(["--json", "genkey"]).output().unwrap();
    let key: serde_json::Value = serde_json::from_slice(&key.stdout).unwrap();
    assert_eq!(key["text"].as_str().unwrap().len(), 44);
    let top = mpt().args(["top", "--json"]).output().unwrap();
    assert_eq!(top.status.code(), Some(2));
    let monitor = mpt().args(["monitor", "--json", "--exec", "/bin/true"]).output().unwrap();
    assert_eq!(monitor.status.code(), Some(2));
}

#[test]
fn help_explains_a_command() {
    for words in [&["help", "path", "set"][..], &["path", "set", "-h"]] {
        let help = mpt().args(words).output().unwrap();
        let help = String::from_utf8(help.stdout).unwrap();
        assert!(help.contains("Usage: mpt path set") && !help.contains("--remote"), "{help}");
    }
    let wrong = mpt().args(["help", "path", "sett"]).output().unwrap();
    let said = String::from_utf8(wrong.stderr).unwrap();
    assert_eq!(said, "mpt: there is no path sett; it has up, down, set, add, del\n");
    assert_eq!(wrong.status.code(), Some(2));
}
