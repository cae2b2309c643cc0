//! An authenticated client sends requests as fast as it can, beside another one that is at work: against the same number of frames that ask for
//! nothing, the other one loses less than 10 % of its throughput and 1 % of its packets. Answers to an honest client and at the control socket come less
//! than 100 ms later, and the daemon grows by less than 16 MB.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mpt_api::session::{Create, PathSpec, SessionReply, SessionRequest, SessionResult};
use mpt_wire::control::{Economy, Kind, Message, PathEntry, PathState, Writer};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use crate::abuser::Abuser;
use crate::bare_client::BareClient;
use crate::concentrator::{admit, client, created, server};
use crate::hosts::{Daemon, Host, Identity, Line, PATIENCE, Pair, Pulse, wait_for};

/// Rate of the victim's line, in Mbit/s.
const RATE: u32 = 200;
/// Frames of the attacker per millisecond, at most.
const BURST: u32 = 10;
/// Duration of each load, each time.
const ROUND: Duration = Duration::from_secs(3);
/// Number of alternations of the loads.
const ROUNDS: usize = 3;
/// Most comparisons until one is as it has to be: other work of the machine meets one of the loads only by chance.
const ATTEMPTS: usize = 3;
/// Different frames of a load, made beforehand: so both loads cost the attacker the same.
const PREPARED: u64 = 4096;
/// Sessions of the attacker.
const SESSIONS: usize = 4;
/// Destination of the victim's stream.
const STREAM: &str = "10.72.0.2:5001";

/// The frames that the attacker sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    /// Frames that ask for nothing.
    Harmless,
    /// Requests of every kind, tables and probes.
    Abuse,
}

/// The traffic of the victim.
#[derive(Debug, Default)]
struct Share {
    bytes: u64,
    sent: usize,
    lost: usize,
    /// Times until the control socket answered.
    socket: Vec<Duration>,
    /// Times until a client's request over its session was answered.
    session: Vec<Duration>,
}

/// Returns the time in which nine of ten answers came.
fn latency(times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() * 9 / 10]
}

impl Share {
    fn latencies(&self) -> [Duration; 2] {
        [&self.socket, &self.session].map(|times| latency(times))
    }

    fn loss(&self) -> f64 {
        self.lost as f64 / self.sent as f64
    }
}

#[test]
fn one_client_does_not_starve_the_others() {
    let pair = Pair::new(&[Line::shaped(RATE), Line::default()]);
    let [at_server, at_victim, at_attacker, at_asker] = [(); 4].map(|()| Identity::new());
    let mut config = server(&at_server, &["10.71.1.2", "10.71.2.2"]);
    admit(&mut config, "victim", &at_victim);
    admit(&mut config, "attacker", &at_attacker);
    admit(&mut config, "asker", &at_asker);
    config.client("attacker").set("max_connections", 2);
    let mut victim = client(&at_victim, &at_server);
    victim.lay_path("office", 1, 1);
    let b = Daemon::start(&pair.b, &config);
    let a = Daemon::start(&pair.a, &victim);
    a.wait_until_answering();
    created(&b, "victim.office");
    created(&a, "office");

    let attackers = (0..SESSIONS).map(|number| {
        let local = format!("10.71.2.1:{}", 6000 + number);
        let session = (Kind::Connection, format!("s{number}"));
        let server = ("10.71.2.2:4754", &at_server);
        Abuser::connect(&pair.a, (&local, &at_attacker), server, (session.0, &session.1))
    });
    let mut attackers: Vec<Abuser> = attackers.collect();
    let mut asker = BareClient::new(&pair, 2, &at_asker, &at_server, "asked");
    asker.establish();
    let path = PathSpec { id: 1, name: "line2".into(), ..PathSpec::default() };
    let paths = vec![path];
    let create = Create { name: "asked".into(), paths, ..Create::default() };
    let created = asker.ask(&SessionRequest::Create(create));
    assert!(matches!(created, SessionReply::Ok(SessionResult::Created(_))), "{created:?}");
    let mut last = Ok(());
    for _ in 0..ATTEMPTS {
        last = compare(&pair, &b, &mut attackers, &mut asker);
        if last.is_ok() {
            break;
        }
    }
    last.unwrap();
    // The daemon counts the requests that it refused.
    let refused = |counter: &str| b.show().daemon.control.get(counter).copied().unwrap_or(0);
    assert!(refused("requests_rate_limited") > 0);
    let lines = b.log().lines().count();
    assert!(lines < 1000, "{lines} lines in the log");
}

/// Compares the victim's traffic beside each load; returns an error if abuse cost it more than it may.
fn compare(
    pair: &Pair,
    b: &Daemon,
    attackers: &mut [Abuser],
    asker: &mut BareClient,
) -> Result<(), String> {
    let before = memory(b);
    let (mut base, mut under) = (Share::default(), Share::default());
    let (mut frames, mut most) = ([0; 2], 0);
    for _ in 0..ROUNDS {
        for (load, share) in [(Load::Harmless, &mut base), (Load::Abuse, &mut under)] {
            frames[load as usize] += round(pair, b, (attackers, load), asker, share, &mut most);
        }
    }
    let figures = format!(
        "frames {frames:?}; Mbit/s {:.1} and {:.1}; loss {:.4} and {:.4}; answers at the control socket and over a session {:?} and {:?}; {before} to {most} kB",
        rate(&base),
        rate(&under),
        base.loss(),
        under.loss(),
        base.latencies(),
        under.latencies(),
    );
    eprintln!("{figures}");
    let is_later = |(base, under): (Duration, Duration)| under >= base + Duration::from_millis(100);
    let wrong = if frames[1] < 10_000 {
        "there was no abuse"
    } else if most >= before + 16 * 1024 {
        "memory"
    } else if base.latencies().into_iter().zip(under.latencies()).any(is_later) {
        "latency"
    } else if under.loss() >= base.loss() + 0.01 {
        "packets"
    } else if under.bytes * 10 <= base.bytes * 9 {
        "throughput"
    } else {
        return Ok(());
    };
    Err(format!("{wrong}: {figures}"))
}

/// Lets the attacker send one load while the victim works.
fn round(
    pair: &Pair,
    b: &Daemon,
    (attackers, load): (&mut [Abuser], Load),
    asker: &mut BareClient,
    share: &mut Share,
    most: &mut u64,
) -> u64 {
    let stop = AtomicBool::new(false);
    let received = AtomicU64::new(0);
    let pulse = Pulse::start((&pair.b, "10.72.0.2:5000"), (&pair.a, &inner(pair)));
    let frames = thread::scope(|scope| {
        let stream = scope.spawn(|| stream(&pair.a, &pair.b, &stop, &received));
        let attack = scope.spawn(|| attack(attackers, load, &stop));
        // The stream finds its rate first.
        let warm = Instant::now();
        wait_for("the stream has begun", || {
            (received.load(Ordering::Relaxed) > 1_000_000).then_some(())
        });
        thread::sleep(Duration::from_millis(500).saturating_sub(warm.elapsed()));
        let (start, first) = (Instant::now(), received.load(Ordering::Relaxed));
        let answers = scope.spawn(|| answers(asker, &stop));
        while start.elapsed() < ROUND {
            let asked = Instant::now();
            b.show();
            share.socket.push(asked.elapsed());
            *most = (*most).max(memory(b));
            thread::sleep(Duration::from_millis(50));
        }
        let bytes = received.load(Ordering::Relaxed) - first;
        share.bytes += bytes * ROUND.as_nanos() as u64 / start.elapsed().as_nanos() as u64;
        stop.store(true, Ordering::Relaxed);
        stream.join().unwrap();
        share.session.extend(answers.join().unwrap());
        attack.join().unwrap()
    });
    let beats = pulse.end();
    share.sent += beats.sent.len();
    share.lost += beats.lost(beats.sent[0], *beats.sent.last().unwrap()).len();
    frames
}

/// Asks the server for something small again and again; gives the times until it answered.
fn answers(asker: &mut BareClient, stop: &AtomicBool) -> Vec<Duration> {
    let mut times = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let asked = Instant::now();
        // There is no such test, which is an answer as well.
        let answer = asker.ask(&SessionRequest::MeasureResult { test: 9 });
        assert!(matches!(answer, SessionReply::Error(_)), "{answer:?}");
        times.push(asked.elapsed());
        thread::sleep(Duration::from_millis(50));
    }
    times
}

/// The victim's inner address, with a port.
fn inner(pair: &Pair) -> String {
    let addresses = pair.a.ip("-4 -o address show dev mpt0");
    let mut words = addresses.split_whitespace().skip_while(|word| *word != "inet");
    let address = words.nth(1).expect("an address").split('/').next().unwrap();
    format!("{address}:5000")
}

fn rate(share: &Share) -> f64 {
    share.bytes as f64 * 8e-6 / (ROUND.as_secs_f64() * ROUNDS as f64)
}

/// TCP from the victim to the server, as fast as it goes.
fn stream(from: &Host, to: &Host, stop: &AtomicBool, received: &AtomicU64) {
    let address: SocketAddr = STREAM.parse().unwrap();
    let listener = to.run(|| TcpListener::bind(address)).unwrap();
    let client = from.run(|| TcpStream::connect_timeout(&address, PATIENCE)).unwrap();
    let server = listener.accept().unwrap().0;
    server.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    client.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let chunk = vec![7; 64 * 1024];
            while !stop.load(Ordering::Relaxed) {
                let _ = (&client).write(&chunk);
            }
            let _ = client.shutdown(std::net::Shutdown::Both);
        });
        let mut buffer = vec![0; 256 * 1024];
        while let Ok(length @ 1..) = (&server).read(&mut buffer) {
            received.fetch_add(length as u64, Ordering::Relaxed);
        }
    });
}

/// Sends frames, pinned to one processor and no more than so many at a time; gives how many.
fn attack(attackers: &mut [Abuser], load: Load, stop: &AtomicBool) -> u64 {
    let mut one = CpuSet::new();
    one.set(0).unwrap();
    sched_setaffinity(Pid::from_raw(0), &one).unwrap();
    let prepared = |number| {
        let mut payload = match load {
            Load::Harmless => Vec::new(),
            Load::Abuse => abuse(number),
        };
        Writer::new(&mut payload, 700).pad_to(600).unwrap();
        payload
    };
    let mut payloads: Vec<Vec<u8>> = (0..PREPARED).map(prepared).collect();
    let (mut frames, start) = (0, Instant::now());
    let mut id = fastrand::u32(..);
    let count = attackers.len() as u64;
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..BURST {
            id = id.wrapping_add(9);
            let attacker = &mut attackers[(frames % count) as usize];
            let payload = &mut payloads[(frames / count % PREPARED) as usize];
            if payload[0] == REQUEST {
                payload[3..7].copy_from_slice(&id.to_be_bytes());
            }
            let datagram = attacker.sealed(payload);
            attacker.send(&datagram);
            frames += 1;
        }
        let due = start + Duration::from_millis(frames / u64::from(BURST));
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    frames
}

/// Type of the message that asks; its identifier follows the length.
const REQUEST: u8 = 6;

/// Messages of every kind that make work.
fn abuse(number: u64) -> Vec<u8> {
    let mut payload = Vec::new();
    let mut writer = Writer::new(&mut payload, 600);
    let path = r#""paths":[{"id":1,"name":"x"},{"id":2,"name":"y"}]"#;
    let body = match number % 8 {
        0 => format!(r#"{{"create":{{"name":"c{}",{path}}}}}"#, number / 8 % 4),
        1 => r#"{"delete":{}}"#.to_owned(),
        2 => format!(r#"{{"path_add":{{"id":{},"name":"p{}"}}}}"#, 3 + number % 9, number % 9),
        3 => format!(r#"{{"path_delete":{{"id":{}}}}}"#, 3 + number % 9),
        4 => r#"{"measure_start":{"test":1,"path":1,"sender":"asked","duration_ms":10000}}"#.into(),
        5 => r#"{"measure_result":{"test":1}}"#.to_owned(),
        6 => "x".repeat(500),
        _ => {
            let state = PathState((number / 8 % 2) as u8);
            let (wish, economy) = ((number % 99) as u16, Economy::NONE);
            let entry = PathEntry { path_id: 1, weight: 1, wish, state, economy };
            let generation = (number / 8) as u32;
            writer.push_paths(generation, 7, 0, [entry].into_iter()).unwrap();
            writer.push(&Message::Probe { token: number }).unwrap();
            return payload;
        }
    };
    writer.push(&Message::Request { id: 0, offset: 0, body: body.as_bytes() }).unwrap();
    payload
}

/// Memory of a daemon that belongs to it alone, in kB.
fn memory(daemon: &Daemon) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
