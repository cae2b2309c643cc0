//! Section 7 of `docs/protocol.md`, against a daemon: an attacker off the path who knows the number that is due blacks out 87 packets per second for
//! eight seconds with 700 packets, and no longer.

use std::collections::BTreeSet;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::hosts::{Host, Line, Pair};
use crate::kit::{Program, alone};

/// Packets per second of the correct peer.
const RATE: u32 = 87;
/// max_delay + max(1 s, 3 max_delay), at the default of 300 ms.
const HEALING: Duration = Duration::from_millis(1300);
/// What a busy machine may add to that.
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

#[test]
fn seven_hundred_packets_black_out_a_stream_for_eight_seconds_and_no_longer() {
    let _alone = alone();
    let pair = Pair::new(&[Line::bridged()]);
    let outside = Host::new("x");
    outside.cable("line1", &["10.71.1.9/24"], (pair.middle(), "x1", &[]));
    pair.middle().ip("link set x1 master bridge1");
    let [a, _b] = pair.start(&pair.configs());
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
        let first: u64 = a.packets_sent("tunnel").iter().sum();
        let config = json!({
            "from": "10.71.1.1:4754", "to": "10.71.1.2:4754", "networks": ["10.72.0.1", "10.72.0.2"],
            "first": first, "count": 692, "more": 8,
        });
        let begun = Instant::now();
        Program::start(&outside, "blackout.py", &config).finish();
        let ended = Instant::now();
        thread::sleep(HEALING + LATE + Duration::from_secs(1));
        stop.store(true, Ordering::Relaxed);
        (sending.join().unwrap(), receiving.join().unwrap(), begun..ended)
    });
    let lost: Vec<Instant> = (0..)
        .zip(&sent)
        .filter(|(number, _)| !arrived.contains(number))
        .map(|(_, at)| *at)
        .collect();
    println!("{} of {} lost by 700 forged packets", lost.len(), sent.len());
    assert!(lost.len() <= 700, "{} genuine packets lost by 700 forged ones", lost.len());
    // What the document states is so: the attack is a real one.
    assert!(lost.len() >= 500, "only {} lost", lost.len());
    assert!(lost[0] >= forged.start, "lost before the attack");
    let last = *lost.last().unwrap();
    assert!(
        last < forged.end + HEALING + LATE,
        "lost {:?} after the last forged packet",
        last - forged.end
    );
}
