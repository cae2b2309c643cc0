//! Lines of a text by the offsets that its parser reports.

/// The beginnings of the lines of a text.
#[derive(Clone, Debug)]
pub struct Lines {
    /// Offset of the first byte of each line.
    starts: Vec<usize>,
}

impl Lines {
    /// Notes the lines of a text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self {
            starts: std::iter::once(0)
                .chain(text.match_indices('\n').map(|(at, _)| at + 1))
                .collect(),
        }
    }

    /// Returns the line of the byte at `offset`, counted from 1. A position behind the text counts to its last line.
    #[must_use]
    pub fn line(&self, offset: usize) -> usize {
        self.starts.partition_point(|&start| start <= offset).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_feed_ends_its_line() {
        let lines = Lines::of("ab\n\nc");
        let found: Vec<_> = [0, 1, 2, 3, 4, 5, 99].map(|offset| lines.line(offset)).into();
        assert_eq!(found, [1, 1, 1, 2, 3, 3, 3]);
        assert_eq!(Lines::of("").line(0), 1);
    }
}
