//! The counters of the kernel.

use anyhow::{Context, Result, bail};
use mpt_link::{Counters, Tally};
use serde::Deserialize;

use crate::topology::Host;

/// The root qdisc of a device, as `tc -s -j qdisc` reports it.
#[derive(Debug, Clone, Deserialize)]
struct Qdisc {
    kind: String,
    #[serde(default)]
    root: bool,
    bytes: u64,
    packets: u64,
    drops: u64,
}

/// Returns what became of the packets of one direction. The kernel tells how many it dropped, not how large they were; nor how
/// often a packet was sent twice.
pub(super) fn counters(host: &Host, rate: &str, wire: &str) -> Result<Counters> {
    let queue = root(&show(host, rate)?, "tbf")?;
    let wire = root(&show(host, wire)?, "netem")?;
    let mut counters = Counters::default();
    // The first that there is has been offered all of them.
    if let Some(first) = queue.as_ref().or(wire.as_ref()) {
        let packets = first.packets + first.drops;
        counters.offered = Tally { packets, bytes: first.bytes };
    }
    counters.queue_full.packets = queue.map_or(0, |queue| queue.drops);
    counters.lost.packets = wire.map_or(0, |wire| wire.drops);
    Ok(counters)
}

fn show(host: &Host, device: &str) -> Result<String> {
    let mut command = host.namespace().command("tc")?;
    command.args(["-s", "-j", "qdisc", "show", "dev", device]);
    let output = command.output().context("cannot run tc")?;
    if !output.status.success() {
        bail!("tc qdisc show dev {device}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn root(json: &str, kind: &str) -> Result<Option<Qdisc>> {
    let qdiscs: Vec<Qdisc> = serde_json::from_str(json).context("cannot read what tc says")?;
    Ok(qdiscs.into_iter().find(|qdisc| qdisc.root && qdisc.kind == kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_found() {
        // iproute2 6.1, shortened.
        let json = r#"[{"kind":"tbf","handle":"1:","root":true,"refcnt":2,"options":{"rate":1250000,
            "burst":4000,"lat":20000},"bytes":12345,"packets":20,"drops":3,"overlimits":10,"requeues":0,
            "backlog":0,"qlen":0},{"kind":"pfifo","handle":"10:","parent":"1:1","options":{"limit":51},
            "bytes":12345,"packets":20,"drops":3,"overlimits":0,"requeues":0,"backlog":0,"qlen":0}]"#;
        let found = root(json, "tbf").unwrap().unwrap();
        assert_eq!((found.packets, found.bytes, found.drops), (20, 12345, 3));
        assert!(root(json, "netem").unwrap().is_none());
        assert!(root("", "tbf").is_err());
    }
}
