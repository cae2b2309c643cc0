//! One JSON object per line.

use std::io::{self, BufRead, ErrorKind};

use serde::Serialize;

/// The message as one line, newline included.
///
/// # Panics
///
/// Never for the types of this crate: their maps have string keys and nothing in them can fail to serialise.
pub fn to_line(message: &impl Serialize) -> String {
    let mut line = serde_json::to_string(message).expect("API types serialise to JSON");
    line.push('\n');
    line
}

/// Reads one line of at most `limit` bytes, and gives it without its newline; `None` at the end of the stream.
///
/// # Errors
///
/// [`ErrorKind::InvalidData`] when the line is longer, [`ErrorKind::UnexpectedEof`] when the stream ends inside a line, and
/// whatever `reader` fails with.
pub fn read_line(reader: &mut impl BufRead, limit: usize) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    loop {
        let available = match reader.fill_buf() {
            Ok(available) => available,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if available.is_empty() {
            return match line.len() {
                0 => Ok(None),
                _ => Err(ErrorKind::UnexpectedEof.into()),
            };
        }
        let end = available.iter().position(|&byte| byte == b'\n');
        let piece = &available[..end.unwrap_or(available.len())];
        if line.len() + piece.len() > limit {
            return Err(io::Error::new(
                ErrorKind::InvalidData,
                format!("line longer than {limit} bytes"),
            ));
        }
        line.extend_from_slice(piece);
        let consumed = piece.len() + usize::from(end.is_some());
        reader.consume(consumed);
        if end.is_some() {
            return Ok(Some(line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_whatever_the_buffer_size() {
        for capacity in 1..8 {
            let mut reader = io::BufReader::with_capacity(capacity, &b"abc\n\nde\n"[..]);
            assert_eq!(read_line(&mut reader, 3).unwrap().unwrap(), b"abc");
            assert_eq!(read_line(&mut reader, 3).unwrap().unwrap(), b"");
            assert_eq!(read_line(&mut reader, 3).unwrap().unwrap(), b"de");
            assert_eq!(read_line(&mut reader, 3).unwrap(), None);
        }
    }

    #[test]
    fn a_longer_line_is_refused() {
        let mut reader = io::BufReader::with_capacity(2, &b"abcd\n"[..]);
        assert_eq!(read_line(&mut reader, 3).unwrap_err().kind(), ErrorKind::InvalidData);
    }

    #[test]
    fn a_line_without_its_end_is_refused() {
        assert_eq!(read_line(&mut &b"ab"[..], 3).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }
}
