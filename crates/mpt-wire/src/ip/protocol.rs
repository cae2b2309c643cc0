//! Assigned protocol numbers (IANA "Protocol Numbers"): the IPv4 protocol or IPv6 next header.

/// IPv6 hop-by-hop options (RFC 8200 section 4.3).
pub const HOP_BY_HOP: u8 = 0;
/// ICMP for IPv4 (RFC 792).
pub const ICMP: u8 = 1;
/// TCP (RFC 9293).
pub const TCP: u8 = 6;
/// UDP (RFC 768).
pub const UDP: u8 = 17;
/// DCCP (RFC 4340).
pub const DCCP: u8 = 33;
/// IPv6 routing header (RFC 8200 section 4.4).
pub const ROUTING: u8 = 43;
/// IPv6 fragment header (RFC 8200 section 4.5).
pub const FRAGMENT: u8 = 44;
/// GRE (RFC 2784).
pub const GRE: u8 = 47;
/// IP encapsulating security payload (RFC 4303).
pub const ESP: u8 = 50;
/// IP authentication header (RFC 4302).
pub const AUTHENTICATION: u8 = 51;
/// ICMPv6 (RFC 4443).
pub const ICMPV6: u8 = 58;
/// No next header (RFC 8200 section 4.7).
pub const NO_NEXT_HEADER: u8 = 59;
/// IPv6 destination options (RFC 8200 section 4.6).
pub const DESTINATION_OPTIONS: u8 = 60;
/// OSPF (RFC 2328).
pub const OSPF: u8 = 89;
/// SCTP (RFC 9260).
pub const SCTP: u8 = 132;
/// UDP-Lite (RFC 3828).
pub const UDP_LITE: u8 = 136;

/// The protocols whose headers begin with a source and a destination port.
pub const WITH_PORTS: [u8; 5] = [TCP, UDP, DCCP, SCTP, UDP_LITE];
