//! Settings of the two hosts, so that a result does not depend on those of the machine.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use mpt_link::{Loss, Params, QueueLimit};

use crate::experiments::case::{CaseSpec, LinkSpec, NetworkSpec};
use crate::topology::Host;

/// Largest receive buffer of a TCP socket, in bytes: the default of Linux before 6.17, and that of the papers' machines.
const RECEIVE_BUFFER: u64 = 6 << 20;
/// Largest send buffer of a TCP socket, in bytes: the default of Linux before 6.17.
const SEND_BUFFER: u64 = 4 << 20;
/// Largest memory of packets in a socket's buffer, in times of their payload.
const OVERHEAD: u64 = 4;
/// Round-trip times of the links that a flow takes where packets are lost or delays jitter: a tunnel holds all packets there until lost
/// ones have come again. That takes two to four of them, and a segment that TCP itself sends again takes as long once more.
const HELD: f64 = 3.0;
/// Largest buffer of a socket, in bytes: 2 Gbit/s for half a second.
const LARGEST_BUFFER: u64 = 512 << 20;
/// Bytes in a packet, for queues limited in packets.
const PACKET: u64 = 1514;
/// Congestion control where the one that was asked for does not exist.
const USUAL_CONGESTION: &str = "cubic";

/// Returns the largest buffers of TCP sockets of either host, in bytes: the usual, or what all links together hold on the way there and back with
/// their queues full, if that is more, and [`HELD`] times as much where a tunnel holds packets. A flow is then never limited by its sockets.
pub(super) fn tcp_buffers(network: &NetworkSpec) -> (u64, u64) {
    let mut in_flight = 0.0;
    let rate = crate::experiments::case::spec::duration::forward_rate(network).unwrap_or(0) as f64;
    let round_trip = |link: &LinkSpec| {
        let channels = link.forward.iter().chain(&link.backward);
        let channels = channels.filter_map(|&channel| network.channels.get(channel));
        channels.map(|channel| passage(&channel.params)).sum::<Duration>()
    };
    if let Some(longest) = network.links.iter().map(round_trip).max() {
        in_flight = rate / 8.0 * longest.as_secs_f64();
    }
    let is_uneven = |params: &Params| params.loss != Loss::None || params.jitter.is_some();
    if network.channels.iter().any(|channel| is_uneven(&channel.params)) {
        in_flight *= HELD;
    }
    // Saturates, as all conversions from floating point do.
    let needed = (in_flight as u64).saturating_mul(OVERHEAD).min(LARGEST_BUFFER);
    (needed.max(RECEIVE_BUFFER), needed.max(SEND_BUFFER))
}

/// The longest that a packet is on its way through a channel, as far as that is bounded.
fn passage(params: &Params) -> Duration {
    let bits = |bytes: u64| match params.rate {
        Some(rate) => {
            let seconds = bytes as f64 * 8.0 / rate.bits_per_second() as f64;
            Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
        }
        None => Duration::ZERO,
    };
    let queue = match params.queue {
        QueueLimit::Unlimited => Duration::ZERO,
        QueueLimit::Packets(packets) => bits((packets as u64).saturating_mul(PACKET)),
        QueueLimit::Bytes(bytes) => bits(bytes.0),
        QueueLimit::Time(time) => time,
    };
    params.delay.saturating_add(queue)
}

/// Applies the settings to a host. It has to be called before anything runs there.
pub(crate) fn apply(host: &Host, spec: &CaseSpec) -> Result<()> {
    let (receive, send) = tcp_buffers(&spec.network);
    let settings = [
        ("ipv4/tcp_rmem", format!("4096 131072 {receive}")),
        ("ipv4/tcp_wmem", format!("4096 16384 {send}")),
        // A flow must not know what an earlier one has found out about the network.
        ("ipv4/tcp_no_metrics_save", "1".into()),
        // No host advertises anything here, and soliciting would send packets that no figure accounts for.
        ("ipv6/conf/all/accept_ra", "0".into()),
        ("ipv6/conf/default/router_solicitations", "0".into()),
        // Both hosts ask for it and answer it, or neither does.
        ("ipv4/tcp_ecn", u8::from(spec.ecn).to_string()),
    ];
    set(host, &settings)
}

/// Writes settings of the network namespace: names relative to `/proc/sys/net`.
pub(crate) fn set(host: &Host, settings: &[(&str, String)]) -> Result<()> {
    host.run(|| {
        for (name, value) in settings {
            // `/proc/sys/net` shows the namespace of the thread that reads it.
            fs::write(format!("/proc/sys/net/{name}"), value)
                .with_context(|| format!("cannot set net/{name} to {value}"))?;
        }
        Ok(())
    })?
}

/// Switches receive packet steering on or off for every device of a host. If it is on, all processors take part.
pub(crate) fn steer(host: &Host, on: bool) -> Result<()> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let mask = if on { mask(processors) } else { "0".into() };
    // sysfs shows the namespace in which it was mounted.
    let script = format!(
        "mount -t sysfs sysfs /sys && for queue in /sys/class/net/*/queues/rx-*/rps_cpus; do echo {mask} > $queue || exit 1; done"
    );
    let mut command = host.namespace().command("unshare")?;
    command.args(["--mount", "sh", "-c", &script]);
    let output = command.output().context("cannot run unshare")?;
    if !output.status.success() {
        bail!("receive steering: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

/// Returns the mask of all processors, as the kernel reads it: hexadecimal, groups of 32 bits, the highest first.
fn mask(processors: usize) -> String {
    let groups = processors.div_ceil(32).max(1);
    let group = |group: usize| {
        let bits = processors.saturating_sub(group * 32).min(32);
        format!("{:x}", ((1_u64 << bits) - 1) as u32)
    };
    (0..groups).rev().map(group).collect::<Vec<_>>().join(",")
}

/// Returns the congestion control to use where `wanted` is asked for, and why it is another one if it is.
pub(crate) fn congestion(wanted: &str) -> (String, Option<String>) {
    let there = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    let there = there.unwrap_or_default();
    if there.split_ascii_whitespace().any(|it| it == wanted) || load(wanted) {
        return (wanted.into(), None);
    }
    let why = format!("this kernel has no TCP {wanted}: {USUAL_CONGESTION} instead");
    (USUAL_CONGESTION.into(), Some(why))
}

/// True if it is a module that can be loaded.
fn load(congestion: &str) -> bool {
    let module = format!("tcp_{congestion}");
    std::process::Command::new("modprobe")
        .args(["-q", &module])
        .stderr(std::process::Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Makes `congestion` that of every TCP connection of a host, for programs that do not choose
/// themselves. The kernel refuses to make it the default of a namespace where it is restricted, but not as an attribute of routes.
pub(crate) fn congestion_of_routes(host: &Host, congestion: &str) -> Result<()> {
    for version in ["-4", "-6"] {
        let output = host.ip(&[version, "route", "show", "table", "main"])?;
        for route in output.lines() {
            let words = route.split_ascii_whitespace().filter(|word| *word != "linkdown");
            // The kernel takes the words with which it shows a route, but for these.
            let words: Vec<&str> = without(words.collect(), &["expires", "pref"]);
            let change = [&[version, "route", "change"], &words[..], &["congctl", congestion]];
            host.ip(&change.concat())?;
        }
    }
    Ok(())
}

/// Returns `words` without these keys and their values.
fn without<'a>(words: Vec<&'a str>, keys: &[&str]) -> Vec<&'a str> {
    let mut kept = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if keys.contains(&word) {
            words.next();
        } else {
            kept.push(word);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use mpt_link::{Bitrate, Distribution, Jitter, Probability, Redraw};

    use super::*;
    use crate::experiments::case::ChannelSpec;

    #[test]
    fn masks_have_a_bit_for_every_processor() {
        for (processors, mask) in
            [(1, "1"), (2, "3"), (32, "ffffffff"), (33, "1,ffffffff"), (72, "ff,ffffffff,ffffffff")]
        {
            assert_eq!(super::mask(processors), mask);
        }
    }

    #[test]
    fn buffers_hold_what_is_on_the_way() {
        let channel = |mbit, delay| ChannelSpec {
            name: String::new(),
            params: Params {
                rate: Bitrate::from_megabits(mbit),
                delay: Duration::from_millis(delay),
                queue: QueueLimit::Time(Duration::from_millis(100)),
                ..Params::default()
            },
            schedule: Vec::new(),
            medium: None,
            fair: false,
        };
        let link = |number| LinkSpec {
            name: String::new(),
            forward: vec![number],
            backward: vec![number],
            mtu: 1500,
        };
        let network = |mbit, delay| NetworkSpec {
            channels: vec![channel(mbit, 0), channel(mbit, delay)],
            links: vec![link(0), link(1)],
        };
        assert_eq!(tcp_buffers(&network(10, 0)), (RECEIVE_BUFFER, SEND_BUFFER));
        // 2 Gbit/s for 2 x (190 + 100) ms are 145 MB.
        assert_eq!(tcp_buffers(&network(1000, 190)), (LARGEST_BUFFER, LARGEST_BUFFER));
        // 0.2 Gbit/s for 2 x 100 ms are 5 MB.
        assert_eq!(tcp_buffers(&network(100, 0)), (20_000_000, 20_000_000));
    }

    #[test]
    fn buffers_hold_what_a_tunnel_holds() {
        let params = Params {
            rate: Bitrate::from_megabits(100),
            queue: QueueLimit::Time(Duration::from_millis(100)),
            ..Params::default()
        };
        let distribution = Distribution::Normal { deviation: Duration::from_millis(5) };
        let jitter = Some(Jitter { distribution, redraw: Redraw::EveryPacket });
        let jitters = Params { jitter, ..params };
        let loses = Params { loss: Loss::Bernoulli(Probability::ONE), ..params };
        for (params, expected) in [(params, 10_000_000), (jitters, 30_000_000), (loses, 30_000_000)]
        {
            let (name, schedule) = (String::new(), Vec::new());
            let channel = ChannelSpec { name, params, schedule, medium: None, fair: false };
            let (forward, backward) = (vec![0], vec![0]);
            let link = LinkSpec { name: String::new(), forward, backward, mtu: 1500 };
            let network = NetworkSpec { channels: vec![channel], links: vec![link] };
            assert_eq!(tcp_buffers(&network).0, expected, "{params:?}");
        }
    }

    #[test]
    fn steering_is_switched_for_every_device() {
        let host = Host::new("steering").unwrap();
        let script = "mount -t sysfs sysfs /sys && cat /sys/class/net/lo/queues/rx-0/rps_cpus";
        for (on, expected) in
            [(true, mask(std::thread::available_parallelism().unwrap().get())), (false, "0".into())]
        {
            steer(&host, on).unwrap();
            let mut command = host.namespace().command("unshare").unwrap();
            let output = command.args(["--mount", "sh", "-c", script]).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            // The kernel shows leading zeros for processors that might be there.
            let shown = text.trim().rsplit(',').next().unwrap().trim_start_matches('0').to_owned();
            let expected = expected.rsplit(',').next().unwrap().trim_start_matches('0').to_owned();
            assert_eq!(shown, expected);
        }
    }

    #[test]
    fn congestion_control_is_an_attribute_of_every_route() {
        let host = Host::new("routes").unwrap();
        for words in [
            "link add veth0 type veth peer name veth1",
            "link set veth0 up",
            "link set veth1 up",
            "address add 10.71.1.1/24 dev veth0",
            "-6 address add fd47::1/64 dev veth0 nodad",
        ] {
            host.ip(&words.split(' ').collect::<Vec<_>>()).unwrap();
        }
        congestion_of_routes(&host, "reno").unwrap();
        for (version, network) in [("-4", "10.71.1.0/24"), ("-6", "fd47::/64")] {
            let route = host.ip(&[version, "route", "show", network]).unwrap();
            assert!(route.contains("congctl reno"), "{route}");
            assert_eq!(route.lines().count(), 1, "{route}");
        }
    }

    #[test]
    fn keys_are_left_out_with_their_values() {
        let words = "fd47::/64 dev a metric 256 pref medium".split(' ').collect();
        assert_eq!(without(words, &["pref"]).join(" "), "fd47::/64 dev a metric 256");
    }

    #[test]
    fn an_unknown_congestion_control_is_replaced_and_told() {
        let (used, why) = congestion("nosuchthing");
        assert_eq!(used, "cubic");
        assert!(why.unwrap().contains("nosuchthing"));
        assert_eq!(congestion("reno"), ("reno".into(), None));
    }
}
