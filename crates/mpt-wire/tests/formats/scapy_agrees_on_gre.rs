//! Scapy as a second opinion on GRE: it builds headers with all combinations of the flags, which we
//! accept or refuse by RFC 2784; and it reads what we emit.

use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;

use mpt_wire::gre::{Error, Protocol, Repr};

use crate::support::{all_gre_reprs, from_hex, gre_datagram, to_hex};

/// Reads values of the 16 bits of flags and version, and prints the header as Scapy builds it with
/// those bits. The optional words are there as Scapy knows them: checksum and offset with C or R.
const BUILD: &str = r#"
import sys
from scapy.compat import raw
from scapy.layers.l2 import GRE
from scapy.packet import Raw

for line in sys.stdin:
    bits = int(line)
    bit = lambda number: bits >> (15 - number) & 1
    header = GRE(
        chksum_present=bit(0), routing_present=bit(1), key_present=bit(2), seqnum_present=bit(3),
        strict_route_source=bit(4), recursion_control=bits >> 8 & 7, flags=bits >> 3 & 31,
        version=bits & 7, proto=0x86dd, key=0xcafe0000 | bits, seqence_number=0xf0000000 | bits,
    )
    print(raw(header / Raw(b"\x60odd")).hex())
"#;

/// Reads hexadecimal GRE packets and prints what Scapy finds in them, `-` for what is not there.
/// The checksum is what Scapy computes for the same packet beside the one that came.
const DISSECT: &str = r#"
import sys
from scapy.compat import raw
from scapy.layers.l2 import GRE

for line in sys.stdin:
    packet = GRE(bytes.fromhex(line.strip()))
    again = packet.copy()
    del again.chksum
    shown = lambda value: "-" if value is None else value
    print(
        packet.chksum_present, packet.key_present, packet.seqnum_present, packet.version,
        packet.proto, shown(packet.chksum), shown(GRE(raw(again)).chksum), shown(packet.key),
        shown(packet.seqence_number), raw(packet.payload).hex(),
    )
"#;

const PAYLOAD: &[u8] = b"\x60odd";

#[test]
fn every_combination_of_the_flags_is_read_as_scapy_means_it() {
    // All that matters; of the seven bits that are ignored each alone, none and all.
    let ignored = (3..10).map(|bit| 1 << bit).chain([0, 0x03f8]);
    let values: Vec<u16> = ignored
        .flat_map(|ignored| (0..64).map(move |flags| ignored | flags << 10))
        .flat_map(|flags| (0..8).map(move |version| flags | version))
        .collect();
    let input: String = values.iter().map(|bits| format!("{bits}\n")).collect();
    let output = run(BUILD, &input);
    assert_eq!(output.lines().count(), values.len());
    let (mut accepted, mut refused) = (0, 0);
    for (bits, line) in values.into_iter().zip(output.lines()) {
        let datagram = from_hex(line);
        assert_eq!(datagram[..2], bits.to_be_bytes(), "Scapy sets the bits it is told to");
        let bit = |number: u32| bits >> (15 - number) & 1 == 1;
        let expected = if bits & 7 != 0 {
            Err(Error::Version)
        } else if bit(1) || bit(4) || bit(5) {
            Err(Error::ReservedFlags)
        } else {
            let repr = Repr {
                protocol: Protocol::IPV6,
                checksum: bit(0),
                key: bit(2).then_some(0xcafe_0000 | u32::from(bits)),
                sequence: bit(3).then_some(0xf000_0000 | u32::from(bits)),
            };
            Ok((repr, datagram.len() - PAYLOAD.len()))
        };
        assert_eq!(Repr::parse(&datagram), expected, "flags and version 0x{bits:04x}");
        if let Ok((repr, offset)) = expected {
            assert_eq!(&datagram[offset..], PAYLOAD);
            // If no bit that we ignore is set, we emit the same bytes.
            if bits & 0x03ff == 0 {
                assert_eq!(gre_datagram(&repr, PAYLOAD), datagram, "0x{bits:04x}");
            }
            accepted += 1;
        } else {
            refused += 1;
        }
    }
    // C, K and S, with each of the nine values of what is ignored; all the rest.
    assert_eq!((accepted, refused), (8 * 9, (64 * 8 - 8) * 9));
}

#[test]
fn what_we_emit_is_read_by_scapy() {
    let reprs = all_gre_reprs();
    let datagrams: Vec<Vec<u8>> = reprs.iter().map(|repr| gre_datagram(repr, PAYLOAD)).collect();
    let input: String = datagrams.iter().map(|datagram| to_hex(datagram) + "\n").collect();
    let output = run(DISSECT, &input);
    assert_eq!(output.lines().count(), reprs.len());
    for ((repr, datagram), line) in reprs.iter().zip(&datagrams).zip(output.lines()) {
        let shown = |value: Option<u32>| value.map_or("-".to_owned(), |value| value.to_string());
        let checksum = repr.checksum.then(|| u16::from_be_bytes([datagram[4], datagram[5]]).into());
        let expected = format!(
            "{} {} {} 0 {} {} {} {} {} {}",
            u8::from(repr.checksum),
            u8::from(repr.key.is_some()),
            u8::from(repr.sequence.is_some()),
            repr.protocol.0,
            shown(checksum),
            shown(checksum),
            shown(repr.key),
            shown(repr.sequence),
            to_hex(PAYLOAD),
        );
        assert_eq!(line, expected, "{repr}");
    }
}

/// Runs a Python program that needs Scapy.
fn run(program: &str, input: &str) -> String {
    let mut python = Command::new(python_with_scapy())
        .args(["-c", program])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("Python has just been started");
    let mut stdin = python.stdin.take().expect("a pipe");
    // Beside the reading, so that neither waits for the other when a pipe is full.
    let output = thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input.as_bytes()));
        python.wait_with_output().expect("Python ends")
    });
    assert!(output.status.success(), "Scapy: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// The Python that has Scapy: the first one in PATH, or else that of the distribution, whose
/// packages another Python in PATH does not see.
fn python_with_scapy() -> &'static str {
    let has_scapy = |python: &&str| {
        let output = Command::new(python).args(["-c", "import scapy.layers.l2"]).output();
        output.is_ok_and(|output| output.status.success())
    };
    ["python3", "/usr/bin/python3"].into_iter().find(has_scapy).expect(
        "this test needs Python 3 with Scapy (Debian and Ubuntu: apt install python3-scapy)",
    )
}
