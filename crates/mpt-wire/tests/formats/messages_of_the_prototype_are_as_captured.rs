//! Bytes that were captured from the prototype, read and written again.

use std::net::IpAddr;

use mpt_wire::compat::command::{
    Authentication, Code, Error, Header, PathStatus, Round, announced,
};
use mpt_wire::compat::keepalive::Keepalive;

use crate::support::{from_hex, to_hex};

const INITIATOR: &str = "00000000000000000000ffff0a000002";
const RESPONDER: &str = "00000000000000000000ffff0a000003";
const PUBLIC: &str = "00000000000000000000ffff0a010102";
const REMOTE: &str = "00000000000000000000ffff0a010103";

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn header(argument: u8, authentication: Authentication, round: Round) -> Header {
    Header {
        code: Code::PathStatus,
        argument,
        authentication,
        round,
        initiator: address("10.0.0.2"),
        responder: address("10.0.0.3"),
    }
}

/// The message is read as this header and payload, and written as it was.
#[track_caller]
fn holds(hex: &str, expected: Header, payload: &str, len: usize) {
    let bytes = from_hex(&hex.replace(' ', ""));
    assert_eq!(bytes.len(), len);
    let (header, rest) = Header::parse(&bytes).unwrap();
    assert_eq!((header, to_hex(rest)), (expected, payload.replace(' ', "")));
    let mut again = Vec::new();
    header.emit(rest, &mut again);
    assert_eq!(to_hex(&again), to_hex(&bytes));
}

#[test]
fn an_exchange_without_authentication() {
    let none = Authentication::None;
    let ends = format!("{INITIATOR}{RESPONDER}");
    let first = format!("a280000001040000{ends}20000000");
    holds(&first, header(0x80, none, Round::One), "20000000", 44);
    let second = format!("a200000002040000{ends}20000000");
    holds(&second, header(0, none, Round::Two), "20000000", 44);
    let third = format!("a280000003040000{ends}{PUBLIC}{REMOTE}");
    holds(&third, header(0x80, none, Round::Three), &format!("{PUBLIC}{REMOTE}"), 72);
    let fourth = format!("a200000004040000{ends}");
    holds(&fourth, header(0, none, Round::Four), "", 40);
}

#[test]
fn an_exchange_with_a_nonce() {
    let ends = format!("{INITIATOR}{RESPONDER}");
    let nonce = Authentication::Nonce;
    let first = format!("a2800104 00000000 01040000{ends}20000000");
    holds(&first, header(0x80, nonce(0), Round::One), "20000000", 48);
    let second = format!("a2000104 caf5a22b 02040000{ends}20000000");
    holds(&second, header(0, nonce(0xcaf5_a22b), Round::Two), "20000000", 48);
    let third = format!("a2800104 caf5a22b 03040000{ends}{PUBLIC}{REMOTE}");
    let payload = format!("{PUBLIC}{REMOTE}");
    holds(&third, header(0x80, nonce(0xcaf5_a22b), Round::Three), &payload, 76);
    let fourth = format!("a2000104 caf5a22b 04040000{ends}");
    holds(&fourth, header(0, nonce(0xcaf5_a22b), Round::Four), "", 44);
}

#[test]
fn an_exchange_with_digests() {
    let ends = format!("{INITIATOR}{RESPONDER}");
    let payload = format!("{PUBLIC}{REMOTE}");
    let rounds = [
        (
            0x80,
            "00000000",
            "3026133bc9f7b0e18e5d13860f922e8c712d2a3fc5cb2732d41aceb30c917d72",
            Round::One,
            "20000000",
            80,
        ),
        (
            0,
            "b7ba7151",
            "ff43bac13ddfcdf72b68868934bb87689c06281607ecf90c6c870d2500f1006f",
            Round::Two,
            "20000000",
            80,
        ),
        (
            0x80,
            "b7ba7151",
            "b5bc99cf38cb3453c7c13cf054eb1c9df45f9564edbbcf5bfda2dfbe6a686546",
            Round::Three,
            payload.as_str(),
            108,
        ),
        (
            0,
            "b7ba7151",
            "b9963a625df6c66f5539d2362916bab3e294a213d83b7fad6cb3074c749486f9",
            Round::Four,
            "",
            76,
        ),
    ];
    for (argument, nonce, digest, round, payload, len) in rounds {
        let number = round as u8 + 1;
        let bytes = format!("a2{argument:02x}0224{nonce}{digest}{number:02x}040000{ends}{payload}");
        let authentication = Authentication::Digest {
            nonce: u32::from_str_radix(nonce, 16).unwrap(),
            digest: from_hex(digest).try_into().unwrap(),
        };
        holds(&bytes, header(argument, authentication, round), payload, len);
    }
}

#[test]
fn the_first_round_of_a_creation() {
    let digest = "7137f022e7b6e701aa106bdf6144aaf32ec3d166cc7a0544a0d25392593c9259";
    let bytes = format!("a3000224 00000000 {digest} 01040000{INITIATOR}{RESPONDER}71040000");
    let authentication =
        Authentication::Digest { nonce: 0, digest: from_hex(digest).try_into().unwrap() };
    let expected = Header { code: Code::Create, ..header(0, authentication, Round::One) };
    holds(&bytes, expected, "71040000", 80);
    assert_eq!(to_hex(&announced(1137)), "71040000");
    assert_eq!(to_hex(&announced(32)), "20000000");
}

#[test]
fn which_path_is_meant() {
    let status = PathStatus { public: address("10.1.1.2"), remote: address("10.1.1.3") };
    let bytes = from_hex(&format!("{PUBLIC}{REMOTE}"));
    assert_eq!(PathStatus::parse(&bytes), Ok(status));
    assert_eq!(status.emit()[..], bytes);
    assert_eq!(PathStatus::parse(&bytes[1..]), Err(Error::Truncated));
}

#[test]
fn keepalives() {
    let v4 = Keepalive { sender: address("10.0.0.3"), receiver: address("10.0.0.2") };
    let expected = format!("00000800a100000000040000{RESPONDER}{INITIATOR}");
    assert_eq!(to_hex(&v4.emit()), expected);

    let v6 = Keepalive { sender: address("fec0::3"), receiver: address("fec0::2") };
    let (three, two) = ("fec00000000000000000000000000003", "fec00000000000000000000000000002");
    assert_eq!(to_hex(&v6.emit()), format!("000086dda100000000060000{three}{two}"));
}

/// The prototype takes, executes or answers these, and we do not.
#[test]
fn what_is_no_command_is_refused() {
    let good = from_hex(&format!("a280000001040000{INITIATOR}{RESPONDER}20000000"));
    let with = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        Header::parse(&bytes).map(|_| ())
    };
    assert_eq!(with(0, 0xa1), Err(Error::Code));
    assert_eq!(with(0, 0xa4), Err(Error::Code));
    assert_eq!(with(2, 3), Err(Error::Authentication));
    // A digest would not fit.
    assert_eq!(with(2, 2), Err(Error::Truncated));
    for round in [0, 5, 255] {
        assert_eq!(with(4, round), Err(Error::Round));
    }
    for version in [0, 5, 6] {
        assert_eq!(with(5, version), Err(Error::Version));
    }
    assert_eq!(Header::parse(&good[..39]).map(|_| ()), Err(Error::Truncated));
    assert_eq!(Header::parse(&[0xa2; 1601]).map(|_| ()), Err(Error::TooLong));
}
