//! Links made by the kernel: `tbf` for rate and queue, `netem` for delay, jitter, loss and duplication, in a namespace
//! between the hosts. Exact where it is there, but not all there is in a plan, and not on every kernel.

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

use super::counters::{Counters, DeviceCounters, drops};
use super::plan::EmulatorPlan;
use crate::process::POLL;
use crate::topology::Host;
use network::Middle;
use support::Disciplines;

/// Networks made by this process so far: each has a namespace of its own.
static NETWORKS: AtomicUsize = AtomicUsize::new(0);

/// Links made by the kernel; gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Kernel {
    plan: EmulatorPlan,
    network: Arc<Network>,
    stop: Arc<AtomicBool>,
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
    /// The cable, 0 for forward or 1 for backward, and its MTU.
    place: Option<(usize, usize, u16)>,
}

impl Kernel {
    /// Whether this kernel can realise the plan.
    ///
    /// # Errors
    ///
    /// What is missing, in words.
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
    /// When the plan is impossible or more than this kernel can do, or a device cannot be made.
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
        Ok(Self { plan: plan.clone(), network, stop: Arc::default() })
    }

    /// The schedules of all channels begin.
    ///
    /// # Errors
    ///
    /// When there can be no thread that follows them.
    pub(crate) fn start_schedule(&self) -> Result<()> {
        let schedules = self.plan.channels.iter().map(|channel| &channel.schedule).enumerate();
        let mut changes: Vec<(Duration, usize, Change)> = schedules
            .flat_map(|(number, schedule)| {
                schedule.iter().map(move |&(after, change)| (after, number, change))
            })
            .collect();
        // Of equal times, the one given first comes first: the sort is stable.
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
    /// When there is no such channel, or the kernel cannot do it.
    pub(crate) fn change(&self, channel: usize, change: Change) -> Result<()> {
        self.network.change(channel, Some(change))
    }

    /// Plugs a cable in or pulls it out, at both ends.
    ///
    /// # Errors
    ///
    /// When there is no such cable, or the kernel refuses.
    pub(crate) fn set_carrier(&self, cable: usize, carrier: bool) -> Result<()> {
        let middle = self.network.middles.get(cable);
        let middle = middle.with_context(|| format!("there is no cable {cable}"))?;
        middle.set_carrier(&self.network.host, carrier)
    }

    /// What has happened so far.
    ///
    /// # Errors
    ///
    /// When one of the namespaces is gone, or `tc` does not tell.
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
                (device.rx_dropped, device.tx_dropped) = (ends.rx, ends.tx);
                let between = [&middle.outer[side], &middle.inner[side]];
                let between = between.iter().filter_map(|&name| inside.get(name));
                device.refused = between.map(|drops| drops.rx + drops.tx).sum();
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
    /// Tells the kernel what a channel is like, after a change if there is one.
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
