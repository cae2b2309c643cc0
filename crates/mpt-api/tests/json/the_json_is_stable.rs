//! The messages as they stand on the wire: external programs depend on them. A change here that is more than an addition to a response needs another
//! `VERSION`.

use std::num::NonZeroU16;

use mpt_api::snapshot::{DownReason, PathState, SessionRole};
use mpt_api::{
    AtCap, Changed, Code, Command, Event, EventKind, Failure, LossReason, Measured, MeasuredPath,
    PathChange, Reloaded, Reply, Request, Response, Status, to_line,
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
    lines += &request(Command::Events { after: None, wait_ms: 0 });
    lines += &request(Command::Events { after: Some(1_845_493_760_000_007), wait_ms: 20_000 });
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
            max_rate: Some(20_000_000),
            min_rate: Some(0),
        },
    });
    let office = || "office".to_owned();
    lines += &request(Command::AddPath {
        connection: office(),
        toml: "name = \"lte\"\nremote = \"198.51.100.1\"\n".into(),
    });
    lines += &request(Command::DeletePath { connection: office(), path: "lte".into() });
    lines += &request(Command::SetInterface { interface: "wwan0".into(), up: false });
    lines += &request(Command::CreateConnection { toml: "[[connection]]\n".into() });
    lines += &request(Command::DeleteConnection { connection: office() });
    lines += &request(Command::SaveConnection { connection: office() });
    lines += &request(Command::ShowConnection { connection: office() });
    lines += &request(Command::SetKeepalive {
        connection: office(),
        path: Some("dsl".into()),
        keepalive_us: 50_000,
    });
    lines += &request(Command::SetKeepalive { connection: office(), path: None, keepalive_us: 0 });
    lines += &request(Command::Measure { connection: office(), set: true, duration_ms: 1000 });
    lines += &request(Command::Clients);
    lines += &request(Command::DisconnectClient { client: "anna".into() });
    lines += &request(Command::AddToken {
        client: Some("anna".into()),
        pool: None,
        networks: vec!["0.0.0.0/0".parse().unwrap()],
        behind: Vec::new(),
        lifetime_s: 3600,
    });
    lines += &request(Command::Tokens);
    lines += &request(Command::RevokeToken { token: "e0e1b97d6b3b1c0e".into() });
    insta::assert_snapshot!(lines, @r#"
    {"version":2,"command":"status"}
    {"version":2,"command":"show"}
    {"version":2,"command":"reload"}
    {"version":2,"command":"monitor"}
    {"version":2,"command":{"events":{"wait_ms":0}}}
    {"version":2,"command":{"events":{"after":1845493760000007,"wait_ms":20000}}}
    {"version":2,"command":{"set_path":{"connection":"office","path":"dsl","change":{"up":false}}}}
    {"version":2,"command":{"set_path":{"connection":"office","path":"dsl","change":{"weight":3,"weight_in":65535,"tier":1,"max_rate":20000000,"min_rate":0}}}}
    {"version":2,"command":{"add_path":{"connection":"office","toml":"name = \"lte\"\nremote = \"198.51.100.1\"\n"}}}
    {"version":2,"command":{"delete_path":{"connection":"office","path":"lte"}}}
    {"version":2,"command":{"set_interface":{"interface":"wwan0","up":false}}}
    {"version":2,"command":{"create_connection":{"toml":"[[connection]]\n"}}}
    {"version":2,"command":{"delete_connection":{"connection":"office"}}}
    {"version":2,"command":{"save_connection":{"connection":"office"}}}
    {"version":2,"command":{"show_connection":{"connection":"office"}}}
    {"version":2,"command":{"set_keepalive":{"connection":"office","path":"dsl","keepalive_us":50000}}}
    {"version":2,"command":{"set_keepalive":{"connection":"office","keepalive_us":0}}}
    {"version":2,"command":{"measure":{"connection":"office","set":true,"duration_ms":1000}}}
    {"version":2,"command":"clients"}
    {"version":2,"command":{"disconnect_client":{"client":"anna"}}}
    {"version":2,"command":{"add_token":{"client":"anna","networks":["0.0.0.0/0"],"lifetime_s":3600}}}
    {"version":2,"command":"tokens"}
    {"version":2,"command":{"revoke_token":{"token":"e0e1b97d6b3b1c0e"}}}
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
    lines += &response(&Response::result(Reply::Changed(Changed {
        changes: vec!["connection office: path lte added".into()],
        warnings: vec![],
    })));
    lines += &response(&Response::result(Reply::Measured(Measured {
        paths: vec![
            MeasuredPath {
                path: "dsl".into(),
                out_bits_per_second: Some(94_000_000),
                in_bits_per_second: Some(47_000_000),
                weight: Some(2),
                weight_in: Some(1),
            },
            MeasuredPath {
                path: "lte".into(),
                out_bits_per_second: None,
                in_bits_per_second: None,
                weight: None,
                weight_in: None,
            },
        ],
        set: true,
    })));
    for code in [
        Code::BadRequest,
        Code::Version,
        Code::NotFound,
        Code::Config,
        Code::Denied,
        Code::Busy,
        Code::Failed,
    ] {
        lines += &response(&Response::error(Failure::new(code, "why")));
    }
    insta::assert_snapshot!(lines, @r#"
    {"version":2,"result":"done"}
    {"version":2,"result":"monitoring"}
    {"version":2,"result":{"status":{"program":"0.1.0","pid":17,"uptime_s":3}}}
    {"version":2,"result":{"reloaded":{"changes":["path dsl added"],"restart":["daemon.buffer_limit"],"warnings":[]}}}
    {"version":2,"result":{"changed":{"changes":["connection office: path lte added"],"warnings":[]}}}
    {"version":2,"result":{"measured":{"paths":[{"path":"dsl","out_bits_per_second":94000000,"in_bits_per_second":47000000,"weight":2,"weight_in":1},{"path":"lte","out_bits_per_second":null,"in_bits_per_second":null,"weight":null,"weight_in":null}],"set":true}}}
    {"version":2,"error":{"code":"bad_request","message":"why"}}
    {"version":2,"error":{"code":"version","message":"why"}}
    {"version":2,"error":{"code":"not_found","message":"why"}}
    {"version":2,"error":{"code":"config","message":"why"}}
    {"version":2,"error":{"code":"denied","message":"why"}}
    {"version":2,"error":{"code":"busy","message":"why"}}
    {"version":2,"error":{"code":"failed","message":"why"}}
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
            max_rate: Some(20_000_000),
            min_rate: None,
            mtu: 1492,
        },
        EventKind::PathAdded { connection: connection(), path: path() },
        EventKind::PathRemoved { connection: connection(), path: path() },
        EventKind::PathMoved {
            connection: connection(),
            path: path(),
            remote: "198.51.100.7:40000".parse().unwrap(),
        },
        EventKind::CapNear {
            connection: connection(),
            path: path(),
            percent: 80,
            used: 40_100_000_000,
            limit: 50_000_000_000,
        },
        EventKind::CapReached {
            connection: connection(),
            path: path(),
            used: 50_000_400_000,
            limit: 50_000_000_000,
            at_cap: AtCap::Backup,
        },
        EventKind::CapReset {
            connection: connection(),
            path: path(),
            used: 50_000_400_000,
            limit: 50_000_000_000,
        },
        EventKind::SessionEstablished {
            connection: Some(connection()),
            peer: "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=".into(),
            peer_name: None,
            role: SessionRole::Initiator,
        },
        EventKind::SessionLost {
            connection: None,
            peer: "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=".into(),
            peer_name: Some("noc".into()),
            reason: LossReason::PeerShutDown,
        },
        EventKind::ClientAdded { client: "anna".into(), connection: "anna.office".into() },
        EventKind::ClientRemoved {
            client: "anna".into(),
            connection: "anna.office".into(),
            reason: LossReason::Silent,
        },
        EventKind::ConnectionAdded { connection: connection() },
        EventKind::ConnectionRemoved { connection: connection() },
        EventKind::Reloaded { changes: 2 },
        EventKind::Missed { count: 7 },
    ];
    let lines: String = (kinds.into_iter())
        .map(|kind| response(&Response::event(Event { time_ms: 1_760_000_000_000, kind })))
        .collect();
    insta::assert_snapshot!(lines, @r#"
    {"version":2,"event":{"time_ms":1760000000000,"event":"path_changed","connection":"office","path":"dsl","state":"down","down":"interface","weight":3,"weight_in":1,"tier":0,"max_rate":20000000,"mtu":1492}}
    {"version":2,"event":{"time_ms":1760000000000,"event":"path_added","connection":"office","path":"dsl"}}
    {"version":2,"event":{"time_ms":1760000000000,"event":"path_removed","connection":"office","path":"dsl"}}
    {"version":2,"event":{"time_ms":1760000000000,"event":"path_moved","connection":"office","path":"dsl","remote":"198.51.100.7:40000"}}
    {"version":2,"event":{"time_ms":1760000000000,"event":"cap_near","connection":"office","path":"dsl","percent":80,"used":40100000000,"limit":50000000000}}
    {"version":2,"event":{"time_ms":1760000000000,"event":"cap_reached","connection":"office","path":"dsl","used":50000400000,"limit":50000000000,"at_cap":"backup"}}
    {"version":2,"event":{"time_ms":1760000000000,"event":"cap_reset","connection":"office","path":"dsl","used":50000400000,"limit":50000000000}}
    {"version":2,"event":{"time_ms":1760000000000,"event":"session_established","connection":"office","peer":"xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=","peer_name":null,"role":"initiator"}}
    {"version":2,"event":{"time_ms":1760000000000,"event":"session_lost","connection":null,"peer":"xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=","peer_name":"noc","reason":"peer_shut_down"}}
    {"version":2,"event":{"time_ms":1760000000000,"event":"client_added","client":"anna","connection":"anna.office"}}
    {"version":2,"event":{"time_ms":1760000000000,"event":"client_removed","client":"anna","connection":"anna.office","reason":"silent"}}
    {"version":2,"event":{"time_ms":1760000000000,"event":"connection_added","connection":"office"}}
    {"version":2,"event":{"time_ms":1760000000000,"event":"connection_removed","connection":"office"}}
    {"version":2,"event":{"time_ms":1760000000000,"event":"reloaded","changes":2}}
    {"version":2,"event":{"time_ms":1760000000000,"event":"missed","count":7}}
    "#);
}

#[test]
fn what_later_daemons_add_is_tolerated() {
    let line = r#"{"version":2,"event":{"time_ms":1,"event":"path_measured","rate":3},"more":1}"#;
    assert_eq!(
        serde_json::from_str::<Response>(line).unwrap(),
        Response::event(Event { time_ms: 1, kind: EventKind::Unknown })
    );
    let line = r#"{"version":2,"error":{"code":"tired","message":"later","more":1}}"#;
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
            r#"{{"version":2,"command":{{"set_path":{{"connection":"a","path":"b","change":{change}}}}}}}"#
        )
    };
    let refusals = [
        r#"{"version":1,"command":{"from_the_future":[]}}"#.to_owned(),
        r#"{"command":"show"}"#.to_owned(),
        r#"{"version":2,"command":"shw"}"#.to_owned(),
        r#"{"version":2,"command":"show","extra":1}"#.to_owned(),
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
    Version: the request is in version 1 of the control API, this daemon speaks version 2
    BadRequest: the request has no version; write "version":2
    BadRequest: not a request: unknown variant `shw`, expected one of `status`, `show`, `show_connection`, `set_path`, `reload`, `monitor`, `events`, `add_path`, `delete_path`, `set_interface`, `create_connection`, `clients`, `disconnect_client`, `add_token`, `tokens`, `revoke_token`, `delete_connection`, `save_connection`, `set_keepalive`, `measure` at line 1 column 28
    BadRequest: not a request: unknown field `extra`, expected `version` or `command` at line 1 column 37
    BadRequest: not a request: invalid value: integer `0`, expected a nonzero u16 at line 1 column 84
    BadRequest: not a request: invalid value: integer `65536`, expected a nonzero u16 at line 1 column 88
    BadRequest: not a request: unknown field `wieght`, expected one of `up`, `weight`, `weight_in`, `tier`, `max_rate`, `min_rate` at line 1 column 82
    BadRequest: not a request: expected value at line 1 column 1
    BadRequest: not a request: EOF while parsing a value at line 1 column 0
    BadRequest: the request is longer than 65536 bytes
    "#);
}
