//! One TCP connection with `mapping = "adaptive"`, and nothing else but addresses and keys, gets more over two very different paths than packets in
//! equal shares could carry, and a ping beside it waits little. BBR is slower than CUBIC here, but no slower than that.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use mpt_api::Mapping;
use nix::sys::socket::{setsockopt, sockopt::TcpCongestion};

use crate::hosts::{Host, Line, PATIENCE, Pair, wait_for};
use crate::support::authenticate;

/// Rates of the two lines, in Mbit/s.
const RATES: [u32; 2] = [50, 12];
/// Rate that equal shares leave for TCP, in Mbit/s: twice the slower line, without the headers of the tunnel and the lines.
const EQUAL_SHARES: f64 = 22.4;
/// Length of the queue in front of a line, in milliseconds.
const QUEUE: u32 = 100;
/// Duration of the flow.
const DURATION: Duration = Duration::from_secs(9);

#[test]
fn and_keeps_their_queues_short() {
    check("cubic");
}

/// The window of BBR is twice what its least round-trip time needs, which is 0.4 ms here. The receiver took the queue of a flow's first 0.1 s for
/// jitter, began to hold the flow for 50 ms and more, and BBR got 1 to 5 Mbit/s.
#[test]
fn and_holds_no_flow_of_bbr() {
    check("bbr");
}

/// A connection with this congestion control.
fn check(control: &str) {
    let line = Line { bridged: true, ..Line::plain() };
    let pair = Pair::new(&[line; RATES.len()]);
    for (number, rate) in (1..).zip(RATES) {
        for port in ["a", "b"] {
            // Beyond the hosts, which do not see that their packets wait there.
            let qdisc = format!("tbf rate {rate}mbit burst 4kb latency {QUEUE}ms");
            pair.middle().tc(&format!("qdisc add dev {port}{number} root {qdisc}"));
        }
    }
    let mut configs = pair.configs();
    let _identities = authenticate(&mut configs);
    for config in &mut configs {
        config.connection("tunnel").set("mapping", "adaptive");
    }
    let [a, b] = pair.start(&configs);
    assert_eq!(a.connection("tunnel").mapping, Mapping::Adaptive);

    let (rate, times) = thread::scope(|scope| {
        let pings = scope.spawn(|| {
            thread::sleep(Duration::from_secs(3));
            pings(&pair.a, "10.72.0.2")
        });
        let address = "10.72.0.2:5001";
        (goodput(&pair.a, &pair.b, address, control), pings.join().unwrap())
    });
    let median = times[times.len() / 2];
    eprintln!("{rate:.1} Mbit/s, ping {median:.0} ms");
    eprintln!("{:#?}", a.connection("tunnel"));
    assert!(rate > EQUAL_SHARES, "{rate:.1} Mbit/s");
    // The lines themselves have no delay.
    assert!(median <= 60.0, "{median} ms, of {times:?}");
    wait_for("nothing waits any more", || {
        let waiting = [&a, &b].map(|daemon| daemon.connection("tunnel").reorder.waiting);
        (waiting == [0, 0]).then_some(())
    });
}

/// Mbit/s that a TCP connection with this congestion control carries in its seconds 3 to 8.
fn goodput(from: &Host, to: &Host, address: &str, control: &str) -> f64 {
    let address: SocketAddr = address.parse().unwrap();
    let listener = to.run(|| TcpListener::bind(address)).unwrap();
    let mut client = from.run(|| TcpStream::connect_timeout(&address, PATIENCE)).unwrap();
    let set = setsockopt(&client, TcpCongestion, &control.into());
    set.unwrap_or_else(|error| panic!("the kernel has no {control}: {error}"));
    let mut server = listener.accept().unwrap().0;
    let start = Instant::now();
    thread::scope(|scope| {
        scope.spawn(move || {
            let data = vec![7; 1 << 16];
            while start.elapsed() < DURATION {
                match client.write_all(&data) {
                    Ok(()) => {}
                    // The receiver has seen enough.
                    Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
                    Err(error) => panic!("{error}"),
                }
            }
        });
        let mut buffer = vec![0; 1 << 16];
        let (mut counted, mut seconds) = (0, [0; 16]);
        loop {
            let read = server.read(&mut buffer).unwrap();
            if read == 0 {
                break;
            }
            let second = start.elapsed().as_secs();
            seconds[second.min(15) as usize] += read;
            if (3..8).contains(&second) {
                counted += read;
            }
        }
        eprintln!("Mbit/s by second: {:?}", seconds.map(|bytes| bytes * 8 / 1_000_000));
        counted as f64 * 8.0 / 5.0 / 1e6
    })
}

/// Round-trip times in milliseconds over five seconds, in their order of length.
fn pings(from: &Host, to: &str) -> Vec<f64> {
    let told = from.program("ping", &format!("-n -i 0.05 -c 100 -W 2 {to}"));
    let times = told.lines().filter_map(|line| line.split_once("time=")?.1.split(' ').next());
    let mut times: Vec<f64> = times.map(|time| time.parse().unwrap()).collect();
    assert!(times.len() > 90, "{told}");
    times.sort_by(f64::total_cmp);
    times
}
