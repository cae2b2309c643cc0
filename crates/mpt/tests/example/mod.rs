//! The state of a daemon, as an example.

use mpt_api::snapshot::{
    Connection, ConnectionState, Daemon, Delays, Device, DownReason, Liveness, MtuSource, Path,
    PathState, Reorder, Session, SessionRole, SessionState, Traffic,
};
use mpt_api::{Direction, Ecn, Equalize, Late, Mapping, Offload, Snapshot};

/// A path that is up, without a session.
pub(crate) fn path(name: &str, local: &str, remote: &str) -> Path {
    Path {
        name: name.into(),
        state: PathState::Up,
        down: None,
        local: Some(local.parse().unwrap()),
        interface: None,
        remote: Some(remote.parse().unwrap()),
        remote_name: None,
        remote_learned: false,
        source_ports: vec![50_000],
        heard_from: None,
        weight: 10,
        weight_in: 1,
        lead_us: 0,
        max_rate: None,
        min_rate: None,
        tier: 0,
        metered: false,
        last_resort: false,
        cap: None,
        mtu: 1500,
        mtu_source: MtuSource::Probed,
        mtu_expires_ms: None,
        ipv6: true,
        sent: Traffic {
            packets: 123_456,
            bytes: 172_838_400,
            packets_per_second: 8_333,
            bits_per_second: 94_100_000,
        },
        received: Traffic::default(),
        drops: [("queue_full".to_owned(), 4)].into(),
        liveness: None,
        estimate: None,
        repairs: None,
    }
}

/// Two connections: one with a session and two paths, of which one is down, and one without.
pub(crate) fn snapshot() -> Snapshot {
    let lte = Path {
        state: PathState::Down,
        down: Some(DownReason::Interface),
        local: None,
        interface: Some("wwan0".into()),
        weight: 1,
        remote: None,
        sent: Traffic::default(),
        drops: [("queue_full".to_owned(), 0)].into(),
        liveness: Some(Liveness {
            id: Some(2),
            hears_us: false,
            we_hear: false,
            rtt_us: Some(49_900),
            rtt_variation_us: Some(1_500),
            rtt_minimum_us: Some(40_000),
            dead_after_us: 300_000,
            flaps: 2,
            since_ms: 7_000,
            peer_sent: None,
            peer_received: None,
        }),
        ..path("lte", "[2001:db8::1]:4754", "[2001:db8::2]:4754")
    };
    let dsl = Path { lead_us: 31_000, ..path("dsl", "192.0.2.1:4754", "198.51.100.1:4754") };
    let office = Connection {
        name: "office".into(),
        device: "mpt0".into(),
        state: ConnectionState::Degraded,
        networks: vec!["10.9.0.2/32".parse().unwrap(), "192.168.2.0/24".parse().unwrap()],
        key: Some(1),
        direction: Direction::Both,
        mapping: Mapping::Packet,
        sequence: true,
        checksum: false,
        ecn: Ecn::Compatibility,
        mtu: 1440,
        sent: dsl.sent,
        received: Traffic::default(),
        reorder: Reorder {
            window: 16_384,
            max_delay_us: 300_000,
            early_release: true,
            late_policy: Late::Deliver,
            equalize: Equalize::Tcp,
            waiting: 3,
            in_order: 9_000,
            after_gap: 10,
            late: 2,
            ahead: 0,
            early: 0,
            duplicate: 0,
            overflow: 0,
            stray: 0,
            equalized: 4_200,
            delays: Delays { p50_us: 12, p99_us: 49_900, max_us: 1_200_000 },
        },
        drops: [("foreign_source".to_owned(), 7)].into(),
        remarks: [("mss_clamped".to_owned(), 6)].into(),
        session: Some(Session {
            peer: "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=".into(),
            client: Some("anna".into()),
            state: SessionState::Established,
            role: SessionRole::Responder,
            established_s: Some(3_601),
            rekeyed_s: Some(17),
            handshakes: 31,
            seal: Some(mpt_api::Seal::On),
            data: Some(mpt_api::DataState::Aes256Gcm),
            keepalive_us: 100_000,
            idle_keepalive_us: 15_000_000,
        }),
        disagreement: None,
        compat: None,
        queue: None,
        short_flows: None,
        paths: vec![dsl, lte],
    };
    let mut branch = office.clone();
    branch.name = "branch".into();
    branch.device = "mpt1".into();
    branch.mapping = Mapping::Flow;
    branch.sequence = false;
    branch.reorder.window = 0;
    branch.session = None;
    branch.paths.truncate(1);
    let device = Device {
        name: "mpt0".into(),
        addresses: vec!["10.9.0.1/30".parse().unwrap()],
        mtu: 1440,
        offloads: vec![Offload::Tso, Offload::Uso],
        drops: [("no_connection".to_owned(), 5)].into(),
    };
    Snapshot {
        daemon: Daemon {
            program: "0.1.0".into(),
            pid: 17,
            uptime_s: 7_265,
            time_ms: 1_790_000_000_000,
            buffer_bytes: 4_500,
            buffer_limit: 64 << 20,
            drops: [("wrong_key".to_owned(), 2), ("truncated".to_owned(), 0)].into(),
            public_key: Some("HIgo9xNzJMWLKASShiTqIybxZ0U3wGLiUeJ1PKf8ykw=".into()),
            control: [("probes_sent".to_owned(), 12)].into(),
        },
        devices: vec![device.clone(), Device { name: "mpt1".into(), ..device }],
        connections: vec![office, branch],
    }
}
