//! Links and channels of a file as a network, or as the part of it that a row uses.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Error, Result};
use mpt_core::path::mtu;
use mpt_link::{
    Bitrate, ByteCount, Change, Distribution, Jitter, Loss, Params, QueueLimit, Redraw,
};

use super::file::{Body, BurstyFile, JitterFile, LossFile, PointFile, Shape};
use super::source::{Source, Step, Tree};
use super::units::{Quantity, Rate, Time};
use crate::case::{ChannelSpec, LinkSpec, MediumSpec, NetworkSpec};

/// What every IPv4 host must accept (RFC 791), and what our devices carry at most.
const MTUS: std::ops::RangeInclusive<u16> = mtu::IPV4_MINIMUM..=9200;
/// A session has at most 128 paths, and a machine like ours is busy with far fewer.
const MOST_LINKS: usize = 64;
/// Interfaces have names of at most 15 bytes, and ends may be told apart by a suffix.
const LONGEST_NAME: usize = 12;
/// What a packet of a queue limit counts, where limits of different kinds are summed.
const FULL_PACKET: u64 = 1500;
/// Of a trace: an hour at ten values per second.
const MOST_POINTS: usize = 36_000;

/// All that a file says of links.
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

/// One direction.
#[derive(Clone, Debug, Default, PartialEq)]
struct Wire {
    params: Params,
    schedule: Vec<(Duration, Change)>,
}

#[derive(Debug)]
struct Shared {
    name: String,
    half_duplex: bool,
    wire: Wire,
    medium: Option<MediumSpec>,
}

/// Where a mistake is to be reported.
#[derive(Clone, Copy)]
struct Place<'a> {
    source: &'a Source<'a>,
    tree: &'a Tree<'a>,
    table: &'static str,
    index: usize,
    scale: f64,
    directory: Option<&'a Path>,
}

impl Place<'_> {
    fn error(&self, key: &str, message: impl AsRef<str>) -> Error {
        let path = [Step::Key(self.table), Step::Index(self.index), Step::Key(key)];
        self.source.error_at(self.tree, &path, message)
    }
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
        let place = |table, index| Place { source, tree, table, index, scale, directory };
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
            let wire = wire(&file.shape(), place)?;
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
            let forward = wire(&file.forward.or(&file.shape()), place)?;
            let backward = wire(&file.backward.or(&file.shape()), place)?;
            for number in 1..=count {
                let name = match &file.name {
                    Some(name) if count == 1 => name.clone(),
                    Some(name) => format!("{name}{number}"),
                    None => format!("path{}", links.len() + 1),
                };
                check_name(&name).map_err(|why| place.error("name", why))?;
                if links.iter().any(|other| other.name == name) {
                    return Err(place.error("name", format!("there is another link \"{name}\"")));
                }
                let (via, forward, backward) = (via.clone(), forward.clone(), backward.clone());
                links.push(Link { name, mtu, via, forward, backward });
            }
        }
        if links.is_empty() {
            return Err(source.error(&(0..0), "link", "missing; write at least one [[link]]"));
        }
        Ok(Self { shared, links })
    }

    /// Names of all links.
    pub(super) fn names(&self) -> Vec<&str> {
        self.links.iter().map(|link| link.name.as_str()).collect()
    }

    /// Rates of links from `a` to `b`, or from `b` to `a`; where a link has none, that of the slowest channel on its way.
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

    /// The network of some of the links, with nothing in it that they do not use. Of a single link the name is always the
    /// same, so that measurements of equal links are equal.
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

    /// One link that is worth several: the sum of their rates and queues, the average loss by rate, the largest jitter, and the
    /// largest time that a full packet takes forth (a slow link's transmission is part of it). An error is why there is none.
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

impl Wire {
    fn channel(&self, name: String, medium: Option<MediumSpec>) -> ChannelSpec {
        ChannelSpec { name, params: self.params, schedule: self.schedule.clone(), medium }
    }
}

fn check_name(name: &str) -> Result<(), String> {
    let fits = (1..=LONGEST_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if fits {
        return Ok(());
    }
    Err(format!("\"{name}\" is not a name; write 1 to {LONGEST_NAME} letters, digits and hyphens"))
}

/// `packet`: the length in bytes of the packets whose time of transmission counts.
fn sum(wires: &[&Wire], packet: u64) -> Result<Wire, String> {
    if wires.iter().any(|wire| !wire.schedule.is_empty()) {
        return Err("links that change in time have no sum".into());
    }
    let rates: Option<Vec<f64>> = (wires.iter())
        .map(|wire| wire.params.rate.map(|rate| rate.bits_per_second() as f64))
        .collect();
    let rates = rates.ok_or("links without a rate have no sum")?;
    let total: f64 = rates.iter().sum();
    let loss: f64 =
        wires.iter().zip(&rates).map(|(w, rate)| w.params.loss.mean().value() * rate / total).sum();
    // Bursty links of equal character stay that; a mixture is independent loss of the same mean.
    let loss = match wires.iter().all(|wire| wire.params.loss == wires[0].params.loss) {
        true => wires[0].params.loss,
        false => mpt_link::Probability::new(loss).map_or(Loss::None, Loss::Bernoulli),
    };
    let width = |wire: &&&Wire| match wire.params.jitter.map(|jitter| jitter.distribution) {
        None => Duration::ZERO,
        Some(Distribution::Uniform { half_width }) => half_width,
        Some(Distribution::Normal { deviation }) => deviation,
    };
    let most = wires.iter().max_by_key(width).ok_or("no links have no sum")?;
    let params = Params {
        rate: Bitrate::new(total as u64),
        queue: summed_queue(wires),
        mark_above: None,
        slot: most.params.slot,
        delay: longest_way(wires, &rates, packet).saturating_sub(transmission(packet, total)),
        jitter: most.params.jitter,
        keep_order: most.params.keep_order,
        loss,
        duplication: most.params.duplication,
    };
    Ok(Wire { params, schedule: Vec::new() })
}

/// The longest time from the beginning of a packet's transmission to its arrival.
fn longest_way(wires: &[&Wire], rates: &[f64], packet: u64) -> Duration {
    let way = |(wire, &rate): (&&Wire, &f64)| wire.params.delay + transmission(packet, rate);
    wires.iter().zip(rates).map(way).max().unwrap_or_default()
}

/// How long a packet of that many bytes takes to be transmitted at a rate in bit/s.
fn transmission(packet: u64, rate: f64) -> Duration {
    Duration::from_secs_f64(packet as f64 * 8.0 / rate)
}

/// Limits of one kind are added (times do not add: the longest); of several kinds, as bytes.
fn summed_queue(wires: &[&Wire]) -> QueueLimit {
    let limits = wires.iter().map(|wire| wire.params.queue);
    let same = limits.clone().reduce(|sum, limit| match (sum, limit) {
        (QueueLimit::Packets(a), QueueLimit::Packets(b)) => QueueLimit::Packets(a + b),
        (QueueLimit::Bytes(a), QueueLimit::Bytes(b)) => QueueLimit::Bytes(ByteCount(a.0 + b.0)),
        (QueueLimit::Time(a), QueueLimit::Time(b)) => QueueLimit::Time(a.max(b)),
        _ => QueueLimit::Unlimited,
    });
    if let Some(limit) = same
        && limit != QueueLimit::Unlimited
    {
        return limit;
    }
    let bytes = wires.iter().map(|wire| match wire.params.queue {
        QueueLimit::Unlimited => None,
        QueueLimit::Packets(packets) => Some(packets as u64 * FULL_PACKET),
        QueueLimit::Bytes(bytes) => Some(bytes.0),
        QueueLimit::Time(time) => {
            let rate = wire.params.rate?.bits_per_second() as f64;
            Some((time.as_secs_f64() * rate / 8.0) as u64)
        }
    });
    let bytes: Option<u64> = bytes.sum();
    bytes.map_or(QueueLimit::Unlimited, |bytes| QueueLimit::Bytes(ByteCount(bytes)))
}

fn wire(shape: &Shape, place: Place<'_>) -> Result<Wire> {
    match (shape.rate, shape.queue) {
        (Some(_), None) => {
            let message = "missing; a link with a rate has a queue: write for example \"100packets\" or \"400ms\"";
            return Err(place.error("queue", message));
        }
        (None, Some(_)) => {
            return Err(
                place.error("queue", "nothing waits where there is no rate; write rate, too")
            );
        }
        _ => {}
    }
    let params = Params {
        rate: shape.rate.map(|rate| scaled(rate, place.scale)),
        queue: shape
            .queue
            .map_or(QueueLimit::Unlimited, |limit| scaled_queue(limit.0, place.scale)),
        mark_above: None,
        slot: shape.slot.unwrap_or_default().0,
        delay: shape.delay.unwrap_or_default().0,
        jitter: shape.jitter.map(|file| jitter(file, place)).transpose()?.flatten(),
        keep_order: shape.keep_order.unwrap_or(false),
        loss: shape.loss.map_or(Ok(Loss::None), |file| loss(file, place))?,
        duplication: shape.duplication.unwrap_or_default().0,
    };
    let mut schedule = Vec::new();
    for point in shape.schedule.iter().flatten() {
        changes(point, place, &mut schedule)?;
    }
    if let Some(file) = &shape.trace {
        if !schedule.is_empty() {
            return Err(place.error("trace", "there is a schedule already; write one of the two"));
        }
        let points = read_trace(file, place.directory)
            .map_err(|error| place.error("trace", format!("{error:#}")))?;
        let change = |(at, rate)| (at, Change::Rate(Some(scaled(rate, place.scale))));
        schedule = points.into_iter().map(change).collect();
    }
    if !schedule.is_sorted_by_key(|(at, _)| *at) {
        return Err(place.error("schedule", "goes back in time; write its rows in their order"));
    }
    Ok(Wire { params, schedule })
}

fn changes(point: &PointFile, place: Place<'_>, out: &mut Vec<(Duration, Change)>) -> Result<()> {
    let mut push = |change| out.push((point.after.0, change));
    if let Some(rate) = point.rate {
        push(Change::Rate(Some(scaled(rate, place.scale))));
    }
    if let Some(limit) = point.queue {
        push(Change::Queue(scaled_queue(limit.0, place.scale)));
    }
    if let Some(delay) = point.delay {
        push(Change::Delay(delay.0));
    }
    if let Some(file) = point.jitter {
        push(Change::Jitter(jitter(file, place)?));
    }
    if let Some(keep_order) = point.keep_order {
        push(Change::KeepOrder(keep_order));
    }
    if let Some(file) = point.loss {
        push(Change::Loss(loss(file, place)?));
    }
    if let Some(share) = point.duplication {
        push(Change::Duplication(share.0));
    }
    Ok(())
}

fn scaled(rate: Rate, scale: f64) -> Bitrate {
    let bits = (rate.0.bits_per_second() as f64 / scale).round() as u64;
    Bitrate::new(bits.max(1)).unwrap_or(rate.0)
}

fn scaled_queue(limit: QueueLimit, scale: f64) -> QueueLimit {
    let divided = |number: f64| (number / scale).round();
    match limit {
        // A queue of at least one packet stays one.
        QueueLimit::Packets(packets) => {
            QueueLimit::Packets((divided(packets as f64) as usize).max(packets.min(1)))
        }
        QueueLimit::Bytes(bytes) => {
            let least = bytes.0.min(FULL_PACKET);
            QueueLimit::Bytes(ByteCount((divided(bytes.0 as f64) as u64).max(least)))
        }
        other => other,
    }
}

/// A jitter of 0 is none.
fn jitter(file: JitterFile, place: Place<'_>) -> Result<Option<Jitter>> {
    let distribution = match (file.normal, file.uniform) {
        (Some(deviation), None) => Distribution::Normal { deviation: deviation.0 },
        (None, Some(half_width)) => Distribution::Uniform { half_width: half_width.0 },
        _ => {
            let message = "write one of { normal = \"2ms\" } (standard deviation) and { uniform = \"2ms\" } (half width)";
            return Err(place.error("jitter", message));
        }
    };
    let none = file.normal.or(file.uniform).is_some_and(|width| width.0.is_zero());
    let redraw = file.every.map_or(Redraw::EveryPacket, |period| Redraw::Every(period.0));
    Ok((!none).then_some(Jitter { distribution, redraw }))
}

fn loss(file: LossFile, place: Place<'_>) -> Result<Loss> {
    let bursty = match file {
        LossFile::Independent(share) if share.0.value() == 0.0 => return Ok(Loss::None),
        LossFile::Independent(share) => return Ok(Loss::Bernoulli(share.0)),
        LossFile::Bursty(bursty) => bursty,
    };
    match bursty {
        BurstyFile {
            mean: Some(mean),
            burst: Some(length),
            to_bad: None,
            to_good: None,
            loss_good: None,
            loss_bad: None,
        } => Loss::bursts(mean.0, length.0).ok_or_else(|| {
            let what = format!(
                "no link loses {} % in bursts of {} packets; write longer bursts or less loss",
                mean.0.value() * 100.0,
                length.0
            );
            place.error("loss", what)
        }),
        BurstyFile {
            mean: None,
            burst: None,
            to_bad: Some(to_bad),
            to_good: Some(to_good),
            loss_good: Some(loss_good),
            loss_bad: Some(loss_bad),
        } => Ok(Loss::GilbertElliott {
            to_bad: to_bad.0,
            to_good: to_good.0,
            loss_good: loss_good.0,
            loss_bad: loss_bad.0,
        }),
        _ => {
            let message = "write { mean = \"1%\", burst = 4 }, or all of to_bad, to_good, loss_good and loss_bad";
            Err(place.error("loss", message))
        }
    }
}

/// A trace of rates: lines of a time and a rate, separated by a comma. Numbers without a unit are seconds and Mbit/s.
fn read_trace(file: &str, directory: Option<&Path>) -> Result<Vec<(Duration, Rate)>> {
    let directory =
        directory.context("an experiment of the catalogue has no directory for trace files")?;
    let path = directory.join(file);
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("{} cannot be read", path.display()))?;
    parse_trace(&text).with_context(|| path.display().to_string())
}

fn parse_trace(text: &str) -> Result<Vec<(Duration, Rate)>> {
    let mut points = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') || (index == 0 && line == "time,rate") {
            continue;
        }
        let at = || format!("line {}", index + 1);
        let (time, rate) =
            line.split_once(',').with_context(|| format!("{}: write time,rate", at()))?;
        let with_unit = |text: &str, unit: &str| match text.trim() {
            number if number.parse::<f64>().is_ok() => format!("{number}{unit}"),
            quantity => quantity.to_owned(),
        };
        let parsed = Time::parse(&with_unit(time, "s"));
        let time = parsed.map_err(Error::msg).with_context(at)?;
        // A link that stands still for a while has the lowest rate there is.
        let rate = match with_unit(rate, "mbit").as_str() {
            "0mbit" | "0.0mbit" => Rate(Bitrate::new(1).context("no rate")?),
            text => Rate::parse(text).map_err(Error::msg).with_context(at)?,
        };
        points.push((time.0, rate));
        anyhow::ensure!(points.len() <= MOST_POINTS, "more than {MOST_POINTS} lines");
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_are_lines_of_time_and_rate() {
        let points = parse_trace("time,rate\n# a comment\n0,10\n0.5s,2mbit\n1,0\n").unwrap();
        let rates: Vec<u64> = points.iter().map(|(_, rate)| rate.0.bits_per_second()).collect();
        assert_eq!(rates, [10_000_000, 2_000_000, 1]);
        assert_eq!(points[1].0, Duration::from_millis(500));
        let why = |text| format!("{:#}", parse_trace(text).unwrap_err());
        assert_eq!(why("0,10\n5"), "line 2: write time,rate");
        assert!(why("0,ten").starts_with("line 1: \"ten\" is not a rate; write for example"));
        assert!(why("-1,10").starts_with("line 1: \"-1s\" is not a time"));
    }

    fn limited(queue: QueueLimit, megabits: u64) -> Wire {
        let rate = Bitrate::from_megabits(megabits);
        Wire { params: Params { rate, queue, ..Params::default() }, schedule: Vec::new() }
    }

    #[test]
    fn queues_of_different_kinds_are_summed_as_bytes() {
        let time = limited(QueueLimit::Time(Duration::from_millis(400)), 10);
        let packets = limited(QueueLimit::Packets(1000), 100);
        let bytes = ByteCount(500_000 + 1_500_000);
        assert_eq!(summed_queue(&[&time, &packets]), QueueLimit::Bytes(bytes));
        assert_eq!(summed_queue(&[&time, &time]), time.params.queue);
        assert_eq!(summed_queue(&[&packets, &packets]), QueueLimit::Packets(2000));
    }

    #[test]
    fn the_sum_has_the_average_loss_by_rate() {
        let mut lossy = limited(QueueLimit::Packets(100), 10);
        let probability = mpt_link::Probability::new(0.11).unwrap();
        lossy.params.loss = Loss::Bernoulli(probability);
        lossy.params.delay = Duration::from_millis(10);
        let clean = limited(QueueLimit::Packets(1000), 100);
        let sum = sum(&[&lossy, &clean], 0).unwrap();
        assert!((sum.params.loss.mean().value() - 0.01).abs() < 1e-12);
        assert_eq!(sum.params.rate, Bitrate::from_megabits(110));
        assert_eq!(sum.params.delay, Duration::from_millis(10));
    }

    #[test]
    fn the_sum_takes_as_long_for_a_packet_as_the_slowest_link() {
        let slow = limited(QueueLimit::Packets(100), 10);
        let mut fast = limited(QueueLimit::Packets(100), 30);
        fast.params.delay = Duration::from_micros(100);
        let sum = sum(&[&slow, &fast], FULL_PACKET).unwrap();
        // 1,200 us at 10 Mbit/s, 300 of which it takes at 40 Mbit/s.
        assert_eq!(sum.params.delay, Duration::from_micros(900));
    }
}
