//! The class of a packet from the peer: whether it waits for packets that are missing before it, as
//! configured.

use mpt_wire::ip;

use crate::reorder::Class;
use crate::{Repair, Selector};

/// Returns what a packet from the peer is to the play-out, which `plays` if packets are held at
/// present. An answer to what one of the `prompt` selectors matches never waits.
#[inline]
pub(super) fn class_of(
    prompt: &[Selector],
    repair: Repair,
    summary: &ip::Summary,
    inner: &[u8],
    plays: bool,
) -> Class {
    if !prompt.is_empty() && prompt.iter().any(|selector| selector.matches_answer(summary)) {
        return Class::Other;
    }
    match repair {
        Repair::All => Class::Ordered,
        Repair::Auto | Repair::Off => Class::of(summary, inner, plays),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The class of a TCP segment with payload, or of a UDP datagram of 100 bytes.
    fn class(prompt: &[Selector], repair: Repair, protocol: u8) -> Class {
        let mut packet = vec![0; 100];
        packet[..4].copy_from_slice(&[0x45, 0, 0, 100]);
        (packet[8], packet[9]) = (64, protocol);
        packet[12..20].copy_from_slice(&[10, 1, 0, 1, 10, 0, 0, 1]);
        packet[32] = 5 << 4;
        let summary = ip::Summary::parse(&packet).expect("an IPv4 packet");
        class_of(prompt, repair, &summary, &packet, true)
    }

    #[test]
    fn a_class_that_is_delivered_late_goes_before_what_repair_says() {
        const UDP: u8 = ip::protocol::UDP;
        const TCP: u8 = ip::protocol::TCP;
        let everything = [Selector::to("10.1.0.0/16".parse().unwrap())];
        let udp = [Selector { protocol: Some(UDP), ..everything[0] }];
        assert!(matches!(class(&[], Repair::Auto, TCP), Class::Payload { .. }));
        assert!(matches!(class(&[], Repair::Off, UDP), Class::Datagram { large: false, .. }));
        assert_eq!(class(&[], Repair::All, UDP), Class::Ordered);
        assert_eq!(class(&udp, Repair::All, UDP), Class::Other);
        assert_eq!(class(&udp, Repair::All, TCP), Class::Ordered);
        assert_eq!(class(&everything, Repair::Auto, TCP), Class::Other);
    }
}
