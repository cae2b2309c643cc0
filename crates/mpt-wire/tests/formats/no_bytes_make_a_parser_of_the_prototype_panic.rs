//! Fuzz targets that are ordinary tests, too: whatever the bytes, the parsers of the prototype's
//! messages say something, and what they accept is written as they read it.

use mpt_wire::compat::MAX_DATAGRAM_LEN;
use mpt_wire::compat::command::{self, Error, Header, PathStatus};

const ITERATIONS: usize = 20_000;

/// Bytes, and what makes a command of them: random ones would hardly ever be one.
#[derive(Debug, bolero::TypeGenerator)]
struct Bytes {
    bytes: Vec<u8>,
    /// Code, authentication, round and version, each a little more often right than wrong.
    command: Option<(u8, u8, u8, bool)>,
}

impl Bytes {
    fn build(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let Some((code, authentication, round, v4)) = self.command else { return bytes };
        let (code, authentication, round) = (0xa1 + code % 4, authentication % 4, round % 6);
        let length = [0, 4, 36, 36][usize::from(authentication)];
        bytes.resize(length + 40 + bytes.len() % 64, 0x5a);
        (bytes[0], bytes[2], bytes[3]) = (code, authentication, length as u8);
        bytes[length + 4..length + 8].copy_from_slice(&[round, if v4 { 4 } else { 6 }, 0, 0]);
        if v4 {
            for at in [8, 24] {
                bytes[length + at..length + at + 10].fill(0);
                bytes[length + at + 10..length + at + 12].fill(0xff);
            }
        }
        bytes
    }
}

#[test]
fn fuzz_command() {
    bolero::check!().with_iterations(ITERATIONS).with_type::<Bytes>().for_each(|bytes| {
        let bytes = bytes.build();
        match Header::parse(&bytes) {
            Ok((header, payload)) => {
                let mut again = Vec::new();
                header.emit(payload, &mut again);
                // Fields that no parser reads are written as they should be.
                let zeros = header.authentication.wire_len() + 6;
                let mut expected = bytes.clone();
                expected[3] = header.authentication.wire_len() as u8;
                expected[zeros..zeros + 2].fill(0);
                assert_eq!(again, expected);
            }
            Err(Error::Truncated) => assert!(bytes.len() < command::HEADER_LEN + 36),
            Err(Error::TooLong) => assert!(bytes.len() > MAX_DATAGRAM_LEN),
            Err(_) => {}
        }
    });
}

#[test]
fn fuzz_path_status() {
    bolero::check!().with_iterations(ITERATIONS).with_type::<Vec<u8>>().for_each(|bytes| {
        match PathStatus::parse(bytes) {
            Ok(status) => assert_eq!(status.emit()[..], bytes[..command::PATH_STATUS_LEN]),
            Err(error) => assert_eq!(error, Error::Truncated),
        }
    });
}
