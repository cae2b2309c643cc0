//! The session stands again, whatever has happened: from every state that can be reached, the two ends and the network come to an established
//! session by themselves.
//!
//! The checker's own properties say this only of states in which nothing more happens. An initiator that repeats itself in vain always has a next step.

use std::collections::HashMap;
use std::collections::hash_map::{DefaultHasher, Entry};
use std::hash::{Hash, Hasher};

use stateright::Model;

use crate::{Handshake, State};

/// States by number, with the steps that lead to each without the attacker and without accidents.
#[derive(Default)]
struct Graph {
    numbers: HashMap<u64, u32>,
    /// The states from which an honest step leads to a state, by its number.
    before: Vec<Vec<u32>>,
    /// States that are established, or from which a step leads out of the bounds.
    good: Vec<u32>,
}

impl Graph {
    /// Returns the number of a state, and whether it is new.
    fn number(&mut self, state: &State) -> (u32, bool) {
        let mut hasher = DefaultHasher::new();
        state.hash(&mut hasher);
        let next = u32::try_from(self.before.len()).expect("as many states as a model has");
        match self.numbers.entry(hasher.finish()) {
            Entry::Occupied(known) => (*known.get(), false),
            Entry::Vacant(new) => {
                new.insert(next);
                self.before.push(Vec::new());
                (next, true)
            }
        }
    }

    /// Returns how many states lead to no good one.
    fn stuck(&self) -> usize {
        let mut reached = vec![false; self.before.len()];
        let mut next = self.good.clone();
        while let Some(number) = next.pop() {
            if !std::mem::replace(&mut reached[number as usize], true) {
                next.extend(&self.before[number as usize]);
            }
        }
        reached.iter().filter(|reached| !**reached).count()
    }
}

impl Handshake {
    /// Returns how many states can be reached, and from how many of them no session comes about by honest steps alone.
    ///
    /// # Panics
    ///
    /// Panics if there are more states than 2^32.
    #[must_use]
    pub fn states_and_stuck_ones(&self) -> (usize, usize) {
        let mut graph = Graph::default();
        let mut queue = Vec::new();
        for state in self.init_states() {
            graph.number(&state);
            queue.push(state);
        }
        let (mut actions, mut honest) = (Vec::new(), Vec::new());
        while let Some(state) = queue.pop() {
            let (number, _) = graph.number(&state);
            actions.clear();
            honest.clear();
            self.actions(&state, &mut actions);
            state.honest_actions(&mut honest);
            let mut is_good = state.is_established();
            for action in &actions {
                let Some(next) = self.next_state(&state, *action) else { continue };
                if !self.within_boundary(&next) {
                    is_good |= honest.contains(action);
                    continue;
                }
                let (to, is_new) = graph.number(&next);
                if honest.contains(action) {
                    graph.before[to as usize].push(number);
                }
                if is_new {
                    queue.push(next);
                }
            }
            if is_good {
                graph.good.push(number);
            }
        }
        (graph.before.len(), graph.stuck())
    }
}
