//! The JSON of a snapshot does not change by accident: programs rely on it.

use std::collections::BTreeMap;

use mpt_api::snapshot::{
    Cap, Connection, ConnectionState, Daemon, DataState, Delays, Device, Disagreement, Liveness,
    MtuSource, Path, PathState, Reorder, Session, SessionRole, SessionState, Traffic,
};
use mpt_api::{
    AtCap, CapCounts, CapPeriod, Direction, Ecn, Equalize, Estimate, Late, Mapping, Offload, Queue,
    Repairs, Reply, Response, Seal, Snapshot,
};

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
        remote: Some("[2001:db8::2]:4754".parse().unwrap()),
        remote_name: Some("vpn.example.org".into()),
        remote_learned: false,
        source_ports: vec![50_000],
        heard_from: Some("[2001:db8::2]:51000".parse().unwrap()),
        weight: 3,
        weight_in: 1,
        lead_us: 31_000,
        tier: 0,
        max_rate: Some(20_000_000),
        min_rate: Some(5_000_000),
        metered: true,
        last_resort: true,
        cap: Some(Cap {
            limit: 50_000_000_000,
            used: 41_000_000_000,
            sent: 9_000_000_000,
            received: 32_000_000_000,
            period: CapPeriod::Month,
            counts: CapCounts::Both,
            at_cap: AtCap::Backup,
            resets_ms: 1_793_491_200_000,
            uncertain: false,
            saved: true,
        }),
        mtu: 1500,
        mtu_source: MtuSource::Reported,
        mtu_expires_ms: Some(540_000),
        ipv6: true,
        sent: traffic,
        received: Traffic::default(),
        drops: BTreeMap::new(),
        liveness: Some(Liveness {
            id: Some(1),
            hears_us: true,
            we_hear: true,
            rtt_us: Some(20_000),
            rtt_variation_us: Some(1_500),
            rtt_minimum_us: Some(19_000),
            dead_after_us: 300_000,
            flaps: 2,
            since_ms: 7_000,
            peer_sent: Some(9),
            peer_received: Some(10),
        }),
        estimate: Some(Estimate {
            rate: 47_000_000,
            bottleneck_seen: true,
            delivered: 46_000_000,
            queue_us: 5_000,
            jitter_us: 0,
            rtt_us: 19_000,
            lost_per_million: 500,
            cuts: 3,
            idle_ms: Some(40),
        }),
        repairs: Some(Repairs {
            lost: 9,
            repaired: 7,
            late: 1,
            refused: 1,
            sent: 8,
            sent_bytes: 11_000,
        }),
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
            equalize: Equalize::Tcp,
            waiting: 0,
            in_order: 9,
            after_gap: 1,
            late: 0,
            ahead: 4,
            early: 6,
            duplicate: 0,
            overflow: 0,
            stray: 0,
            equalized: 5,
            delays: Delays { p50_us: 10, p99_us: 20, max_us: 30 },
        },
        drops: BTreeMap::from([("foreign_source".to_owned(), 1)]),
        remarks: BTreeMap::from([("path_down".to_owned(), 3)]),
        session: Some(Session {
            peer: "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=".into(),
            client: None,
            state: SessionState::Established,
            role: SessionRole::Initiator,
            established_s: Some(3_600),
            rekeyed_s: Some(17),
            handshakes: 30,
            seal: Some(Seal::On),
            data: Some(DataState::Aes256Gcm),
            keepalive_us: 100_000,
            idle_keepalive_us: 15_000_000,
        }),
        disagreement: Some(Disagreement::OtherKeys),
        compat: None,
        queue: Some(Queue { bytes: 90_000, packets: 60, flows: 2, ..Queue::default() }),
        short_flows: None,
        paths: vec![path],
    };
    let snapshot = Snapshot {
        daemon: Daemon {
            program: "0.1.0".into(),
            pid: 17,
            uptime_s: 3,
            time_ms: 1_790_000_000_000,
            buffer_bytes: 0,
            buffer_limit: 64 << 20,
            drops: BTreeMap::from([("wrong_key".to_owned(), 2)]),
            public_key: Some("HIgo9xNzJMWLKASShiTqIybxZ0U3wGLiUeJ1PKf8ykw=".into()),
            control: BTreeMap::from([("handshakes".to_owned(), 30)]),
        },
        devices: vec![Device {
            name: "mpt0".into(),
            addresses: vec!["10.9.0.1/30".parse().unwrap()],
            mtu: 1440,
            offloads: vec![Offload::Tso],
            drops: BTreeMap::new(),
        }],
        connections: vec![connection],
    };
    let response = Response::result(Reply::Snapshot(Box::new(snapshot.clone())));
    let line = mpt_api::to_line(&response);
    assert_eq!(serde_json::from_str::<Response>(&line).unwrap(), response);
    insta::assert_snapshot!(serde_json::to_string_pretty(&snapshot).unwrap(), @r#"
    {
      "daemon": {
        "program": "0.1.0",
        "pid": 17,
        "uptime_s": 3,
        "time_ms": 1790000000000,
        "buffer_bytes": 0,
        "buffer_limit": 67108864,
        "drops": {
          "wrong_key": 2
        },
        "public_key": "HIgo9xNzJMWLKASShiTqIybxZ0U3wGLiUeJ1PKf8ykw=",
        "control": {
          "handshakes": 30
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
            "tso"
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
          "queue": {
            "bytes": 90000,
            "packets": 60,
            "flows": 2,
            "left": 0,
            "marked": 0,
            "dropped": 0,
            "overflowed": 0,
            "superseded": 0
          },
          "reorder": {
            "window": 16384,
            "max_delay_us": 300000,
            "early_release": true,
            "late_policy": "deliver",
            "equalize": "tcp",
            "waiting": 0,
            "in_order": 9,
            "after_gap": 1,
            "late": 0,
            "ahead": 4,
            "early": 6,
            "duplicate": 0,
            "overflow": 0,
            "stray": 0,
            "equalized": 5,
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
          "session": {
            "peer": "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=",
            "client": null,
            "state": "established",
            "role": "initiator",
            "established_s": 3600,
            "rekeyed_s": 17,
            "handshakes": 30,
            "seal": "on",
            "data": "aes256_gcm",
            "keepalive_us": 100000,
            "idle_keepalive_us": 15000000
          },
          "disagreement": "other_keys",
          "paths": [
            {
              "name": "dsl",
              "state": "up",
              "down": null,
              "local": "[2001:db8::1]:4754",
              "interface": null,
              "remote": "[2001:db8::2]:4754",
              "remote_name": "vpn.example.org",
              "remote_learned": false,
              "source_ports": [
                50000
              ],
              "heard_from": "[2001:db8::2]:51000",
              "weight": 3,
              "weight_in": 1,
              "lead_us": 31000,
              "tier": 0,
              "max_rate": 20000000,
              "min_rate": 5000000,
              "metered": true,
              "last_resort": true,
              "cap": {
                "limit": 50000000000,
                "used": 41000000000,
                "sent": 9000000000,
                "received": 32000000000,
                "period": "month",
                "counts": "both",
                "at_cap": "backup",
                "resets_ms": 1793491200000,
                "uncertain": false,
                "saved": true
              },
              "mtu": 1500,
              "mtu_source": "reported",
              "mtu_expires_ms": 540000,
              "ipv6": true,
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
              "drops": {},
              "liveness": {
                "id": 1,
                "hears_us": true,
                "we_hear": true,
                "rtt_us": 20000,
                "rtt_variation_us": 1500,
                "rtt_minimum_us": 19000,
                "dead_after_us": 300000,
                "flaps": 2,
                "since_ms": 7000,
                "peer_sent": 9,
                "peer_received": 10
              },
              "estimate": {
                "rate": 47000000,
                "bottleneck_seen": true,
                "delivered": 46000000,
                "queue_us": 5000,
                "jitter_us": 0,
                "rtt_us": 19000,
                "lost_per_million": 500,
                "cuts": 3,
                "idle_ms": 40
              },
              "repairs": {
                "lost": 9,
                "repaired": 7,
                "late": 1,
                "refused": 1,
                "sent": 8,
                "sent_bytes": 11000
              }
            }
          ]
        }
      ]
    }
    "#);
}
