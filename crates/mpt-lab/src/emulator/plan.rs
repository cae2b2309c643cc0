//! The network to be emulated, as data: it goes to the emulator's process as JSON.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use mpt_link::{Change, Medium, Params, Probability};
use serde::{Deserialize, Serialize};

/// Most channels one direction of a cable passes: access link, backbone, access link, and one to spare.
pub(crate) const MOST_HOPS: usize = 4;

/// A network of emulated links.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct EmulatorPlan {
    /// The seed of the random decisions. The same seed makes the same decisions for the same packets.
    pub(crate) seed: u64,
    /// True if the emulator never sleeps: more exact, at the price of a whole processor.
    #[serde(default)]
    pub(crate) spin: bool,
    /// True to move frames one by one, without super-packets: for tests. Kernels that cannot do better are found out anyway.
    #[serde(default)]
    pub(crate) plain: bool,
    /// The transmitters. Cables name them by their index.
    pub(crate) channels: Vec<ChannelPlan>,
    /// The cables between the hosts.
    pub(crate) cables: Vec<CablePlan>,
}

/// One transmitter with its queue and its wire; by default a perfect one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ChannelPlan {
    /// The parameters at the beginning.
    pub(crate) params: Params,
    /// Changes, each with its time after the command to start.
    #[serde(default)]
    pub(crate) schedule: Vec<(Duration, Change)>,
    /// A half-duplex medium, if the channel is one: each direction of each cable is a station that has to get access.
    #[serde(default)]
    pub(crate) medium: Option<Medium>,
    /// True if its queue serves flows in turns and keeps each of them short (FQ-CoDel, RFC 8290) instead of having the limit and the marks of its
    /// parameters.
    #[serde(default)]
    pub(crate) fair: bool,
}

/// Two devices, and the channels between them in either direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CablePlan {
    /// Its name in messages and reports.
    pub(crate) name: String,
    /// Its devices.
    pub(crate) ends: [EndPlan; 2],
    /// Indices of the channels that frames pass from the first end to the second, one after the other. An empty list is a perfect wire. A channel may
    /// be part of several directions and cables, which then share rate and queue.
    pub(crate) forward: Vec<usize>,
    /// Indices of the channels that frames pass from the second end to the first.
    pub(crate) backward: Vec<usize>,
}

/// A device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct EndPlan {
    /// The path of the namespace in which it is made ([`mpt_linux::netns::Namespace::path`]).
    pub(crate) namespace: PathBuf,
    /// Its name, 1 to 15 bytes.
    pub(crate) device: String,
    /// Largest IP packet, in bytes.
    pub(crate) mtu: u16,
}

/// Longest schedule. The model decides how precisely it is kept; this is a sane limit.
const LONGEST_SCHEDULE: Duration = Duration::from_secs(24 * 60 * 60);

impl EmulatorPlan {
    /// Rejects plans that are impossible: channels that do not exist, two devices of one name.
    ///
    /// # Errors
    ///
    /// Returns an error that names the cable or channel.
    pub(crate) fn check(&self) -> Result<()> {
        let mut devices = HashSet::new();
        for cable in &self.cables {
            let name = &cable.name;
            for (direction, hops) in [("forward", &cable.forward), ("backward", &cable.backward)] {
                ensure!(
                    hops.len() <= MOST_HOPS,
                    "cable {name}: {} channels {direction}, at most {MOST_HOPS}",
                    hops.len()
                );
                for &hop in hops {
                    ensure!(hop < self.channels.len(), "cable {name}: there is no channel {hop}");
                }
            }
            for end in &cable.ends {
                let place = (&end.namespace, &end.device);
                ensure!(devices.insert(place), "two devices {} in one namespace", end.device);
            }
        }
        for (number, channel) in self.channels.iter().enumerate() {
            let twice = |change: &(Duration, Change)| matches!(change.1, Change::Duplication(_));
            let copies = channel.params.duplication != Probability::default()
                || channel.schedule.iter().any(twice);
            ensure!(
                !(channel.fair && copies),
                "channel {number}: what serves flows in turns duplicates nothing"
            );
            ensure!(
                !(channel.fair && channel.medium.is_some()),
                "channel {number}: a medium that stations share does not serve flows in turns"
            );
            let last = channel.schedule.iter().map(|&(after, _)| after).max();
            ensure!(
                last.is_none_or(|last| last <= LONGEST_SCHEDULE),
                "channel {number}: its schedule ends after more than a day"
            );
        }
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use mpt_link::{Bitrate, Distribution, Jitter, Loss, QueueLimit, Redraw};

    use super::*;

    pub(crate) fn cable(forward: &[usize], backward: &[usize]) -> CablePlan {
        let end = |number| EndPlan {
            namespace: PathBuf::from(format!("/run/netns/host{number}")),
            device: "link0".into(),
            mtu: 1500,
        };
        CablePlan {
            name: "a-b".into(),
            ends: [end(1), end(2)],
            forward: forward.into(),
            backward: backward.into(),
        }
    }

    #[test]
    fn plans_survive_the_way_to_the_process() {
        let params = Params {
            rate: Bitrate::from_megabits(100),
            queue: QueueLimit::Time(Duration::from_millis(20)),
            delay: Duration::from_micros(5001),
            jitter: Some(Jitter {
                distribution: Distribution::Normal { deviation: Duration::from_millis(1) },
                redraw: Redraw::Every(Duration::from_millis(100)),
            }),
            keep_order: true,
            loss: Loss::bursts(Probability::new(0.01).unwrap(), 3.0).unwrap(),
            duplication: Probability::new(0.001).unwrap(),
            mark_above: Some(Duration::from_millis(5)),
            slot: Duration::from_millis(1),
        };
        let schedule = vec![(Duration::from_secs(1), Change::Rate(Bitrate::new(1)))];
        let medium = Some(Medium { access: Duration::from_micros(100), burst: Duration::ZERO });
        let channels = vec![
            ChannelPlan { params, schedule, medium, fair: false },
            ChannelPlan { fair: true, ..ChannelPlan::default() },
        ];
        let cables = vec![cable(&[0], &[0])];
        let plan = EmulatorPlan { seed: 7, spin: true, plain: false, channels, cables };
        plan.check().unwrap();
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<EmulatorPlan>(&text).unwrap(), plan);
    }

    #[test]
    fn impossible_plans_are_told() {
        let refusal = |cables| {
            let channels = vec![ChannelPlan::default()];
            let plan = EmulatorPlan { channels, cables, ..EmulatorPlan::default() };
            plan.check().unwrap_err().to_string()
        };
        assert_eq!(refusal(vec![cable(&[1], &[])]), "cable a-b: there is no channel 1");
        assert_eq!(refusal(vec![cable(&[0; 5], &[])]), "cable a-b: 5 channels forward, at most 4");
        let twice = vec![cable(&[0], &[]), cable(&[], &[0])];
        assert_eq!(refusal(twice), "two devices link0 in one namespace");
        let fair = |channel: ChannelPlan| {
            let channels = vec![ChannelPlan { fair: true, ..channel }];
            let plan = EmulatorPlan { channels, ..EmulatorPlan::default() };
            plan.check().unwrap_err().to_string()
        };
        let params = Params { duplication: Probability::ONE, ..Params::default() };
        let copies = ChannelPlan { params, ..ChannelPlan::default() };
        assert_eq!(fair(copies), "channel 0: what serves flows in turns duplicates nothing");
        let schedule = vec![(Duration::ZERO, Change::Duplication(Probability::ONE))];
        let later = ChannelPlan { schedule, ..ChannelPlan::default() };
        assert_eq!(fair(later), "channel 0: what serves flows in turns duplicates nothing");
        let medium = ChannelPlan { medium: Some(Medium::default()), ..ChannelPlan::default() };
        assert!(fair(medium).ends_with("does not serve flows in turns"));
    }
}
