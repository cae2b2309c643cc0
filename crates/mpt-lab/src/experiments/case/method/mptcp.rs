//! Multipath TCP of the kernel (RFC 8684), by its own path manager.

use anyhow::{Result, bail};

use crate::experiments::case::environment::settings::set;
use crate::experiments::case::network::{self, Network};
use crate::experiments::case::observation::counters::Counters;
use crate::topology::End;

/// The most subflows that the kernel's path manager takes besides the first one (`MPTCP_PM_ADDR_MAX`).
const MOST_SUBFLOWS: usize = 8;

/// Lets every link be a subflow. Host b announces its addresses, and host a connects to each: the route to it decides over which of
/// its own links.
pub(super) fn configure(network: &Network) -> Result<()> {
    let more = network.names().len().saturating_sub(1).min(MOST_SUBFLOWS).to_string();
    for end in [End::A, End::B] {
        let host = network.host(end);
        set(host, &[("mptcp/enabled", "1".into())])?;
        host.ip(&["mptcp", "limits", "set", "subflows", &more, "add_addr_accepted", &more])?;
    }
    for (link, name) in network.names().iter().enumerate().skip(1).take(MOST_SUBFLOWS) {
        let address = network::address(link, End::B, 4).to_string();
        network.host(End::B).ip(&["mptcp", "endpoint", "add", &address, "dev", name, "signal"])?;
    }
    Ok(())
}

/// Checks that Multipath TCP was used, and over how many of the links; `grown` is the growth of the counters.
pub(super) fn check(links: usize, grown: &Counters) -> Result<Vec<String>> {
    let counter = |name: &str| grown.get(&format!("a/mptcpext/{name}")).copied().unwrap_or(0);
    let connections = counter("MPCapableSYNACKRX");
    if connections == 0 {
        bail!("no connection became one of Multipath TCP");
    }
    let subflows = 1 + counter("MPJoinSynAckRx") / connections;
    if subflows < links as u64 {
        return Ok(vec![format!("Multipath TCP used {subflows} of {links} links")]);
    }
    Ok(Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subflows_are_counted() {
        let counters = |capable: u64, joined: u64| -> Counters {
            [("MPCapableSYNACKRX", capable), ("MPJoinSynAckRx", joined)]
                .map(|(name, value)| (format!("a/mptcpext/{name}"), value))
                .into()
        };
        assert_eq!(check(2, &counters(1, 1)).unwrap(), [""; 0]);
        assert_eq!(check(12, &counters(1, 8)).unwrap().len(), 1);
        assert_eq!(check(3, &counters(2, 4)).unwrap(), [""; 0]);
        assert!(check(2, &counters(0, 0)).is_err());
    }
}
