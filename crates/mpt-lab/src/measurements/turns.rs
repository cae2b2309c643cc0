//! The order in which compared things are measured.

/// Returns the order of so many things in a turn: every other turn runs backwards, so that none is always the first.
pub(super) fn order(turn: u32, count: usize) -> impl Iterator<Item = usize> {
    let backwards = !turn.is_multiple_of(2);
    (0..count).map(move |place| if backwards { count - 1 - place } else { place })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_turn_runs_backwards() {
        let turns: Vec<Vec<_>> = (0..3).map(|turn| order(turn, 3).collect()).collect();
        assert_eq!(turns, [[0, 1, 2], [2, 1, 0], [0, 1, 2]]);
    }
}
