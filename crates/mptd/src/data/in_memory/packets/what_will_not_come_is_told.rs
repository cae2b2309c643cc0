//! A host that will not send a lost packet again says so, and its peer no longer waits for it.

use std::collections::BTreeSet;
use std::time::Duration;

use mpt_link::{Change, Loss, Probability};

use crate::data::in_memory::system::network::{Network, Side, slow_line};

const MILLISECOND: Duration = Duration::from_millis(1);

/// The only connection of a host.
fn connection(
    network: &Network,
    side: Side,
) -> &mpt_core::Connection<crate::data::memory::buffers::PacketRef> {
    let tunnels = network.hosts[side].data.node.tunnels();
    tunnels.connections().next().expect("the one there is").1
}

#[test]
fn what_is_lost_again_and_again_is_given_up_at_both_ends() {
    for seed in 0..3 {
        let lines = [slow_line(20, 10), slow_line(20, 10)];
        let mut network = Network::new(seed, &lines, "mapping = \"adaptive\"\nrepair = \"all\"");
        network.establish();
        network.hosts[0].form.payload = 1_172;
        network.send(0, 1000, 500, 2 * MILLISECOND);
        let half = Loss::Bernoulli(Probability::new(0.5).expect("a probability"));
        for line in 0..2 {
            let now = network.now();
            network.link(0, line).change(now, Change::Loss(half));
        }
        network.send(0, 1000, 2_000, 2 * MILLISECOND);
        for line in 0..2 {
            let now = network.now();
            network.link(0, line).change(now, Change::Loss(Loss::None));
        }
        network.send(0, 1000, 500, 2 * MILLISECOND);
        network.run(Duration::from_secs(2));

        let told = connection(&network, 0).refusals_told();
        let remarks = connection(&network, 1).remarks();
        assert!(told > 0, "nothing was refused");
        // A refusal may have been lost. A packet that came meanwhile, or was waited for as long as one repair takes, is not within reach any more.
        let heard = remarks.refused_by_peer + remarks.refusals_ignored;
        assert!((told / 4..=told).contains(&heard), "{told} told, {remarks:?}");
        assert!(remarks.refused_by_peer > 0, "{told} told, {remarks:?}");

        let numbers = network.hosts[1].numbers();
        let different: BTreeSet<u64> = numbers.iter().copied().collect();
        assert_eq!(different.len(), numbers.len(), "each came once");
        let sent = network.hosts[0].sent();
        let late: BTreeSet<u64> = (sent - 400..sent).collect();
        assert!(late.is_subset(&different), "what followed the loss came");
        assert_eq!(connection(&network, 1).equalized().map(|it| it.waiting()), Some(0));
    }
}
