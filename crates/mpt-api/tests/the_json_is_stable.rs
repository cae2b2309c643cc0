//! What stands on the wire, literally: external programs depend on it. A change here that is more than an addition to a
//! response needs another `VERSION`.

use std::collections::BTreeMap;
use std::num::NonZeroU16;

use mpt_api::snapshot::{
    Connection, ConnectionState, Daemon, Delays, Device, DownReason, Path, PathState, Reorder,
    Traffic,
};
use mpt_api::{
    Code, Command, Direction, Ecn, Event, EventKind, Failure, Late, Mapping, PathChange, Reloaded,
    Reply, Request, Response, Snapshot, Status, to_line,
};

fn request(command: Command) -> String {
    let request = Request::new(command);
    let line = to_line(&request);
    assert_eq!(Request::parse(line.trim_end().as_bytes()), Ok(request), "{line}");
    line
}

fn response(response: &Response) -> String {
    let line = to_line(response);
    assert_eq!(serde_json::from_str::<Response>(&line).unwrap(), *response, "{line}");
    line
}

#[test]
fn requests() {
    let mut lines = String::new();
    lines += &request(Command::Status);
    lines += &request(Command::Show);
    lines += &request(Command::Reload);
    lines += &request(Command::Monitor);
    lines += &request(Command::SetPath {
        connection: "office".into(),
        path: "dsl".into(),
        change: PathChange { up: Some(false), ..PathChange::default() },
    });
    lines += &request(Command::SetPath {
        connection: "office".into(),
        path: "dsl".into(),
        change: PathChange {
            up: None,
            weight: NonZeroU16::new(3),
            weight_in: NonZeroU16::new(65_535),
            tier: Some(1),
        },
    });
    insta::assert_snapshot!(lines, @r#"
    {"version":1,"command":"status"}
    {"version":1,"command":"show"}
    {"version":1,"command":"reload"}
    {"version":1,"command":"monitor"}
    {"version":1,"command":{"set_path":{"connection":"office","path":"dsl","change":{"up":false}}}}
    {"version":1,"command":{"set_path":{"connection":"office","path":"dsl","change":{"weight":3,"weight_in":65535,"tier":1}}}}
    "#);
}

#[test]
fn answers() {
    let mut lines = String::new();
    lines += &response(&Response::result(Reply::Done));
    lines += &response(&Response::result(Reply::Monitoring));
    lines += &response(&Response::result(Reply::Status(Status {
        program: "0.1.0".into(),
        pid: 17,
        uptime_s: 3,
    })));
    lines += &response(&Response::result(Reply::Reloaded(Reloaded {
        changes: vec!["path dsl added".into()],
        restart: vec!["daemon.buffer_limit".into()],
        warnings: vec![],
    })));
    for code in
        [Code::BadRequest, Code::Version, Code::NotFound, Code::Config, Code::Busy, Code::Failed]
    {
        lines += &response(&Response::error(Failure::new(code, "why")));
    }
    insta::assert_snapshot!(lines, @r#"
    {"version":1,"result":"done"}
    {"version":1,"result":"monitoring"}
    {"version":1,"result":{"status":{"program":"0.1.0","pid":17,"uptime_s":3}}}
    {"version":1,"result":{"reloaded":{"changes":["path dsl added"],"restart":["daemon.buffer_limit"],"warnings":[]}}}
    {"version":1,"error":{"code":"bad_request","message":"why"}}
    {"version":1,"error":{"code":"version","message":"why"}}
    {"version":1,"error":{"code":"not_found","message":"why"}}
    {"version":1,"error":{"code":"config","message":"why"}}
    {"version":1,"error":{"code":"busy","message":"why"}}
    {"version":1,"error":{"code":"failed","message":"why"}}
    "#);
}

#[test]
fn events() {
    let connection = || "office".to_owned();
    let path = || "dsl".to_owned();
    let kinds = [
        EventKind::PathChanged {
            connection: connection(),
            path: path(),
            state: PathState::Down,
            down: Some(DownReason::Interface),
            weight: 3,
            weight_in: 1,
            tier: 0,
            mtu: 1492,
        },
        EventKind::PathAdded { connection: connection(), path: path() },
        EventKind::PathRemoved { connection: connection(), path: path() },
        EventKind::ConnectionAdded { connection: connection() },
        EventKind::ConnectionRemoved { connection: connection() },
        EventKind::Reloaded { changes: 2 },
        EventKind::Missed { count: 7 },
    ];
    let lines: String = (kinds.into_iter())
        .map(|kind| response(&Response::event(Event { time_ms: 1_760_000_000_000, kind })))
        .collect();
    insta::assert_snapshot!(lines, @r#"
    {"version":1,"event":{"time_ms":1760000000000,"event":"path_changed","connection":"office","path":"dsl","state":"down","down":"interface","weight":3,"weight_in":1,"tier":0,"mtu":1492}}
    {"version":1,"event":{"time_ms":1760000000000,"event":"path_added","connection":"office","path":"dsl"}}
    {"version":1,"event":{"time_ms":1760000000000,"event":"path_removed","connection":"office","path":"dsl"}}
    {"version":1,"event":{"time_ms":1760000000000,"event":"connection_added","connection":"office"}}
    {"version":1,"event":{"time_ms":1760000000000,"event":"connection_removed","connection":"office"}}
    {"version":1,"event":{"time_ms":1760000000000,"event":"reloaded","changes":2}}
    {"version":1,"event":{"time_ms":1760000000000,"event":"missed","count":7}}
    "#);
}

#[test]
fn a_snapshot() {
    let traffic =
        Traffic { packets: 10, bytes: 12_000, packets_per_second: 5, bits_per_second: 48_000 };
    let path = Path {
        name: "dsl".into(),
        state: PathState::Up,
        down: None,
        local: Some("[2001:db8::1]:4754".parse().unwrap()),
        interface: None,
        remote: "[2001:db8::2]:4754".parse().unwrap(),
        source_ports: vec![50_000],
        heard_from: Some("[2001:db8::2]:51000".parse().unwrap()),
        weight: 3,
        weight_in: 1,
        tier: 0,
        mtu: 1500,
        sent: traffic,
        received: Traffic::default(),
        drops: BTreeMap::new(),
    };
    let connection = Connection {
        name: "office".into(),
        device: "mpt0".into(),
        state: ConnectionState::Degraded,
        networks: vec!["10.9.0.2/32".parse().unwrap()],
        key: Some(1),
        direction: Direction::Both,
        mapping: Mapping::Packet,
        sequence: true,
        checksum: false,
        ecn: Ecn::Compatibility,
        mtu: 1440,
        sent: traffic,
        received: traffic,
        reorder: Reorder {
            window: 16_384,
            max_delay_us: 300_000,
            early_release: true,
            late_policy: Late::Deliver,
            waiting: 0,
            in_order: 9,
            after_gap: 1,
            late: 0,
            duplicate: 0,
            overflow: 0,
            stray: 0,
            delays: Delays { p50_us: 10, p99_us: 20, max_us: 30 },
        },
        drops: BTreeMap::from([("foreign_source".to_owned(), 1)]),
        remarks: BTreeMap::from([("path_down".to_owned(), 3)]),
        paths: vec![path],
    };
    let snapshot = Snapshot {
        daemon: Daemon {
            program: "0.1.0".into(),
            pid: 17,
            uptime_s: 3,
            buffer_bytes: 0,
            buffer_limit: 64 << 20,
            drops: BTreeMap::from([("wrong_key".to_owned(), 2)]),
        },
        devices: vec![Device {
            name: "mpt0".into(),
            addresses: vec!["10.9.0.1/30".parse().unwrap()],
            mtu: 1440,
            offloads: vec!["tso4".into()],
            drops: BTreeMap::new(),
        }],
        connections: vec![connection],
    };
    response(&Response::result(Reply::Snapshot(Box::new(snapshot.clone()))));
    insta::assert_snapshot!(serde_json::to_string_pretty(&snapshot).unwrap(), @r#"
    {
      "daemon": {
        "program": "0.1.0",
        "pid": 17,
        "uptime_s": 3,
        "buffer_bytes": 0,
        "buffer_limit": 67108864,
        "drops": {
          "wrong_key": 2
        }
      },
      "devices": [
        {
          "name": "mpt0",
          "addresses": [
            "10.9.0.1/30"
          ],
          "mtu": 1440,
          "offloads": [
            "tso4"
          ],
          "drops": {}
        }
      ],
      "connections": [
        {
          "name": "office",
          "device": "mpt0",
          "state": "degraded",
          "networks": [
            "10.9.0.2/32"
          ],
          "key": 1,
          "direction": "both",
          "mapping": "packet",
          "sequence": true,
          "checksum": false,
          "ecn": "compatibility",
          "mtu": 1440,
          "sent": {
            "packets": 10,
            "bytes": 12000,
            "packets_per_second": 5,
            "bits_per_second": 48000
          },
          "received": {
            "packets": 10,
            "bytes": 12000,
            "packets_per_second": 5,
            "bits_per_second": 48000
          },
          "reorder": {
            "window": 16384,
            "max_delay_us": 300000,
            "early_release": true,
            "late_policy": "deliver",
            "waiting": 0,
            "in_order": 9,
            "after_gap": 1,
            "late": 0,
            "duplicate": 0,
            "overflow": 0,
            "stray": 0,
            "delays": {
              "p50_us": 10,
              "p99_us": 20,
              "max_us": 30
            }
          },
          "drops": {
            "foreign_source": 1
          },
          "remarks": {
            "path_down": 3
          },
          "paths": [
            {
              "name": "dsl",
              "state": "up",
              "down": null,
              "local": "[2001:db8::1]:4754",
              "interface": null,
              "remote": "[2001:db8::2]:4754",
              "source_ports": [
                50000
              ],
              "heard_from": "[2001:db8::2]:51000",
              "weight": 3,
              "weight_in": 1,
              "tier": 0,
              "mtu": 1500,
              "sent": {
                "packets": 10,
                "bytes": 12000,
                "packets_per_second": 5,
                "bits_per_second": 48000
              },
              "received": {
                "packets": 0,
                "bytes": 0,
                "packets_per_second": 0,
                "bits_per_second": 0
              },
              "drops": {}
            }
          ]
        }
      ]
    }
    "#);
}

#[test]
fn what_later_daemons_add_is_tolerated() {
    let line = r#"{"version":1,"event":{"time_ms":1,"event":"path_measured","rate":3},"more":1}"#;
    assert_eq!(
        serde_json::from_str::<Response>(line).unwrap(),
        Response::event(Event { time_ms: 1, kind: EventKind::Unknown })
    );
    let line = r#"{"version":1,"error":{"code":"tired","message":"later","more":1}}"#;
    assert_eq!(
        serde_json::from_str::<Response>(line).unwrap(),
        Response::error(Failure::new(Code::Unknown, "later"))
    );
}

#[test]
fn bad_requests_are_told_why() {
    let refusal = |line: &str| {
        let failure = Request::parse(line.as_bytes()).unwrap_err();
        format!("{:?}: {}", failure.code, failure.message)
    };
    let set = |change: &str| {
        format!(
            r#"{{"version":1,"command":{{"set_path":{{"connection":"a","path":"b","change":{change}}}}}}}"#
        )
    };
    let refusals = [
        r#"{"version":2,"command":{"from_the_future":[]}}"#.to_owned(),
        r#"{"command":"show"}"#.to_owned(),
        r#"{"version":1,"command":"shw"}"#.to_owned(),
        r#"{"version":1,"command":"show","extra":1}"#.to_owned(),
        set(r#"{"weight":0}"#),
        set(r#"{"weight":65536}"#),
        set(r#"{"wieght":3}"#),
        "show".to_owned(),
        String::new(),
        " ".repeat(mpt_api::MAX_REQUEST + 1),
    ]
    .map(|line| refusal(&line))
    .join("\n");
    insta::assert_snapshot!(refusals, @r#"
    Version: the request is in version 2 of the control API, this daemon speaks version 1
    BadRequest: the request has no version; write "version":1
    BadRequest: not a request: unknown variant `shw`, expected one of `status`, `show`, `set_path`, `reload`, `monitor` at line 1 column 28
    BadRequest: not a request: unknown field `extra`, expected `version` or `command` at line 1 column 37
    BadRequest: not a request: invalid value: integer `0`, expected a nonzero u16 at line 1 column 84
    BadRequest: not a request: invalid value: integer `65536`, expected a nonzero u16 at line 1 column 88
    BadRequest: not a request: unknown field `wieght`, expected one of `up`, `weight`, `weight_in`, `tier` at line 1 column 82
    BadRequest: not a request: expected value at line 1 column 1
    BadRequest: not a request: EOF while parsing a value at line 1 column 0
    BadRequest: the request is longer than 65536 bytes
    "#);
}
