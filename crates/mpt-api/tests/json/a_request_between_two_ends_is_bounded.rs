//! Requests of the peer of a session are read whatever its release, and bounded whatever it sends.

use mpt_api::Mapping;
use mpt_api::session::{
    Create, Created, MAX_REQUEST, MeasureSender, MeasureStart, PathSpec, SessionCode,
    SessionFailure, SessionReply, SessionRequest, SessionResult,
};
use proptest::prelude::*;

fn path(id: u16, name: &str) -> PathSpec {
    PathSpec { id, name: name.into(), ..PathSpec::default() }
}

fn create(paths: Vec<PathSpec>) -> Create {
    Create {
        name: "office".into(),
        networks: vec!["192.168.1.0/24".parse().unwrap()],
        sequence: true,
        udp_checksum: true,
        paths,
        ..Create::default()
    }
}

#[test]
fn the_json_is_stable() {
    let requests = [
        SessionRequest::Create(Create {
            addresses: vec!["10.9.0.7/24".parse().unwrap()],
            key: Some(7),
            mapping: Mapping::Flow,
            window: Some(1024),
            max_delay_ms: Some(300),
            ..create(vec![
                path(1, "dsl"),
                PathSpec { weight: 3, weight_in: 2, tier: 1, mtu: Some(1492), ..path(2, "lte") },
            ])
        }),
        SessionRequest::Delete {},
        SessionRequest::PathAdd(path(3, "sat")),
        SessionRequest::PathDelete { id: 3 },
        SessionRequest::MeasureStart(MeasureStart {
            test: 1,
            path: 2,
            sender: MeasureSender::Asked,
            duration_ms: 1000,
            limit: Some(100_000_000),
        }),
        SessionRequest::Join(mpt_api::session::Join { host: "office-router".into() }),
        SessionRequest::MeasureResult { test: 1 },
    ];
    let mut lines = String::new();
    for request in requests {
        let body = request.to_body();
        assert_eq!(SessionRequest::parse(&body), Ok(request));
        lines += &String::from_utf8(body).unwrap();
        lines.push('\n');
    }
    let replies = [
        SessionReply::Ok(SessionResult::Done),
        SessionReply::Ok(SessionResult::Created(Created {
            key: Some(7),
            addresses: vec!["10.9.0.7/24".parse().unwrap()],
            server_addresses: vec!["10.9.0.1/24".parse().unwrap()],
            networks: vec!["192.168.1.0/24".parse().unwrap()],
            max_paths: 8,
            max_weight: 100,
        })),
        SessionReply::Ok(SessionResult::Measured {
            finished: true,
            bytes: 11_750_000,
            duration_us: 1_000_000,
        }),
        SessionReply::Error(SessionFailure::new(SessionCode::Denied, "8 paths are allowed")),
    ];
    for reply in replies {
        let body = reply.to_body();
        assert_eq!(SessionReply::parse(&body), Ok(reply));
        lines += &String::from_utf8(body).unwrap();
        lines.push('\n');
    }
    insta::assert_snapshot!(lines, @r#"
    {"create":{"name":"office","networks":["192.168.1.0/24"],"addresses":["10.9.0.7/24"],"key":7,"mapping":"flow","sequence":true,"checksum":false,"udp_checksum":true,"window":1024,"max_delay_ms":300,"paths":[{"id":1,"name":"dsl","weight":1,"weight_in":1},{"id":2,"name":"lte","weight":3,"weight_in":2,"tier":1,"mtu":1492}]}}
    {"delete":{}}
    {"path_add":{"id":3,"name":"sat","weight":1,"weight_in":1}}
    {"path_delete":{"id":3}}
    {"measure_start":{"test":1,"path":2,"sender":"asked","duration_ms":1000,"limit":100000000}}
    {"join":{"host":"office-router"}}
    {"measure_result":{"test":1}}
    {"ok":"done"}
    {"ok":{"created":{"key":7,"addresses":["10.9.0.7/24"],"server_addresses":["10.9.0.1/24"],"networks":["192.168.1.0/24"],"max_paths":8,"max_weight":100}}}
    {"ok":{"measured":{"finished":true,"bytes":11750000,"duration_us":1000000}}}
    {"error":{"code":"denied","message":"8 paths are allowed"}}
    "#);
}

#[test]
fn other_releases_are_understood() {
    let older = br#"{"create":{"name":"office","paths":[{"id":1,"name":"dsl"}]}}"#;
    let expected = Create { networks: Vec::new(), ..create(vec![path(1, "dsl")]) };
    assert_eq!(SessionRequest::parse(older), Ok(SessionRequest::Create(expected)));
    let newer = br#"{"path_delete":{"id":3,"gently":true}}"#;
    assert_eq!(SessionRequest::parse(newer), Ok(SessionRequest::PathDelete { id: 3 }));
    let unknown = SessionRequest::parse(br#"{"dance":{"steps":3}}"#).unwrap_err();
    assert_eq!(unknown.code, SessionCode::Unsupported);
    let reply = SessionReply::parse(br#"{"error":{"code":"tired"}}"#);
    let failure = SessionFailure::new(SessionCode::Unknown, "");
    assert_eq!(reply, Ok(SessionReply::Error(failure)));
}

#[test]
fn bad_requests_are_told_why() {
    let refusal = |body: &str| {
        let failure = SessionRequest::parse(body.as_bytes()).unwrap_err();
        assert_eq!(failure.code, SessionCode::BadRequest, "{body}");
        failure.to_string()
    };
    let many: Vec<_> = (0..17).map(|n| format!("\"10.0.{n}.0/24\"")).collect();
    let refusals = [
        String::new(),
        "{}".into(),
        "[]".into(),
        " ".repeat(MAX_REQUEST + 1),
        r#"{"create":{"name":"a b"}}"#.into(),
        r#"{"create":{"name":"a","mapping":"dance"}}"#.into(),
        r#"{"create":{"name":"a","paths":[{"id":1,"name":"x"},{"id":1,"name":"y"}]}}"#.into(),
        r#"{"create":{"name":"a","paths":[{"id":1,"name":"x"},{"id":2,"name":"x"}]}}"#.into(),
        format!(r#"{{"create":{{"name":"a","networks":[{}]}}}}"#, many.join(",")),
        r#"{"path_add":{"id":0,"name":"x"}}"#.into(),
        r#"{"path_add":{"id":65536,"name":"x"}}"#.into(),
        r#"{"path_add":{"id":1,"name":"\u001b[0m"}}"#.into(),
        r#"{"path_add":{"id":1,"name":"x","weight":0}}"#.into(),
        r#"{"path_delete":{"id":0}}"#.into(),
        r#"{"measure_start":{"test":1,"path":0,"sender":"asked","duration_ms":1000}}"#.into(),
        r#"{"measure_start":{"test":1,"path":1,"sender":"asked","duration_ms":10}}"#.into(),
    ]
    .map(|body| refusal(&body))
    .join("\n");
    insta::assert_snapshot!(refusals, @r#"
    not a request: EOF while parsing a value at line 1 column 0
    not a request: expected value at line 1 column 2
    not a request: expected value at line 1 column 1
    the request is longer than 1024 bytes
    the connection has no proper name
    not a request: unknown variant `dance`, expected one of `packet`, `adaptive`, `flow`, `duplicate` at line 1 column 39
    two paths with id 1 or name y
    two paths with id 2 or name x
    more than 16 networks
    path ids start at 1
    not a request: invalid value: integer `65536`, expected u16 at line 1 column 23
    path 1 has no proper name
    path 1: weights start at 1
    path ids start at 1
    path ids start at 1
    10 ms is not a duration; write 100 to 10000
    "#);
}

#[test]
fn what_the_peer_says_does_not_steer_a_terminal() {
    let failure = SessionFailure::new(SessionCode::Failed, "no\u{1b}[2J\nat \"all\"");
    assert_eq!(failure.to_string(), "no\\u{1b}[2J\\nat \"all\"", "quotes are read as they are");
}

#[test]
fn a_connection_too_large_for_one_request_takes_several() {
    let networks: Vec<_> = (0..12).map(|n| format!("2001:db8:{n}::/48").parse().unwrap()).collect();
    for count in [0, 1, 9, 128] {
        let paths: Vec<_> = (1..=count).map(|id| path(id, &format!("path-{id}"))).collect();
        let whole = Create { networks: networks.clone(), ..create(paths.clone()) };
        let requests = whole.into_requests().unwrap();
        assert!(requests.iter().all(|request| request.to_body().len() <= MAX_REQUEST));
        let mut found = Vec::new();
        for (index, request) in requests.into_iter().enumerate() {
            match request {
                SessionRequest::Create(create) if index == 0 => found.extend(create.paths),
                SessionRequest::PathAdd(path) if index > 0 => found.push(path),
                other => panic!("{other:?} in place {index}"),
            }
        }
        assert_eq!(found, paths);
    }
    let too_many: Vec<_> = (1..=129).map(|id| path(id, &format!("path-{id}"))).collect();
    assert_eq!(create(too_many).into_requests().unwrap_err().code, SessionCode::BadRequest);
}

proptest! {
    #[test]
    fn no_bytes_panic(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = SessionRequest::parse(&body);
        let _ = SessionReply::parse(&body);
    }

    /// Whatever is taken can be given on, and stays the same.
    #[test]
    fn what_is_read_is_written_the_same(
        name in "[a-z\u{0}é -]{0,70}", id in any::<u16>(), weight in any::<u16>(), mtu in any::<Option<u16>>(),
    ) {
        let request = SessionRequest::PathAdd(PathSpec { id, name, weight, mtu, ..PathSpec::default() });
        if let Ok(read) = SessionRequest::parse(&request.to_body()) {
            prop_assert_eq!(read, request);
        }
    }
}
