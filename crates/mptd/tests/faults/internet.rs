//! Hosts one of which reaches the Internet through the other, and traffic that looks for a way past the tunnel.

use std::io::Write as _;
use std::net::UdpSocket;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mpt_api::Command;

use crate::hosts::{Capture, Captured, Config, Host, Pair};

/// An address on the Internet, which only `b` reaches, and `a` through `b`.
pub(crate) const SERVER: [&str; 2] = ["203.0.113.9", "2001:db8:9::9"];

/// The time within which what somebody removed has to be there again.
pub(crate) const SOON: Duration = Duration::from_secs(1);

/// Time between two datagrams of a [`Flood`] by one version of IP.
const BEAT: Duration = Duration::from_micros(200);

/// Returns a [`Pair`] whose `b` is the way to the Internet, and the only way out of `a` are its lines.
pub(crate) fn hosts() -> (Pair, [Config; 2]) {
    let pair = Pair::with_lines(2);
    pair.b.add_address("lo", &format!("{}/32", SERVER[0]));
    pair.b.add_address("lo", &format!("{}/128", SERVER[1]));
    pair.b.add_address("lo", "10.70.0.2/32");
    for line in 1..=2 {
        pair.a.ip(&format!("route add default via 10.71.{line}.2 dev line{line} metric {line}"));
        pair.a.ip(&format!(
            "-6 route add default via fd00:71:{line}::2 dev line{line} metric {line}"
        ));
    }
    let mut configs = pair.configs();
    configs[0]
        .connection("tunnel")
        .set("networks", vec!["10.72.0.2", "fd00:72::2", "0.0.0.0/0", "::/0"]);
    // One path by its address and one by its interface, to an address behind the default route.
    for (line, other) in [(1, "local"), (2, "interface")] {
        let name = format!("line{line}");
        let path = configs[0].path("tunnel", &name).set("remote", "10.70.0.2");
        if other == "interface" {
            path.unset("local").set("interface", name.clone());
        }
        configs[1].path("tunnel", &name).set("local", "10.70.0.2");
    }
    for host in pair.hosts() {
        for key in ["all", "line1", "line2"] {
            host.sysctl(&format!("net/ipv4/conf/{key}/rp_filter"), "0");
        }
    }
    (pair, configs)
}

/// Returns the devices by which packets to the server would leave, by IPv4 and by IPv6; `None`: they have no way.
pub(crate) fn way_to_server(host: &Host) -> [Option<String>; 2] {
    SERVER.map(|address| {
        let mut ip = host.namespace.command("ip").unwrap();
        let output = ip.args(["route", "get", address]).output().unwrap();
        let route = String::from_utf8(output.stdout).unwrap();
        let (_, device) = route.split_once(" dev ").filter(|_| output.status.success())?;
        Some(device.split_whitespace().next()?.to_owned())
    })
}

/// Returns `device` for both versions of IP, to be compared with [`way_to_server`].
pub(crate) fn both(device: &str) -> [Option<String>; 2] {
    [Some(device.to_owned()), Some(device.to_owned())]
}

/// Datagrams to the server by both versions of IP, without a pause, and a capture of where they go.
pub(crate) struct Flood {
    stop: Arc<AtomicBool>,
    senders: Vec<JoinHandle<u64>>,
    capture: Capture,
    device_free: Vec<u32>,
}

impl Flood {
    /// Starts to send from `host`, whose lines are `line1` and `line2`.
    pub(crate) fn start(host: &Host) -> Self {
        let capture = Capture::start(host);
        let stop = Arc::new(AtomicBool::new(false));
        let senders = ["0.0.0.0:0", "[::]:0"].into_iter().zip(SERVER).map(|(from, to)| {
            let socket = host.run(|| UdpSocket::bind(from)).unwrap();
            let to = format!("{}:9", if to.contains(':') { format!("[{to}]") } else { to.into() });
            let stop = Arc::clone(&stop);
            thread::spawn(move || {
                let mut sent = 0;
                while !stop.load(Ordering::Relaxed) {
                    // Without a route the packet is not sent.
                    sent += u64::from(socket.send_to(b"secret", &to).is_ok());
                    thread::sleep(BEAT);
                }
                sent
            })
        });
        let senders = senders.collect();
        let device_free = ["line1", "line2"].map(|line| host.index(line)).to_vec();
        Self { stop, senders, capture, device_free }
    }

    /// Ends it. Panics if one of its packets left by a line. Returns how many were sent into the tunnel, by IPv4 and by IPv6.
    pub(crate) fn assert_nothing_in_clear(self) -> [u64; 2] {
        let (in_clear, sent) = self.end();
        assert_eq!(in_clear, [0, 0], "packets in clear by IPv4 and IPv6, of {sent:?}");
        sent
    }

    /// Ends it. Returns the packets that left by a line in clear and those that could be sent, by IPv4 and by IPv6.
    pub(crate) fn end(self) -> ([usize; 2], [u64; 2]) {
        self.stop.store(true, Ordering::Relaxed);
        let sent: Vec<u64> = self.senders.into_iter().map(|it| it.join().unwrap()).collect();
        let captured = self.capture.stop();
        let on_lines = |it: &&Captured| it.outgoing && self.device_free.contains(&it.index);
        let mut in_clear = [0; 2];
        for packet in captured.iter().filter(on_lines) {
            match packet.packet[0] >> 4 {
                4 if packet.packet[16..20] == [203, 0, 113, 9] => in_clear[0] += 1,
                6 if packet.packet[24..40] == SERVER_V6 => in_clear[1] += 1,
                _ => {}
            }
        }
        (in_clear, [sent[0], sent[1]])
    }
}

/// The IPv6 address of [`SERVER`] as it stands in packets.
const SERVER_V6: [u8; 16] = [0x20, 1, 0x0d, 0xb8, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9];

/// Returns the rules of a host as `ip` writes them for one version of IP (`-4`, `-6`), without those of the kernel.
pub(crate) fn rules(host: &Host, version: &str) -> Vec<String> {
    let shown = host.ip(&format!("{version} rule"));
    let of_kernel =
        |line: &&str| ["0:", "32766:", "32767:"].iter().any(|priority| line.starts_with(priority));
    shown.lines().filter(|line| !of_kernel(line)).map(str::to_owned).collect()
}

/// Returns the routes of the daemon as `ip` writes them for one version of IP, sorted.
pub(crate) fn daemon_routes(host: &Host, version: &str) -> Vec<String> {
    let shown = host.ip(&format!("{version} route show table all proto 109"));
    let mut lines: Vec<_> = shown.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// Returns the command of `ip` that removes a rule as `ip rule` shows it.
pub(crate) fn deletion(shown: &str) -> String {
    let (priority, rule) = shown.split_once(':').unwrap();
    let rule = rule.trim().replace(" [detached]", "").replace(" proto kernel", "");
    format!("rule del priority {priority} {rule}")
}

/// Runs commands of `ip` in one process, one right after the other, as a network manager does it.
pub(crate) fn batch(host: &Host, version: &str, commands: &[String]) {
    let mut ip = host.namespace.command("ip").unwrap();
    let mut ip = ip.args([version, "-force", "-batch", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    ip.stdin.take().unwrap().write_all(commands.join("\n").as_bytes()).unwrap();
    ip.wait().unwrap();
}

/// Waits until `there` is true; panics with `what` if a look that begins after [`SOON`] still finds that it is not. How long a look takes on a busy machine
/// is not the daemon's affair.
pub(crate) fn within_a_second(what: &str, mut there: impl FnMut() -> bool) {
    let start = Instant::now();
    loop {
        let begun = start.elapsed();
        if there() {
            return;
        }
        assert!(begun < SOON, "{what}: not within {SOON:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Opens what a crash has blocked. Returns what the command says.
pub(crate) fn unblock(host: &Host) -> String {
    let mut mptd = host.namespace.command(env!("CARGO_BIN_EXE_mptd")).unwrap();
    let output = mptd.arg("--unblock").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// No packet leaves in clear after a crash, though the next start fails.
pub(crate) fn a_start_after_a_crash_fails((pair, configs): (Pair, [Config; 2])) {
    let [mut a, _b] = pair.start(&configs);
    let flood = Flood::start(&pair.a);
    a.kill();
    // Somebody else has the name of the device.
    pair.a.ip("tuntap add mpt0 mode tun");
    a.start_again(&pair.a);
    assert_eq!(a.wait_until_ended().code(), Some(1));
    assert_eq!(way_to_server(&pair.a), [None, None]);
    flood.assert_nothing_in_clear();
}

/// No packet leaves in clear while reloads change the addresses of the device.
pub(crate) fn a_reload_changes_the_addresses((pair, mut configs): (Pair, [Config; 2])) {
    let [a, _b] = pair.start(&configs);
    let flood = Flood::start(&pair.a);
    for addresses in [vec!["10.72.0.7/24", "fd00:72::7/64"], vec!["10.72.0.1/24", "fd00:72::1/64"]]
    {
        configs[0].device("mpt0").set("addresses", addresses);
        a.write_config(&configs[0]);
        a.request(Command::Reload).unwrap();
    }
    assert_eq!(way_to_server(&pair.a), both("mpt0"));
    flood.assert_nothing_in_clear();
}
