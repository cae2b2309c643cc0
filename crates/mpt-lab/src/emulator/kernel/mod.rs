//! Links made by the kernel: `tbf` for rate and queue, `netem` for delay, jitter, loss and duplication, in a namespace between the hosts. They are
//! exact where they exist, but lack some properties of plans, and some kernels lack them.

mod network;
mod qdisc;
mod statistics;
mod support;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use mpt_link::{Change, Params};
use mpt_linux::netns;
use mpt_linux::realtime::Awake;

use super::counters::{Counters, DeviceCounters, drops};
use super::plan::EmulatorPlan;
use crate::processes::poll::POLL;
use crate::topology::Host;
use network::Middle;
use support::Disciplines;

/// Number of networks made by this process so far: each has a namespace of its own.
static NETWORKS: AtomicUsize = AtomicUsize::new(0);

/// Links made by the kernel; gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Kernel {
    plan: EmulatorPlan,
    network: Arc<Network>,
    stop: Arc<AtomicBool>,
    /// Keeps the processors awake, as with the other backend.
    _awake: Option<Awake>,
}

#[derive(Debug)]
struct Network {
    host: Host,
    middles: Vec<Middle>,
    channels: Mutex<Vec<Channel>>,
}

/// A channel, which belongs to at most one direction of one cable.
#[derive(Debug, Clone)]
struct Channel {
    params: Params,
    /// The number of its cable, its direction (0 for forward, 1 for backward), and the cable's MTU.
    place: Option<(usize, usize, u16)>,
}

impl Kernel {
    /// Checks that this kernel can realise the plan.
    ///
    /// # Errors
    ///
    /// Returns what is missing, in words.
    pub(crate) fn supports(plan: &EmulatorPlan) -> Result<(), String> {
        let disciplines = Host::new(name("probe")).map(|host| Disciplines {
            tbf: has(&host, &["tbf", "rate", "1mbit", "burst", "4000", "latency", "1ms"]),
            netem: has(&host, &["netem", "delay", "1ms"]),
        });
        let disciplines = disciplines.map_err(|error| format!("{error:#}"))?;
        support::obstacle(plan, disciplines).map_or(Ok(()), Err)
    }

    /// Makes the links; all devices of the plan exist and are up, without addresses, when this returns.
    ///
    /// # Errors
    ///
    /// Fails when the plan is impossible or more than this kernel can do, or a device cannot be made.
    pub(crate) fn start(plan: &EmulatorPlan) -> Result<Self> {
        plan.check()?;
        Self::supports(plan).map_err(|obstacle| anyhow!(obstacle))?;
        let mut channels: Vec<Channel> = plan
            .channels
            .iter()
            .map(|channel| Channel { params: channel.params, place: None })
            .collect();
        for (number, cable) in plan.cables.iter().enumerate() {
            for (direction, hops) in [&cable.forward, &cable.backward].into_iter().enumerate() {
                for &hop in hops {
                    let mtu = cable.ends.iter().map(|end| end.mtu).max().unwrap_or_default();
                    channels[hop].place = Some((number, direction, mtu));
                }
            }
        }
        let network = Network {
            host: Host::new(name("links"))?,
            middles: (0..plan.cables.len()).map(Middle::new).collect(),
            channels: Mutex::new(channels),
        };
        for (number, (cable, middle)) in plan.cables.iter().zip(&network.middles).enumerate() {
            middle
                .build(&network.host, number, cable)
                .with_context(|| format!("cable {}", cable.name))?;
        }
        for channel in 0..plan.channels.len() {
            network.change(channel, None)?;
        }
        let network = Arc::new(network);
        Ok(Self { plan: plan.clone(), network, stop: Arc::default(), _awake: Awake::keep().ok() })
    }

    /// Starts the schedules of all channels.
    ///
    /// # Errors
    ///
    /// Fails when no thread can be made to follow them.
    pub(crate) fn start_schedule(&self) -> Result<()> {
        let schedules = self.plan.channels.iter().map(|channel| &channel.schedule).enumerate();
        let mut changes: Vec<(Duration, usize, Change)> = schedules
            .flat_map(|(number, schedule)| {
                schedule.iter().map(move |&(after, change)| (after, number, change))
            })
            .collect();
        // Among equal times, the one given first comes first: the sort is stable.
        changes.sort_by_key(|&(after, ..)| after);
        let (network, stop) = (Arc::clone(&self.network), Arc::clone(&self.stop));
        let start = Instant::now();
        let follow = move || {
            for (after, channel, change) in changes {
                while let Some(left) = after.checked_sub(start.elapsed()) {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    thread::sleep(left.min(POLL));
                }
                if let Err(error) = network.change(channel, Some(change)) {
                    eprintln!("mpt-lab: {error:#}");
                }
            }
        };
        thread::Builder::new().name("schedule".into()).spawn(follow)?;
        Ok(())
    }

    /// Changes a channel from now on.
    ///
    /// # Errors
    ///
    /// Fails when there is no such channel, or the kernel cannot do it.
    pub(crate) fn change(&self, channel: usize, change: Change) -> Result<()> {
        self.network.change(channel, Some(change))
    }

    /// Plugs a cable in or pulls it out, at both ends.
    ///
    /// # Errors
    ///
    /// Fails when there is no such cable, or the kernel refuses.
    pub(crate) fn set_carrier(&self, cable: usize, carrier: bool) -> Result<()> {
        let middle = self.network.middles.get(cable);
        let middle = middle.with_context(|| format!("there is no cable {cable}"))?;
        middle.set_carrier(&self.network.host, carrier)
    }

    /// Returns what has happened so far.
    ///
    /// # Errors
    ///
    /// Fails when one of the namespaces is gone, or `tc` reports nothing.
    pub(crate) fn counters(&self) -> Result<Counters> {
        let Network { host, middles, channels } = &*self.network;
        let channels = channels.lock().unwrap_or_else(PoisonError::into_inner);
        let channels = channels
            .iter()
            .map(|channel| match channel.place {
                None => Ok(mpt_link::Counters::default()),
                Some((cable, direction, _)) => {
                    let middle = &middles[cable];
                    statistics::counters(host, middle.rate(direction), middle.wire(direction))
                }
            })
            .collect::<Result<_>>()?;
        let inside = drops(&host.namespace().path())?;
        let mut cables = Vec::with_capacity(middles.len());
        for (cable, middle) in self.plan.cables.iter().zip(middles) {
            let mut devices = [DeviceCounters::default(), DeviceCounters::default()];
            for (side, (device, end)) in devices.iter_mut().zip(&cable.ends).enumerate() {
                let outside = drops(&end.namespace)?;
                let ends = outside.get(&end.device);
                let ends = ends.with_context(|| format!("device {} is gone", end.device))?;
                [device.rx_dropped, device.tx_dropped] = *ends;
                let between = [&middle.outer[side], &middle.inner[side]];
                let between = between.iter().filter_map(|&name| inside.get(name));
                device.refused = between.flatten().sum();
            }
            cables.push(devices);
        }
        Ok(Counters { channels, cables, lateness: None })
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Network {
    /// Sets the parameters of a channel in the kernel, after a change if there is one.
    fn change(&self, number: usize, change: Option<Change>) -> Result<()> {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        let channel = channels.get_mut(number);
        let channel = channel.with_context(|| format!("there is no channel {number}"))?;
        let before = channel.params;
        if let Some(change) = change {
            channel.params = support::applied(before, change);
        }
        let Some((cable, direction, mtu)) = channel.place else { return Ok(()) };
        let (rate, wire) =
            (self.middles[cable].rate(direction), self.middles[cable].wire(direction));
        for (device, then, now) in [
            (
                rate,
                qdisc::token_bucket(rate, &before, mtu),
                qdisc::token_bucket(rate, &channel.params, mtu),
            ),
            (wire, qdisc::netem(wire, &before), qdisc::netem(wire, &channel.params)),
        ] {
            if now.is_empty() && !then.is_empty() {
                self.tc(&["del", "dev", device, "root"])?;
            }
            // A discipline of the same handle and kind is changed, and keeps its packets.
            if change.is_none() || then != now {
                for command in &now {
                    let command: Vec<&str> = command.iter().map(String::as_str).collect();
                    self.tc(&command)?;
                }
            }
        }
        Ok(())
    }

    fn tc(&self, arguments: &[&str]) -> Result<()> {
        Ok(netns::tc(self.host.namespace(), &[&["qdisc"], arguments].concat())?)
    }
}

fn has(host: &Host, discipline: &[&str]) -> bool {
    let add = [&["qdisc", "replace", "dev", "lo", "root"], discipline].concat();
    netns::tc(host.namespace(), &add).is_ok()
}

fn name(what: &str) -> String {
    format!("{what}{}", NETWORKS.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, SocketAddr, UdpSocket};
    use std::path::PathBuf;

    use ipnet::IpNet;
    use mpt_link::{Bitrate, QueueLimit};
    use mpt_linux::netlink::Netlink;

    use super::*;
    use crate::emulator::plan::{CablePlan, ChannelPlan, EndPlan};
    use crate::topology::End;

    fn address(end: End) -> IpAddr {
        IpAddr::from([10, 74, 0, end.number()])
    }

    /// Returns two hosts with a cable of these parameters from the first to the second.
    fn hosts(test: &str, params: Params) -> ([Host; 2], EmulatorPlan) {
        let hosts = [End::A, End::B].map(|end| Host::new(format!("{test}-{end}")).unwrap());
        let ends = hosts.each_ref().map(|host| EndPlan {
            namespace: host.namespace().path(),
            device: "link0".into(),
            mtu: 1500,
        });
        let name = "a-b".to_owned();
        let plan = EmulatorPlan {
            channels: vec![ChannelPlan { params, ..ChannelPlan::default() }],
            cables: vec![CablePlan { name, ends, forward: vec![0], backward: vec![] }],
            ..EmulatorPlan::default()
        };
        (hosts, plan)
    }

    fn socket(host: &Host, end: End) -> UdpSocket {
        let socket = host.run(|| UdpSocket::bind((address(end), 0))).unwrap().unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        socket
    }

    /// Datagrams that were sent at once, at their destination.
    struct Burst {
        arrived: usize,
        /// From the first that was read to the last.
        time: Duration,
        /// From the beginning of sending until the first was read. Where it is long, the test was interrupted.
        first_after: Duration,
    }

    /// Sends `count` datagrams of 1000 bytes at once, and reads what arrives.
    fn burst(from: &UdpSocket, to: &UdpSocket, count: usize) -> Burst {
        let to_address: SocketAddr = to.local_addr().unwrap();
        let start = Instant::now();
        (0..count).for_each(|_| assert_eq!(from.send_to(&[0; 1000], to_address).unwrap(), 1000));
        let mut times = Vec::new();
        while to.recv(&mut [0; 2000]).is_ok() {
            times.push(start.elapsed());
        }
        let first_after = times.first().copied().unwrap_or_default();
        let time = times.last().map_or(Duration::ZERO, |&last| last - first_after);
        Burst { arrived: times.len(), time, first_after }
    }

    #[test]
    fn rates_changes_and_carriers_by_the_kernel() {
        let queue = QueueLimit::Packets(30);
        let params = Params { rate: Bitrate::new(4_000_000), queue, ..Params::default() };
        let ([a, b], plan) = hosts("tbf", params);
        let kernel = Kernel::start(&plan).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            for (host, end) in [(&a, End::A), (&b, End::B)] {
                let netlink = Netlink::connect_in(host.namespace()).unwrap();
                let link = netlink.link("link0").await.unwrap();
                assert!(link.running, "{link:?}");
                netlink
                    .add_address(link.index, IpNet::new(address(end), 24).unwrap())
                    .await
                    .unwrap();
            }
        });
        let (from, to) = (socket(&a, End::A), socket(&b, End::B));
        assert_eq!(burst(&from, &to, 1).arrived, 1, "and the hosts know each other");
        // The first may be read late, which shortens the time. If it is read later, the machine had something else to do meanwhile, and
        // what was sent was no burst.
        let late = Duration::from_millis(1);
        let (mut sent, mut dropped) = (1, 0);
        let Burst { arrived, time, .. } = (0..20)
            .map(|_| burst(&from, &to, 60))
            .inspect(|burst| {
                sent += 60;
                dropped += 60 - burst.arrived as u64;
            })
            .find(|burst| burst.first_after <= late)
            .expect("a burst in twenty is not interrupted");
        // A bucket of 4000 bytes passes three at once; 31 wait; the others are dropped.
        assert!((34..=36).contains(&arrived), "{arrived}");
        let expected = Duration::from_secs_f64((arrived - 4) as f64 * 1042.0 * 8.0 / 4e6);
        assert!(time + late >= expected, "{arrived} in {time:?}, not {expected:?}");
        let counters = kernel.counters().unwrap();
        let channel = counters.channels[0];
        // The hosts' kernels have packets of their own, which are sent and dropped as all others.
        let others = channel.offered.packets.checked_sub(sent).unwrap();
        assert!((dropped..=dropped + others).contains(&channel.queue_full.packets), "{counters:?}");
        assert_eq!(counters.hidden_loss(), 0, "{counters:?}");

        kernel.change(0, Change::Rate(None)).unwrap();
        assert_eq!(burst(&from, &to, 60).arrived, 60, "no limit");
        assert!(kernel.change(1, Change::Rate(None)).is_err());
        kernel.set_carrier(0, false).unwrap();
        assert_eq!(burst(&from, &to, 1).arrived, 0);
        kernel.set_carrier(0, true).unwrap();
        // The kernel tells of carriers once a second at most.
        let returned = (0..10).any(|_| burst(&from, &to, 1).arrived == 1);
        assert!(returned, "nothing passes");
    }

    #[test]
    fn what_is_missing_is_named_before_anything_is_made() {
        let delay = Duration::from_millis(20);
        let ([a, _b], plan) = hosts("netem", Params { delay, ..Params::default() });
        match Kernel::supports(&plan) {
            Ok(()) => drop(Kernel::start(&plan).unwrap()),
            Err(missing) => {
                assert!(missing.contains("netem: this kernel does not have it"), "{missing}");
                assert_eq!(Kernel::start(&plan).unwrap_err().to_string(), missing);
                let made = PathBuf::from("/proc/thread-self/net/dev_snmp6/link0");
                assert!(!a.run(|| made.exists()).unwrap());
            }
        }
    }
}
