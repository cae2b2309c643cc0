//! Support of a plan by the kernel.

use mpt_link::{Change, Jitter, Params, Redraw};

use super::qdisc::needs_netem;
use crate::emulator::plan::{ChannelPlan, EmulatorPlan};

/// Queueing disciplines of this kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Disciplines {
    pub(super) tbf: bool,
    pub(super) netem: bool,
}

/// Returns what keeps the kernel from realising the plan.
pub(super) fn obstacle(plan: &EmulatorPlan, kernel: Disciplines) -> Option<String> {
    let mut users = vec![0; plan.channels.len()];
    for cable in &plan.cables {
        for hops in [&cable.forward, &cable.backward] {
            if hops.len() > 1 {
                return Some(format!(
                    "cable {}: several channels one after the other; only the emulator has them",
                    cable.name
                ));
            }
            for &hop in hops {
                // A plan that names others has been refused.
                if let Some(users) = users.get_mut(hop) {
                    *users += 1;
                }
            }
        }
    }
    for (number, (channel, users)) in plan.channels.iter().zip(users).enumerate() {
        let what = if users > 1 {
            "is shared; only the emulator has that"
        } else if channel.medium.is_some() {
            "is a half-duplex medium; only the emulator has that"
        } else if states(channel).any(|params| wanders(&params)) {
            "has a jitter that lasts for a while; only the emulator has that"
        } else if !channel.params.slot.is_zero() {
            "sends in slots; only the emulator has that"
        } else if channel.params.mark_above.is_some() {
            "marks packets; only the emulator has that"
        } else if channel.fair {
            "serves flows in turns; only the emulator has that"
        } else if !kernel.tbf && states(channel).any(|params| params.rate.is_some()) {
            "has a rate; tbf: this kernel does not have it"
        } else if !kernel.netem && states(channel).any(|params| needs_netem(&params)) {
            "has delay, jitter, loss or duplication; netem: this kernel does not have it"
        } else {
            continue;
        };
        return Some(format!("channel {number} {what}"));
    }
    None
}

/// Returns what a channel is like in the beginning, and with each of its changes.
fn states(channel: &ChannelPlan) -> impl Iterator<Item = Params> {
    let changed = channel.schedule.iter().map(|&(_, change)| applied(channel.params, change));
    std::iter::once(channel.params).chain(changed)
}

/// Returns the parameters after a change.
pub(super) fn applied(mut params: Params, change: Change) -> Params {
    match change {
        Change::Rate(rate) => params.rate = rate,
        Change::Queue(queue) => params.queue = queue,
        Change::Delay(delay) => params.delay = delay,
        Change::Jitter(jitter) => params.jitter = jitter,
        Change::KeepOrder(keep_order) => params.keep_order = keep_order,
        Change::Loss(loss) => params.loss = loss,
        Change::Duplication(duplication) => params.duplication = duplication,
    }
    params
}

fn wanders(params: &Params) -> bool {
    matches!(params.jitter, Some(Jitter { redraw: Redraw::Every(_), .. }))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mpt_link::{Bitrate, Medium};

    use super::*;
    use crate::emulator::plan::tests::cable;

    const ALL: Disciplines = Disciplines { tbf: true, netem: true };
    const TBF: Disciplines = Disciplines { tbf: true, netem: false };

    fn plan(channels: Vec<ChannelPlan>, forward: &[usize], backward: &[usize]) -> EmulatorPlan {
        let cables = vec![cable(forward, backward)];
        EmulatorPlan { channels, cables, ..EmulatorPlan::default() }
    }

    #[test]
    fn a_rate_takes_tbf_and_the_rest_netem() {
        let params = Params { rate: Bitrate::new(1), ..Params::default() };
        let rate = ChannelPlan { params, ..ChannelPlan::default() };
        let one = plan(vec![rate.clone()], &[0], &[]);
        assert_eq!(obstacle(&one, TBF), None);
        assert_eq!(
            obstacle(&one, Disciplines { tbf: false, netem: true }).unwrap(),
            "channel 0 has a rate; tbf: this kernel does not have it"
        );
        // Not at once, but later.
        let schedule = vec![(Duration::ZERO, Change::Delay(Duration::from_millis(1)))];
        let delay = plan(vec![ChannelPlan { schedule, ..rate }], &[0], &[]);
        assert_eq!(obstacle(&delay, ALL), None);
        assert_eq!(
            obstacle(&delay, TBF).unwrap(),
            "channel 0 has delay, jitter, loss or duplication; netem: this kernel does not have it"
        );
    }

    #[test]
    fn what_only_the_emulator_has_is_named() {
        let channel = ChannelPlan::default;
        let refusal = |plan| obstacle(&plan, ALL).unwrap();
        let shared = refusal(plan(vec![channel()], &[0], &[0]));
        assert_eq!(shared, "channel 0 is shared; only the emulator has that");
        let chain = refusal(plan(vec![channel(), channel()], &[0, 1], &[]));
        assert!(chain.starts_with("cable a-b: several channels"), "{chain}");
        let medium = ChannelPlan { medium: Some(Medium::default()), ..channel() };
        assert!(refusal(plan(vec![medium], &[0], &[])).contains("half-duplex"));
        let fair = ChannelPlan { fair: true, ..channel() };
        assert!(refusal(plan(vec![fair], &[0], &[])).contains("serves flows in turns"));
        let params = Params { mark_above: Some(Duration::ZERO), ..Params::default() };
        let marking = ChannelPlan { params, ..channel() };
        assert!(refusal(plan(vec![marking], &[0], &[])).contains("marks packets"));
    }
}
