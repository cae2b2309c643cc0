//! From the loss of a carrier to the moment the data thread sends nothing there any more.

use std::io::{BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use mpt_api::{Command, EventKind, PathState, Request, Response, ResponseBody};

use crate::hosts::{Config, Daemon, Host, PATIENCE, wait_for};

/// One at a time: the kernel has one lock for the network configuration of all namespaces.
static ALONE: Mutex<()> = Mutex::new(());
/// Times are taken on a machine that others use: the median holds, whatever single ones do.
const MEDIAN: Duration = Duration::from_millis(10);
/// Between two losses.
const REST: Duration = Duration::from_millis(400);

/// Gives path, state and moment of every change that monitors are told, which is after the data thread has made it.
fn states(daemon: &Daemon) -> mpsc::Receiver<(String, PathState, Instant)> {
    let mut stream = UnixStream::connect(daemon.socket()).unwrap();
    stream.write_all(mpt_api::to_line(&Request::new(Command::Monitor)).as_bytes()).unwrap();
    let (sender, states) = mpsc::channel();
    let mut reader = BufReader::new(stream);
    let mut next = move || {
        let line = mpt_api::read_line(&mut reader, mpt_api::MAX_RESPONSE).ok()??;
        Some(serde_json::from_slice::<Response>(&line).unwrap().body)
    };
    // "Monitoring": nothing is missed from here.
    next().unwrap();
    thread::spawn(move || {
        while let Some(body) = next() {
            if let ResponseBody::Event(event) = body
                && let EventKind::PathChanged { path, state, .. } = event.kind
                && sender.send((path, state, Instant::now())).is_err()
            {
                break;
            }
        }
    });
    states
}

fn wait_for_change(
    states: &mpsc::Receiver<(String, PathState, Instant)>,
    path: &str,
    state: PathState,
) -> Instant {
    loop {
        let (changed, now, at) = states.recv_timeout(PATIENCE).expect("the path changes");
        if changed == path && now == state {
            return at;
        }
    }
}

/// Sets the far end of a line down and up again and again; gives the sorted times until the path was down.
fn measure(far: &Host, line: &str, daemon: &Daemon, path: &str, rounds: usize) -> Vec<Duration> {
    let states = states(daemon);
    let mut times = Vec::new();
    for _ in 0..rounds {
        let start = Instant::now();
        far.set_link(line, false);
        times.push(wait_for_change(&states, path, PathState::Down) - start);
        far.set_link(line, true);
        wait_for_change(&states, path, PathState::Up);
        // The daemon looks at all routes once more, and the kernel has one lock for all of this: time is taken in a network that has settled.
        thread::sleep(REST);
    }
    times.sort();
    times
}

/// Two hosts in which the ends of one cable have different indices: a carrier whose end looks like a real device (its own index is that of the far
/// end) the kernel reports at most once a second.
fn hosts() -> (Host, Host) {
    let hosts = (Host::new("a"), Host::new("b"));
    hosts.1.ip("tuntap add other mode tun");
    hosts
}

#[test]
fn of_two_paths() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (a, b) = hosts();
    let mut config = Config::default();
    config.device("mpt0").set("addresses", vec!["10.72.0.1/24"]);
    config.connection("tunnel").set("networks", vec!["10.72.0.2"]);
    for line in 1..=2 {
        let name = format!("line{line}");
        let addresses = [1, 2].map(|end| format!("10.71.{line}.{end}/24"));
        a.cable(&name, &[&addresses[0]], (&b, &name, &[&addresses[1]]));
        config.lay_path("tunnel", line, 1);
    }
    let mut daemon = Daemon::start(&a, &config);
    daemon.wait_until_up();
    let times = measure(&b, "line1", &daemon, "line1", 20);
    eprintln!("median {:?}, worst {:?}", times[10], times[19]);
    assert!(times[10] < MEDIAN, "{times:?}");
}

#[test]
fn among_1000_interfaces_and_paths() {
    const LINES: usize = 1000;
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (a, b) = hosts();
    // One program call for each step: a thousand cables by netlink calls of their own would take minutes.
    let batch = |host: &Host, commands: &mut dyn Iterator<Item = String>| {
        let mut ip = host.namespace.command("ip").unwrap();
        let mut ip = ip.args(["-batch", "-"]).stdin(std::process::Stdio::piped()).spawn().unwrap();
        let text: String = commands.map(|it| it + "\n").collect();
        ip.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(ip.wait().unwrap().success());
    };
    let far = b.namespace.name().to_owned();
    batch(
        &a,
        &mut (0..LINES).map(|n| format!("link add l{n} type veth peer name l{n} netns {far}")),
    );
    for (host, end) in [(&a, 1), (&b, 2)] {
        batch(
            host,
            &mut (0..LINES)
                .map(|n| format!("addr add 10.{}.{}.{end}/24 dev l{n}", 100 + n / 250, n % 250)),
        );
        batch(host, &mut (0..LINES).map(|n| format!("link set l{n} up")));
    }
    let mut config = Config::default();
    config.device("mpt0").set("addresses", vec!["10.72.0.1/24"]);
    // 100 connections of 10 paths.
    for n in 0..LINES {
        let name = format!("c{}", n / 10);
        let (high, low) = (100 + n / 250, n % 250);
        let network = format!("10.73.{}.0/24", n / 10);
        config
            .connection(&name)
            .set("networks", vec![network])
            .set("key", (n / 10) as i64)
            .set("window", 64);
        config
            .path(&name, &format!("p{n}"))
            .set("local", format!("10.{high}.{low}.1"))
            .set("remote", format!("10.{high}.{low}.2"));
    }
    let daemon = Daemon::start(&a, &config);
    wait_for("mptd listens", || UnixStream::connect(daemon.socket()).ok());
    // Longer than other tests may take: everything is a thousand times.
    let start = Instant::now();
    while daemon
        .show()
        .connections
        .iter()
        .flat_map(|it| &it.paths)
        .any(|it| it.state != PathState::Up)
    {
        assert!(start.elapsed() < 6 * PATIENCE, "not every path is up");
        thread::sleep(Duration::from_millis(200));
    }
    eprintln!("1000 paths up after {:?}", start.elapsed());
    let times = measure(&b, "l777", &daemon, "p777", 20);
    eprintln!("median {:?}, worst {:?}", times[10], times[19]);
    assert!(times[10] < MEDIAN, "{times:?}");

    // And all at once: the last path is down soon after the last carrier.
    let states = states(&daemon);
    let start = Instant::now();
    batch(&b, &mut (0..LINES).map(|n| format!("link set l{n} down")));
    let set = start.elapsed();
    let mut down = 0;
    while down < LINES {
        let (_, state, _) = states.recv_timeout(PATIENCE).expect("every path goes down");
        down += usize::from(state == PathState::Down);
    }
    eprintln!("all 1000 down: carriers {set:?}, paths {:?}", start.elapsed());
}
