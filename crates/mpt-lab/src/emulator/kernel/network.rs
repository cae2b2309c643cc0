//! Cables through a namespace of the laboratory, in which their qdiscs are.
//!
//! ```text
//!  device -- a [bridge] x -- y [bridge] b -- device
//! ```
//!
//! Frames from the first end pass the queue of `x` (rate), then that of `b` (wire); those from the second `y`, then `a`. The queues are not on the
//! hosts themselves: there, TCP would know how full they are, and stop.

use anyhow::Result;
use mpt_linux::netlink::{Netlink, VethEnd};
use mpt_linux::netns::Namespace;

use crate::emulator::plan::CablePlan;
use crate::topology::Host;

/// Devices of a cable in the middle namespace.
#[derive(Debug, Clone)]
pub(super) struct Middle {
    /// The devices that face the first and the second end.
    pub(super) outer: [String; 2],
    /// The devices between the bridges, on the side of the first and of the second end.
    pub(super) inner: [String; 2],
}

impl Middle {
    pub(super) fn new(number: usize) -> Self {
        let name = |letter| format!("{letter}{number}");
        Self { outer: ["a", "b"].map(name), inner: ["x", "y"].map(name) }
    }

    /// Returns the device with the token bucket of a direction: 0 forward, 1 backward.
    pub(super) fn rate(&self, direction: usize) -> &str {
        &self.inner[direction]
    }

    /// Returns the device with the `netem` of a direction.
    pub(super) fn wire(&self, direction: usize) -> &str {
        &self.outer[1 - direction]
    }

    /// Lays the cable.
    pub(super) fn build(&self, host: &Host, number: usize, plan: &CablePlan) -> Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(self.connect(host.namespace(), plan))?;
        for (side, bridge) in
            ["p", "q"].map(|letter| format!("{letter}{number}")).iter().enumerate()
        {
            host.ip(&["link", "add", bridge, "type", "bridge", "mcast_snooping", "0"])?;
            for device in [&self.outer[side], &self.inner[side], bridge] {
                // The device has no addresses of its own.
                host.ip(&["link", "set", device, "addrgenmode", "none"])?;
                if device != bridge {
                    host.ip(&["link", "set", device, "master", bridge])?;
                }
                host.ip(&["link", "set", device, "up"])?;
            }
        }
        Ok(())
    }

    async fn connect(&self, middle: &Namespace, plan: &CablePlan) -> Result<()> {
        let netlink = Netlink::connect_in(middle)?;
        let [x, y] = self.inner.each_ref().map(|name| VethEnd { name, namespace: middle });
        netlink.add_veth(x, y).await?;
        for (outer, end) in self.outer.iter().zip(&plan.ends) {
            let namespace = Namespace::open(&end.namespace)?;
            let ours = VethEnd { name: outer, namespace: middle };
            let theirs = VethEnd { name: &end.device, namespace: &namespace };
            netlink.add_veth(ours, theirs).await?;
            let remote = Netlink::connect_in(&namespace)?;
            let index = remote.link(&end.device).await?.index;
            remote.set_mtu(index, end.mtu.into()).await?;
            remote.set_up(index).await?;
        }
        let mtu = plan.ends.iter().map(|end| end.mtu).max().unwrap_or_default();
        for device in self.outer.iter().chain(&self.inner) {
            let index = netlink.link(device).await?.index;
            netlink.set_mtu(index, mtu.into()).await?;
        }
        Ok(())
    }

    /// Takes the carrier away from both ends, or gives it back.
    pub(super) fn set_carrier(&self, host: &Host, carrier: bool) -> Result<()> {
        let state = if carrier { "up" } else { "down" };
        self.outer.iter().try_for_each(|device| host.ip(&["link", "set", device, state]).map(drop))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_direction_is_shaped_on_its_own_way_out() {
        let middle = Middle::new(3);
        assert_eq!((middle.rate(0), middle.wire(0)), ("x3", "b3"));
        assert_eq!((middle.rate(1), middle.wire(1)), ("y3", "a3"));
    }
}
