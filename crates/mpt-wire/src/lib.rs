//! Bytes to types and back: GRE in UDP, IP, UDP, TCP and ICMP headers, checksums.
#![forbid(unsafe_code)]
