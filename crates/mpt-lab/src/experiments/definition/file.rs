//! The contents of an experiment's file with its variables put in: types and their names, nothing else.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};

use super::syntax::units::{Limit, Quantity, Rate, Share, Size, Time};
use crate::experiments::case::{Backend, Protocol};

/// The keys that do not vary.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    pub(super) title: String,
    #[serde(default)]
    pub(super) source: String,
    #[serde(default)]
    pub(super) about: String,
    #[serde(default = "goodput")]
    pub(super) metric: String,
    #[serde(default)]
    pub(super) also: Vec<String>,
    #[serde(default)]
    pub(super) plots: Vec<String>,
    #[serde(default = "one")]
    pub(super) repetitions: u32,
    #[serde(default)]
    pub(super) strict: bool,
    #[serde(default)]
    pub(super) published: Vec<PublishedFile>,
    #[serde(default)]
    pub(super) expectation: Vec<ExpectationFile>,
}

fn goodput() -> String {
    crate::experiments::case::metric::GOODPUT.into()
}

fn one() -> u32 {
    1
}

/// `[[published]]`: figures of the paper along one axis, or a single one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PublishedFile {
    pub(super) row: String,
    pub(super) metric: Option<String>,
    pub(super) along: Option<String>,
    pub(super) values: Option<Vec<Number>>,
    pub(super) value: Option<Number>,
    #[serde(default)]
    pub(super) only: BTreeMap<String, String>,
}

/// `[[expectation]]`: a condition on the figures.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExpectationFile {
    pub(super) what: String,
    pub(super) row: String,
    pub(super) metric: Option<String>,
    #[serde(default)]
    pub(super) over: Vec<String>,
    #[serde(default)]
    pub(super) difference: bool,
    pub(super) at_least: Option<Number>,
    pub(super) at_most: Option<Number>,
    pub(super) sound_up_to: Option<Number>,
    #[serde(default)]
    pub(super) only: BTreeMap<String, Values>,
    #[serde(default)]
    pub(super) goal: bool,
}

/// The keys that may vary.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Body {
    #[serde(default)]
    pub(super) network: NetworkFile,
    #[serde(default)]
    pub(super) channel: Vec<ChannelFile>,
    pub(super) link: Vec<LinkFile>,
    pub(super) traffic: TrafficFile,
    #[serde(default)]
    pub(super) measure: MeasureFile,
    #[serde(default)]
    pub(super) beside: Vec<BesideFile>,
    #[serde(default)]
    pub(super) event: Vec<EventFile>,
    pub(super) rows: Vec<RowFile>,
}

/// `[network]`: the backend of the links, the scale and the seed, and receive steering.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct NetworkFile {
    pub(super) backend: Backend,
    pub(super) scale: f64,
    pub(super) seed: u64,
    pub(super) receive_steering: bool,
}

impl Default for NetworkFile {
    fn default() -> Self {
        Self { backend: Backend::Emulator, scale: 1.0, seed: 1, receive_steering: false }
    }
}

/// One direction of a link: its transmitter and its wire.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Shape {
    pub(super) rate: Option<Rate>,
    pub(super) queue: Option<QueueFile>,
    pub(super) mark_above: Option<Time>,
    pub(super) slot: Option<Time>,
    pub(super) delay: Option<Time>,
    pub(super) jitter: Option<JitterFile>,
    pub(super) keep_order: Option<bool>,
    pub(super) loss: Option<LossFile>,
    pub(super) duplication: Option<Share>,
    pub(super) schedule: Option<Vec<PointFile>>,
    pub(super) trace: Option<String>,
    pub(super) redraw: Option<RedrawFile>,
}

impl Shape {
    /// Fills the keys that are not set here from `other`.
    pub(super) fn or(&self, other: &Self) -> Self {
        Self {
            rate: self.rate.or(other.rate),
            queue: self.queue.or(other.queue),
            mark_above: self.mark_above.or(other.mark_above),
            slot: self.slot.or(other.slot),
            delay: self.delay.or(other.delay),
            jitter: self.jitter.or(other.jitter),
            keep_order: self.keep_order.or(other.keep_order),
            loss: self.loss.or(other.loss),
            duplication: self.duplication.or(other.duplication),
            schedule: self.schedule.clone().or_else(|| other.schedule.clone()),
            trace: self.trace.clone().or_else(|| other.trace.clone()),
            redraw: self.redraw.or(other.redraw),
        }
    }
}

/// Defines a table that has the keys of [`Shape`] beside its own: derived deserialisers either flatten a table or refuse
/// unknown keys.
macro_rules! shaped {
    ($(#[$meta:meta])* $name:ident { $($(#[$attribute:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct $name {
            $($(#[$attribute])* pub(super) $field: $type,)*
            rate: Option<Rate>,
            queue: Option<QueueFile>,
            mark_above: Option<Time>,
            slot: Option<Time>,
            delay: Option<Time>,
            jitter: Option<JitterFile>,
            keep_order: Option<bool>,
            loss: Option<LossFile>,
            duplication: Option<Share>,
            schedule: Option<Vec<PointFile>>,
            trace: Option<String>,
            redraw: Option<RedrawFile>,
        }

        impl $name {
            /// Returns what both directions have in common.
            pub(super) fn shape(&self) -> Shape {
                Shape {
                    rate: self.rate,
                    queue: self.queue,
                    mark_above: self.mark_above,
                    slot: self.slot,
                    delay: self.delay,
                    jitter: self.jitter,
                    keep_order: self.keep_order,
                    loss: self.loss,
                    duplication: self.duplication,
                    schedule: self.schedule.clone(),
                    trace: self.trace.clone(),
                    redraw: self.redraw,
                }
            }
        }
    };
}

shaped! {
    /// `[[link]]`: between the hosts, with a device at each. Its own keys hold for both directions, those in `forward` and `backward` for one.
    LinkFile {
        name: Option<String>,
        count: Option<u16>,
        mtu: Option<u16>,
        #[serde(default)]
        via: Vec<String>,
        #[serde(default)]
        forward: Shape,
        #[serde(default)]
        backward: Shape,
    }
}

shaped! {
    /// `[[channel]]`: a transmitter that several links lead through, one for each direction unless `half_duplex`.
    ChannelFile {
        name: String,
        #[serde(default)]
        half_duplex: bool,
        access: Option<Time>,
        burst: Option<Time>,
    }
}

/// A change of a link in time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PointFile {
    pub(super) after: Time,
    pub(super) rate: Option<Rate>,
    pub(super) queue: Option<Limit>,
    pub(super) delay: Option<Time>,
    pub(super) jitter: Option<JitterFile>,
    pub(super) keep_order: Option<bool>,
    pub(super) loss: Option<LossFile>,
    pub(super) duplication: Option<Share>,
}

/// `redraw`: the rate is drawn again at an interval, from an equal distribution within a share of it.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RedrawFile {
    pub(super) every: Time,
    pub(super) within: Share,
}

/// A limit of the queue, or `"fq_codel"` for one that serves flows in turns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum QueueFile {
    Limit(Limit),
    FqCodel,
}

/// `{ normal = "2ms" }` or `{ uniform = "2ms" }`, for each packet or for a time.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JitterFile {
    pub(super) normal: Option<Time>,
    pub(super) uniform: Option<Time>,
    pub(super) every: Option<Time>,
}

/// `"1%"`, or a table of a bursty link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum LossFile {
    Independent(Share),
    Bursty(BurstyFile),
}

/// `{ mean = "1%", burst = 4 }`: bursts of 4 packets in the mean, in which all are lost; or all four probabilities of the
/// model of Gilbert and Elliott.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BurstyFile {
    pub(super) mean: Option<Share>,
    pub(super) burst: Option<Number>,
    pub(super) to_bad: Option<Share>,
    pub(super) to_good: Option<Share>,
    pub(super) loss_good: Option<Share>,
    pub(super) loss_bad: Option<Share>,
}

/// `[traffic]`: each kind has its own keys.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TrafficFile {
    pub(super) kind: TrafficKind,
    pub(super) duration: Option<Time>,
    pub(super) flows: Option<u16>,
    pub(super) congestion: Option<String>,
    pub(super) ecn: Option<bool>,
    pub(super) rate: Option<Rate>,
    pub(super) size: Option<u16>,
    pub(super) both_ways: Option<bool>,
    pub(super) dscp: Option<u8>,
    pub(super) count: Option<u32>,
    pub(super) interval: Option<Time>,
    pub(super) protocol: Option<Protocol>,
    pub(super) file: Option<Size>,
    pub(super) limit: Option<Time>,
}

/// `[measure]`: the part of the time that counts, the observations meanwhile, and the number of repetitions.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct MeasureFile {
    pub(super) lead: Option<Time>,
    pub(super) from: Option<Time>,
    pub(super) to: Option<Time>,
    pub(super) watch: Option<Time>,
    pub(super) reach: Vec<ReachFile>,
    pub(super) repetitions: Option<u32>,
}

/// A rate that is to be reached after a change.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReachFile {
    pub(super) step: StepKind,
    pub(super) after: Time,
    pub(super) until: Time,
    pub(super) rate: Rate,
}

/// See [`crate::experiments::case::Step`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum StepKind {
    Down,
    Up,
}

/// `[[beside]]`: each kind has its own keys; one of the kind "none" may have any.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BesideFile {
    pub(super) kind: BesideKind,
    pub(super) interval: Option<Time>,
    pub(super) pause: Option<Time>,
    pub(super) over: Option<String>,
    pub(super) after: Option<Time>,
    pub(super) congestion: Option<String>,
}

/// See [`crate::experiments::case::Beside`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum BesideKind {
    /// No companion, so that an axis may have cells without one.
    None,
    Ping,
    Echo,
    Page,
    Rival,
}

/// See [`crate::experiments::case::Traffic`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum TrafficKind {
    /// TCP by iperf3.
    Tcp,
    /// TCP by flows of the laboratory.
    Bulk,
    Udp,
    Rtp,
    Ping,
    Download,
}

/// `[[event]]`: something that happens while the traffic runs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventFile {
    pub(super) after: Time,
    #[serde(rename = "do")]
    pub(super) action: ActionKind,
    pub(super) link: String,
}

/// See [`crate::experiments::case::Action`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ActionKind {
    CarrierLost,
    CarrierBack,
    BlackHole,
    BlackHoleEnds,
    PathDown,
    PathUp,
}

/// An element of `rows`: a name alone, or a table that says more.
#[derive(Clone, Debug, Default)]
pub(super) struct RowFile(pub(super) RowTable);

/// The keys of a row; missing ones come from the preset of its name.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RowTable {
    pub(super) name: String,
    pub(super) label: Option<String>,
    pub(super) method: Option<MethodKind>,
    pub(super) links: Option<Vec<String>>,
    pub(super) adapter: Option<String>,
    pub(super) session: Option<bool>,
    pub(super) second_connection: Option<bool>,
    pub(super) inner: Option<u8>,
    pub(super) outer: Option<u8>,
    #[serde(default)]
    pub(super) connection: BTreeMap<String, toml::Value>,
    #[serde(default)]
    pub(super) path: BTreeMap<String, toml::Value>,
    pub(super) weights: Option<WeightsFile>,
    pub(super) weights_back: Option<WeightsFile>,
    #[serde(default)]
    pub(super) only: BTreeMap<String, Values>,
    pub(super) quick: Option<bool>,
}

/// The method by which a row uses the links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum MethodKind {
    /// A single link.
    Plain,
    /// A single link with the rate of all of them.
    SingleSum,
    Mptcp,
    Tunnel,
    Adapter,
}

/// `"rates"`, `"equal"`, `"none"`, or a weight for each link.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum WeightsFile {
    Rates,
    Equal,
    /// No weight is configured.
    None,
    List(Vec<u16>),
}

/// A number with or without a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number(pub(super) f64);

/// One value of an axis, or several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Values(pub(super) Vec<String>);

/// Implements [`Deserialize`] by a visitor of the forms that are allowed; the text says which.
macro_rules! forms {
    ($type:ty, $expecting:literal, $($method:tt)*) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Forms;
                impl<'de> Visitor<'de> for Forms {
                    type Value = $type;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expecting)
                    }

                    $($method)*
                }
                deserializer.deserialize_any(Forms)
            }
        }
    };
}

forms! { Number, "a number",
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Number, E> {
        Ok(Number(number as f64))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Number, E> {
        if number.is_finite() { Ok(Number(number)) } else { Err(E::custom("not a finite number")) }
    }
}

forms! { Values, "a value of the axis, or a list of them",
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Values, E> {
        Ok(Values(vec![text.into()]))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Values, E> {
        Ok(Values(vec![number.to_string()]))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Values, A::Error> {
        let mut all = Vec::new();
        while let Some(Values(values)) = list.next_element()? {
            all.extend(values);
        }
        Ok(Values(all))
    }
}

forms! { LossFile, "\"1%\", { mean, burst } or { to_bad, to_good, loss_good, loss_bad }",
    fn visit_str<E: de::Error>(self, text: &str) -> Result<LossFile, E> {
        Share::parse(text).map(LossFile::Independent).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LossFile, A::Error> {
        BurstyFile::deserialize(MapAccessDeserializer::new(map)).map(LossFile::Bursty)
    }
}

forms! { QueueFile, "a queue limit with its unit, or \"fq_codel\"",
    fn visit_str<E: de::Error>(self, text: &str) -> Result<QueueFile, E> {
        if text == "fq_codel" {
            return Ok(QueueFile::FqCodel);
        }
        Limit::parse(text).map(QueueFile::Limit).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<QueueFile, E> {
        Err(E::custom(format!("{number} has no unit; write {}", Limit::EXAMPLE)))
    }
}

forms! { RowFile, "a name, or a table with a name",
    fn visit_str<E: de::Error>(self, name: &str) -> Result<RowFile, E> {
        Ok(RowFile(RowTable { name: name.into(), ..RowTable::default() }))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RowFile, A::Error> {
        RowTable::deserialize(MapAccessDeserializer::new(map)).map(RowFile)
    }
}

forms! { WeightsFile, "\"rates\", \"equal\", \"none\" or a list of integers",
    fn visit_str<E: de::Error>(self, text: &str) -> Result<WeightsFile, E> {
        match text {
            "rates" => Ok(WeightsFile::Rates),
            "equal" => Ok(WeightsFile::Equal),
            "none" => Ok(WeightsFile::None),
            other => Err(E::custom(format!(
                "\"{other}\" is not known; write \"rates\", \"equal\", \"none\" or a weight for each link"
            ))),
        }
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<WeightsFile, A::Error> {
        let mut all = Vec::new();
        while let Some(weight) = list.next_element()? {
            all.push(weight);
        }
        Ok(WeightsFile::List(all))
    }
}
