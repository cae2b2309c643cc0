//! Section 7 of `docs/protocol.md`, against a daemon: an attacker off the path who knows the number that is due blacks out 87 packets per second for
//! eight seconds with 700 packets, and no longer.

use std::collections::BTreeSet;
use std::net::UdpSocket;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::hosts::traffic::deliver;
use crate::hosts::{Capture, Daemon, Host, Identity, Line, Pair};
use crate::kit::{Program, without_floods};

/// Packets per second of the correct peer.
const RATE: u32 = 87;
/// max_delay + max(1 s, 3 max_delay), at the default of 300 ms.
const HEALING: Duration = Duration::from_millis(1300);
/// Time that a busy machine may add to that.
const LATE: Duration = Duration::from_secs(1);

/// Sends numbered datagrams until it is stopped; gives back when each was sent.
fn send(socket: &UdpSocket, stop: &AtomicBool) -> Vec<Instant> {
    let (start, mut sent) = (Instant::now(), Vec::new());
    while !stop.load(Ordering::Relaxed) {
        let number = sent.len() as u32;
        if let Some(early) =
            (start + Duration::from_secs(1) * number / RATE).checked_duration_since(Instant::now())
        {
            thread::sleep(early);
        }
        socket.send_to(&number.to_be_bytes(), "10.72.0.2:5000").unwrap();
        sent.push(Instant::now());
    }
    sent
}

/// The fate of a stream from `a` to `b` beside an attack.
struct Outcome {
    sent: usize,
    /// The times at which the packets that never arrived were sent.
    lost: Vec<Instant>,
    /// The time of the attack.
    forged: Range<Instant>,
}

/// Sends a stream, and has somebody on the attacker's host do something beside it, with the number that is due.
fn stream_beside(pair: &Pair, a: &Daemon, attack: impl FnOnce(u64)) -> Outcome {
    let sockets = [pair.a.udp("10.72.0.1:5000"), pair.b.udp("10.72.0.2:5000")];
    sockets[1].set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let stop = AtomicBool::new(false);
    let (sent, arrived, forged) = thread::scope(|scope| {
        let sending = scope.spawn(|| send(&sockets[0], &stop));
        let receiving = scope.spawn(|| {
            let (mut arrived, mut buffer) = (BTreeSet::new(), [0; 100]);
            loop {
                match sockets[1].recv(&mut buffer) {
                    Ok(4) => {
                        arrived.insert(u32::from_be_bytes(buffer[..4].try_into().unwrap()));
                    }
                    Ok(_) => {}
                    Err(_) if stop.load(Ordering::Relaxed) => return arrived,
                    Err(_) => {}
                }
            }
        });
        thread::sleep(Duration::from_secs(1));
        let first = a.packets_sent("tunnel").iter().sum();
        let begun = Instant::now();
        attack(first);
        let ended = Instant::now();
        thread::sleep(HEALING + LATE + Duration::from_secs(1));
        stop.store(true, Ordering::Relaxed);
        (sending.join().unwrap(), receiving.join().unwrap(), begun..ended)
    });
    let lost = (0..).zip(&sent).filter(|(number, _)| !arrived.contains(number));
    Outcome { sent: sent.len(), lost: lost.map(|(_, at)| *at).collect(), forged }
}

/// A line whose ends can be reached from an attacker's host.
fn bridged() -> (Pair, Host) {
    let pair = Pair::new(&[Line::bridged()]);
    let outside = Host::new("x");
    outside.cable("line1", &["10.71.1.9/24"], (pair.middle(), "x1", &[]));
    pair.middle().ip("link set x1 master bridge1");
    (pair, outside)
}

/// 692 packets under the numbers from `first` on at once, and 8 more one after the other; `more` is merged into what the attacker is told.
fn black_out(outside: &Host, first: u64, more: &Value) {
    let mut config = json!({
        "from": "10.71.1.1:4754", "to": "10.71.1.2:4754", "networks": ["10.72.0.1", "10.72.0.2"],
        "first": first, "count": 692, "more": 8,
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        config[key] = value.clone();
    }
    Program::start(outside, "blackout.py", &config).finish();
}

#[test]
fn seven_hundred_packets_black_out_a_stream_for_eight_seconds_and_no_longer() {
    let _quiet = without_floods();
    let (pair, outside) = bridged();
    let [a, _b] = pair.start(&pair.configs());
    let Outcome { sent, lost, forged } =
        stream_beside(&pair, &a, |first| black_out(&outside, first, &json!({})));
    println!("{} of {sent} lost by 700 forged packets", lost.len());
    assert!(lost.len() <= 700, "{} genuine packets lost by 700 forged ones", lost.len());
    // The attack has the effect that the document states.
    assert!(lost.len() >= 500, "only {} lost", lost.len());
    assert!(lost[0] >= forged.start, "lost before the attack");
    let last = *lost.last().unwrap();
    assert!(
        last < forged.end + HEALING + LATE,
        "lost {:?} after the last forged packet",
        last - forged.end
    );
}

/// The same attack where data is sealed: as plain packets, and as sealed ones by somebody who even knows the data index of the receiver.
#[test]
fn seven_hundred_packets_cost_nothing_where_data_is_sealed() {
    let _quiet = without_floods();
    let (pair, outside) = bridged();
    let mut configs = pair.configs();
    let identities = [Identity::new(), Identity::new()];
    for (end, config) in configs.iter_mut().enumerate() {
        config.daemon().set("private_key_file", identities[end].file());
        config.peer("tunnel").set("public_key", identities[1 - end].public());
    }
    let [a, b] = pair.start(&configs);
    deliver(&pair.a.udp("10.72.0.1:5001"), &pair.b.udp("10.72.0.2:5001"), 100);
    for (counters, is_plain) in
        [(&["not_sealed"][..], true), (&["sealed_unopened", "replayed"], false)]
    {
        let refused = || counters.iter().map(|it| b.drops("tunnel", it)).sum::<u64>();
        let (before, capture) = (refused(), Capture::start(&pair.a));
        let Outcome { sent, lost, .. } = stream_beside(&pair, &a, |first| {
            let sealed = capture.sent().into_iter().rfind(|it| !it.is_control());
            let index = sealed.and_then(|it| it.gre.key).expect("sealed data");
            let more = if is_plain { json!({}) } else { json!({ "index": index }) };
            black_out(&outside, first, &more);
        });
        assert_eq!(lost.len(), 0, "of {sent}, {counters:?}");
        assert_eq!(refused() - before, 700, "{counters:?}");
    }
}
