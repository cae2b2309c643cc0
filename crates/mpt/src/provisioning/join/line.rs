//! The line that `mpt setup` prints and `mpt join` reads: where the server is, how it is known, and a token.
//!
//! Behind `mpt1:` stands, in the alphabet of base64 that needs no quoting anywhere, the [`Line`] as `postcard` writes it, with a CRC-32 that
//! finds characters lost or changed on the way.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use crc::{CRC_32_ISCSI, Crc};
use mpt_core::session::{JOIN_SECRET_LEN, KEY_LEN, PublicKey};
use serde::{Deserialize, Serialize};

/// The beginning of a line, which names the format.
const PREFIX: &str = "mpt1:";
/// The greatest length that is read, in characters: more than any line has.
const LONGEST: usize = 1024;
const CRC: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

/// The content of a line.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Line {
    /// Address or name of the server.
    pub(crate) host: String,
    /// UDP port of the server.
    pub(crate) port: u16,
    key: [u8; KEY_LEN],
    /// Secret of the token.
    pub(crate) secret: [u8; JOIN_SECRET_LEN],
    /// End of the token, in seconds since 1970 by the server's clock.
    expires: u32,
}

impl Line {
    /// Returns a line for a token that is good for this time from now on.
    pub(crate) fn new(
        host: String,
        port: u16,
        key: &PublicKey,
        secret: [u8; JOIN_SECRET_LEN],
        left: Duration,
    ) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let expires = u32::try_from((now + left).as_secs()).unwrap_or(u32::MAX);
        Self { host, port, key: *key.as_bytes(), secret, expires }
    }

    /// The public key of the server.
    pub(crate) fn key(&self) -> PublicKey {
        PublicKey::from(self.key)
    }

    /// Returns how long ago the token ended, if the clocks of both hosts agree.
    pub(crate) fn ended_ago(&self) -> Option<Duration> {
        let end = UNIX_EPOCH + Duration::from_secs(self.expires.into());
        SystemTime::now().duration_since(end).ok()
    }

    /// The line as text.
    pub(crate) fn to_text(&self) -> String {
        // Strings and bytes can always be written to memory.
        let bytes = postcard::to_allocvec_crc32(self, CRC.digest()).unwrap_or_default();
        format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))
    }

    /// Reads a line.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong with it and what to do.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let again = "copy the whole line that mpt setup printed, from mpt1: to its last character";
        let text = text.trim();
        let Some(body) = text.strip_prefix(PREFIX) else {
            let later = text.strip_prefix("mpt").and_then(|rest| rest.split_once(':'));
            return Err(match later {
                Some((version, _)) if version.parse::<u32>().is_ok() => format!(
                    "this line is in format mpt{version}, and this mpt reads mpt1 only; install the version of mpt that the server has"
                ),
                _ => format!("this is no line to join with; {again}"),
            });
        };
        if body.len() > LONGEST {
            return Err(format!("the line is longer than any; {again}"));
        }
        let damaged = || format!("the line is damaged: characters are missing or changed; {again}");
        let bytes = URL_SAFE_NO_PAD.decode(body).map_err(|_| damaged())?;
        let line: Self = postcard::from_bytes_crc32(&bytes, CRC.digest()).map_err(|_| damaged())?;
        let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | ':' | '-' | '_');
        if line.host.is_empty() || !line.host.chars().all(is_host) || line.port == 0 {
            return Err("the line names no server; have another one made".into());
        }
        Ok(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> Line {
        let key = PublicKey::from([5; KEY_LEN]);
        Line {
            expires: 1_800_000_000,
            ..Line::new("vpn.example.org".into(), 4754, &key, [7; 16], Duration::ZERO)
        }
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let text = line().to_text();
        assert_eq!(
            text,
            "mpt1:D3Zwbi5leGFtcGxlLm9yZ5IlBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUHBwcHBwcHBwcHBwcHBwcHgKSn2gbVpmyl"
        );
        assert!(Line::parse(&format!("  {text}\n")).is_ok_and(|read| read == line()));
    }

    /// The line is refused whichever single character is changed or left out.
    #[test]
    fn a_damaged_line_is_refused() {
        let text = line().to_text();
        for at in 5..text.len() {
            let other = if text.as_bytes()[at] == b'A' { 'B' } else { 'A' };
            let changed = format!("{}{other}{}", &text[..at], &text[at + 1..]);
            let shorter = format!("{}{}", &text[..at], &text[at + 1..]);
            for bad in [changed, shorter, text[..at].to_owned()] {
                let Err(why) = Line::parse(&bad) else { panic!("{bad} is read") };
                assert!(why.starts_with("the line is damaged"), "{why}");
            }
        }
    }

    #[test]
    fn other_texts_are_told_apart() {
        for (text, expected) in [
            ("", "this is no line to join with"),
            ("https://example.org", "this is no line to join with"),
            ("mpt2:AAAA", "this line is in format mpt2"),
            ("mpt1:", "the line is damaged"),
        ] {
            let Err(why) = Line::parse(text) else { panic!("{text} is read") };
            assert!(why.starts_with(expected), "{text}: {why}");
        }
    }

    #[test]
    fn a_name_that_would_break_the_configuration_is_refused() {
        let bad = Line { host: "a\"\n[daemon]".into(), ..line() };
        assert!(Line::parse(&bad.to_text()).is_err());
    }
}
