//! Links and channels of a file as a network, or as the part of it that a row uses.

mod place;
mod sum;
mod trace;
mod wire;

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use mpt_core::path::mtu;

use super::file::{Body, TrafficFile};
use super::syntax::source::{Source, Step, Tree};
use crate::experiments::case::{LinkSpec, MediumSpec, NetworkSpec};
use place::{FULL_PACKET, Place};
use sum::sum;
use wire::{Wire, wire};

/// MTUs of a link: from the one that every IPv4 host must accept (RFC 791) to the largest one of the laboratory's devices.
const MTUS: std::ops::RangeInclusive<u16> = mtu::IPV4_MINIMUM..=9200;
/// Most links: a session has at most 128 paths, and the laboratory's machine is busy with far fewer.
const MOST_LINKS: usize = 64;
/// Longest name of a link: interfaces have names of at most 15 bytes, and a suffix may distinguish the ends.
const LONGEST_NAME: usize = 12;

/// The links and channels of a file.
#[derive(Debug)]
pub(super) struct Network {
    shared: Vec<Shared>,
    links: Vec<Link>,
}

#[derive(Debug)]
struct Link {
    name: String,
    mtu: u16,
    /// Indices of shared channels.
    via: Vec<usize>,
    forward: Wire,
    backward: Wire,
}

#[derive(Debug)]
struct Shared {
    name: String,
    half_duplex: bool,
    wire: Wire,
    medium: Option<MediumSpec>,
}

impl Network {
    /// Checks everything a file says of links. `directory` is where trace files are.
    pub(super) fn read(
        source: &Source<'_>,
        tree: &Tree<'_>,
        body: &Body,
        directory: Option<&Path>,
    ) -> Result<Self> {
        let scale = body.network.scale;
        if !(1.0..=1000.0).contains(&scale) {
            let path = [Step::Key("network"), Step::Key("scale")];
            let message = format!("{scale} is not a scale; write a number from 1 to 1000");
            return Err(source.error_at(tree, &path, message));
        }
        let (seed, span) = (body.network.seed, span(&body.traffic));
        let place =
            |table, index| Place { source, tree, table, index, scale, directory, seed, span };
        // Each direction of each link draws for itself.
        let mut drawn = 0;
        let mut next = || {
            drawn += 1;
            drawn
        };
        let mut shared: Vec<Shared> = Vec::new();
        for (index, file) in body.channel.iter().enumerate() {
            let place = place("channel", index);
            if shared.iter().any(|other| other.name == file.name) {
                return Err(place.error("name", format!("\"{}\" stands there twice", file.name)));
            }
            let medium = match (file.access, file.burst) {
                (None, None) => None,
                (Some(access), Some(burst)) if file.half_duplex => {
                    Some(MediumSpec { access: access.0, burst: burst.0 })
                }
                (Some(_), Some(_)) => {
                    let message = "only a medium that both directions share is accessed; write half_duplex = true";
                    return Err(place.error("access", message));
                }
                (None, Some(_)) => {
                    return Err(place.error("access", "missing; write a time beside burst"));
                }
                (Some(_), None) => {
                    return Err(place.error("burst", "missing; write a time beside access"));
                }
            };
            let wire = wire(&file.shape(), place, next())?;
            if wire.fair && medium.is_some() {
                let message =
                    "a medium that stations share does not serve flows in turns; write a limit";
                return Err(place.error("queue", message));
            }
            let half_duplex = file.half_duplex;
            shared.push(Shared { name: file.name.clone(), half_duplex, wire, medium });
        }
        let mut links: Vec<Link> = Vec::new();
        for (index, file) in body.link.iter().enumerate() {
            let place = place("link", index);
            let count = usize::from(file.count.unwrap_or(1));
            if count == 0 || links.len() + count > MOST_LINKS {
                let message = format!(
                    "{count} is too few or too many; there are 1 to {MOST_LINKS} links in all"
                );
                return Err(place.error("count", message));
            }
            let mtu = file.mtu.unwrap_or(mtu::ETHERNET);
            if !MTUS.contains(&mtu) {
                let message =
                    format!("{mtu} is not an MTU; write {} to {}", MTUS.start(), MTUS.end());
                return Err(place.error("mtu", message));
            }
            let via = file.via.iter().map(|name| {
                shared.iter().position(|channel| channel.name == *name).ok_or_else(|| {
                    place.error("via", format!("there is no [[channel]] with name = \"{name}\""))
                })
            });
            let via = via.collect::<Result<Vec<_>>>()?;
            for number in 1..=count {
                let forward = wire(&file.forward.or(&file.shape()), place, next())?;
                let backward = wire(&file.backward.or(&file.shape()), place, next())?;
                let name = match &file.name {
                    Some(name) if count == 1 => name.clone(),
                    Some(name) => format!("{name}{number}"),
                    None => format!("path{}", links.len() + 1),
                };
                check_name(&name).map_err(|why| place.error("name", why))?;
                if links.iter().any(|other| other.name == name) {
                    return Err(place.error("name", format!("there is another link \"{name}\"")));
                }
                let via = via.clone();
                links.push(Link { name, mtu, via, forward, backward });
            }
        }
        if links.is_empty() {
            return Err(source.error(&(0..0), "link", "missing; write at least one [[link]]"));
        }
        Ok(Self { shared, links })
    }

    /// Returns the names of all links.
    pub(super) fn names(&self) -> Vec<&str> {
        self.links.iter().map(|link| link.name.as_str()).collect()
    }

    /// Returns the rates of links from `a` to `b`, or from `b` to `a`; where a link has none, that of the slowest channel on its way.
    pub(super) fn rates(&self, links: &[usize], backward: bool) -> Option<Vec<u64>> {
        let rate = |&index: &usize| {
            let link = &self.links[index];
            let own = if backward { &link.backward } else { &link.forward };
            let shared = link.via.iter().map(|&channel| self.shared[channel].wire.params.rate);
            let rate = own.params.rate.or_else(|| shared.flatten().min())?;
            Some(rate.bits_per_second())
        };
        links.iter().map(rate).collect()
    }

    /// Returns the network of some of the links, with nothing in it that they do not use. A single link always gets the same name, so that
    /// measurements of equal links are equal.
    pub(super) fn part(&self, links: &[usize]) -> NetworkSpec {
        let mut network = NetworkSpec { channels: Vec::new(), links: Vec::new() };
        // For each shared channel its indices, forward and backward.
        let mut added: Vec<Option<[usize; 2]>> = vec![None; self.shared.len()];
        for &index in links {
            let link = &self.links[index];
            let name = if links.len() == 1 { "path1" } else { &link.name };
            let mut ways = [Vec::new(), Vec::new()];
            for (way, (wire, arrow)) in
                ways.iter_mut().zip([(&link.forward, "forward"), (&link.backward, "backward")])
            {
                // A wire without limits is no channel, unless it is all there is.
                if *wire != Wire::default() || link.via.is_empty() {
                    way.push(network.channels.len());
                    network.channels.push(wire.channel(format!("{name} {arrow}"), None));
                }
            }
            for &shared in &link.via {
                let both = *added[shared].get_or_insert_with(|| {
                    let Shared { name, half_duplex, wire, medium } = &self.shared[shared];
                    let first = network.channels.len();
                    if *half_duplex {
                        network.channels.push(wire.channel(name.clone(), *medium));
                        return [first, first];
                    }
                    network.channels.push(wire.channel(format!("{name} forward"), None));
                    network.channels.push(wire.channel(format!("{name} backward"), None));
                    [first, first + 1]
                });
                for (way, channel) in ways.iter_mut().zip(both) {
                    way.push(channel);
                }
            }
            let [forward, backward] = ways;
            let name = name.to_owned();
            network.links.push(LinkSpec { name, forward, backward, mtu: link.mtu });
        }
        network
    }

    /// Returns one link with the rate of several: the sum of their rates and queues, the average loss by rate, the largest jitter, and the largest
    /// time that a full packet takes forth (a slow link's transmission is part of it). An error says why there is none.
    pub(super) fn single_sum(&self, links: &[usize]) -> Result<NetworkSpec, String> {
        let all: Vec<&Link> = links.iter().map(|&index| &self.links[index]).collect();
        if all.iter().any(|link| !link.via.is_empty()) {
            return Err("links that lead through a shared channel have no sum".into());
        }
        // Full packets travel forward; what comes back are acknowledgements.
        let channel = |wire: fn(&Link) -> &Wire, packet: u64, arrow: &str| {
            let sum = sum(&all.iter().map(|link| wire(link)).collect::<Vec<_>>(), packet)?;
            Ok::<_, String>(sum.channel(format!("path1 {arrow}"), None))
        };
        let channels = vec![
            channel(|link| &link.forward, FULL_PACKET, "forward")?,
            channel(|link| &link.backward, 0, "backward")?,
        ];
        let mtu = all.iter().map(|link| link.mtu).min().unwrap_or(mtu::ETHERNET);
        let link = LinkSpec { name: "path1".into(), forward: vec![0], backward: vec![1], mtu };
        Ok(NetworkSpec { channels, links: vec![link] })
    }
}

/// Returns how long the traffic of a file runs at most, as far as the file says it.
fn span(traffic: &TrafficFile) -> Duration {
    let pings = traffic.interval.zip(traffic.count).map(|(interval, count)| interval.0 * count);
    let times = [traffic.duration.map(|it| it.0), traffic.limit.map(|it| it.0), pings];
    times.into_iter().flatten().max().unwrap_or_default()
}

fn check_name(name: &str) -> Result<(), String> {
    let fits = (1..=LONGEST_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if fits {
        return Ok(());
    }
    Err(format!("\"{name}\" is not a name; write 1 to {LONGEST_NAME} letters, digits and hyphens"))
}
