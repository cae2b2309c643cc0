//! A line that loses some of what arrives.

use crate::hosts::Host;

/// Has a host lose one in ten of the datagrams that arrive on a line.
pub(crate) fn lose_some(host: &Host, line: &str) {
    let chain = "{ type filter hook input priority 0 ; }";
    let rule = format!("iifname {line} udp dport 4754 numgen random mod 10 == 0 drop");
    host.program("nft", "add table inet lossy");
    host.program("nft", &format!("add chain inet lossy arriving {chain}"));
    host.program("nft", &format!("add rule inet lossy arriving {rule}"));
}

/// Has it lose nothing any more.
pub(crate) fn lose_nothing(host: &Host) {
    host.program("nft", "delete table inet lossy");
}
