//! A fuzz target that is an ordinary test, too: whatever a peer sends and whenever, both sides of
//! an exchange of requests keep their bounds.

#![expect(clippy::disallowed_methods, reason = "virtual time needs an instant to start from")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use mpt_core::session::requests::{
    Action, Completed, MAX_OUTSTANDING, RESULTS, Requester, Responder, WINDOW,
};
use mpt_wire::control::Message;
use mpt_wire::control::message::{MAX_CHUNK_LEN, MAX_RESULT_LEN};

const ITERATIONS: usize = 5_000;

#[derive(Debug, bolero::TypeGenerator)]
enum Step {
    Wait(u16),
    Request(u8),
    /// To the requester: id, offset, total and length, all of them near what is allowed.
    Result(u8, Number, Number, u16),
    /// As a right answer to what was asked for.
    RightResult(u8, u16),
}

#[derive(Clone, Copy, Debug, bolero::TypeGenerator)]
enum Number {
    Small(u16),
    Piece(u8, i8),
    Any(u32),
}

impl Number {
    fn value(self) -> u32 {
        match self {
            Number::Small(value) => value.into(),
            Number::Piece(piece, more) => {
                (u32::from(piece) * MAX_CHUNK_LEN as u32).saturating_add_signed(more.into())
            }
            Number::Any(value) => value,
        }
    }
}

#[test]
fn fuzz_control_requester() {
    bolero::check!().with_iterations(ITERATIONS).with_type::<(u32, Vec<Step>)>().for_each(
        |(first_id, steps)| {
            let mut requester = Requester::new(*first_id);
            let mut now = Instant::now();
            // Those that are outstanding, and the length of the result once it is known.
            let mut pending: BTreeMap<u32, Option<u32>> = BTreeMap::new();
            let mut asked = Vec::new();
            let bytes = [7; MAX_CHUNK_LEN + 100];
            let mut requests = 0;
            for step in steps {
                let mut result = None;
                match *step {
                    Step::Wait(time) => now += Duration::from_millis(time.into()),
                    Step::Request(len) => {
                        let made = requester.request(now, vec![1; len.into()]);
                        assert_eq!(made.is_ok(), pending.len() < MAX_OUTSTANDING);
                        if let Ok(id) = made {
                            // Wrapping around is tested elsewhere: here ids count from 0.
                            assert_eq!(id.wrapping_sub(*first_id), requests);
                            pending.insert(requests, None);
                            requests += 1;
                        }
                    }
                    Step::Result(id, offset, total, len) => {
                        let len = usize::from(len) % bytes.len();
                        result = Some((u32::from(id), offset.value(), total.value(), len));
                    }
                    Step::RightResult(which, total) => {
                        if !asked.is_empty() {
                            let (id, offset) = asked[usize::from(which) % asked.len()];
                            let known = pending.get(&id).copied().flatten();
                            let total = known.unwrap_or(total.into());
                            let len = total.saturating_sub(offset).min(MAX_CHUNK_LEN as u32);
                            result = Some((id, offset, total, len as usize));
                        }
                    }
                }
                if let Some((id, offset, total, len)) = result {
                    let first_piece =
                        offset.checked_add(len as u32).is_some_and(|end| end <= total)
                            && total <= MAX_RESULT_LEN
                            && (len > 0 || total == 0);
                    let oldest = pending.keys().next().copied().unwrap_or_default();
                    if first_piece
                        && id < oldest + RESULTS as u32
                        && let Some(known @ None) = pending.get_mut(&id)
                    {
                        *known = Some(total);
                    }
                    let name = first_id.wrapping_add(id);
                    let done = requester.handle_result(now, name, offset, total, &bytes[..len]);
                    if let Some(Completed { id: completed, result }) = done {
                        assert_eq!(completed, name);
                        assert_eq!(pending.remove(&id), Some(Some(total)));
                        assert_eq!(result, vec![7; total as usize]);
                    }
                }
                while let Some((id, _)) = requester.poll_failure(now) {
                    assert!(pending.remove(&id.wrapping_sub(*first_id)).is_some());
                }
                assert_eq!(requester.outstanding(), pending.len());
                let mut count = 0;
                while let Some(message) = requester.poll(now) {
                    let Message::Request { id, offset, .. } = message else {
                        panic!("{message:?}")
                    };
                    let id = id.wrapping_sub(*first_id);
                    assert!(offset == 0 || offset < pending[&id].expect("a piece came"));
                    asked.push((id, offset));
                    count += 1;
                }
                assert!(count <= RESULTS * WINDOW, "{count} at once");
                assert!(requester.next_timeout().is_none_or(|next| next > now));
                assert_eq!(requester.next_timeout().is_none(), pending.is_empty());
            }
        },
    );
}

#[derive(Debug, bolero::TypeGenerator)]
enum Act {
    Request(u8, Number),
    First(u8),
    Finish(u8, Number),
}

#[test]
fn fuzz_control_responder() {
    bolero::check!().with_iterations(ITERATIONS).with_type::<(u32, Vec<Act>)>().for_each(
        |(first_id, acts)| {
            let mut responder = Responder::new();
            let mut now = Instant::now();
            // Those that were run, and the length of the result.
            let mut run: BTreeMap<u8, Option<usize>> = BTreeMap::new();
            for act in acts {
                now += Duration::from_millis(1);
                let (id, offset) = match *act {
                    Act::Request(id, offset) => (id, offset.value()),
                    Act::First(id) => (id, 0),
                    Act::Finish(id, len) => {
                        let len = len.value().min(MAX_RESULT_LEN + 1) as usize;
                        let name = first_id.wrapping_add(id.into());
                        let newest = run.keys().last().copied();
                        match responder.finish(now, name, vec![id; len]) {
                            Ok(Some(first)) => {
                                is_piece(first, name, id, 0, len);
                                assert_eq!(run.insert(id, Some(len)), Some(None));
                            }
                            Ok(None) if matches!(run.get(&id), Some(None)) => {
                                assert!(newest.is_some_and(|newest| newest - id >= 8));
                                run.insert(id, Some(len));
                            }
                            Ok(None) => {}
                            Err(_) => assert!(len > MAX_RESULT_LEN as usize),
                        }
                        continue;
                    }
                };
                let name = first_id.wrapping_add(id.into());
                let newest = run.keys().last().copied();
                match responder.handle_request(now, name, offset) {
                    Action::Run => {
                        assert_eq!(offset, 0);
                        assert_eq!(run.insert(id, None), None, "run once");
                    }
                    Action::Send(message) => {
                        let len = run[&id].expect("a result");
                        is_piece(message, name, id, offset as usize, len);
                    }
                    Action::Refuse => {
                        let unfinished = run.values().filter(|len| len.is_none()).count();
                        assert_eq!((offset, unfinished), (0, RESULTS));
                    }
                    Action::Ignore => assert!(
                        offset != 0
                            || run.contains_key(&id)
                            || newest.is_some_and(|newest| newest >= id.saturating_add(8))
                    ),
                }
            }
        },
    );
}

/// Whether a message is what there is at an offset of a result that repeats one byte.
fn is_piece(message: Message<'_>, name: u32, byte: u8, from: usize, len: usize) {
    let piece = vec![byte; (len - from).min(MAX_CHUNK_LEN)];
    let (offset, total) = (from as u32, len as u32);
    assert_eq!(message, Message::Result { id: name, offset, total, chunk: &piece });
}
