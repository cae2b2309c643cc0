//! Two ends exchange requests and results over a channel that loses, doubles and reorders.

#![expect(clippy::disallowed_methods, reason = "virtual time needs an instant to start from")]

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::{Duration, Instant};

use mpt_core::session::Random;
use mpt_core::session::requests::{Action, Failure, GIVE_UP, MAX_KEPT, Requester, Responder};
use mpt_wire::control::frame::MAX_PAYLOAD_LEN;
use mpt_wire::control::{Message, Writer, messages};
use proptest::collection::vec;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
struct Channel {
    /// The number lost of 1,000 requests, and of 1,000 results.
    lost: [u32; 2],
    /// The number doubled of 1,000 messages.
    doubled: u32,
    delay: u32,
    /// On top of the delay, at most. In milliseconds, both.
    jitter: u32,
}

#[derive(Clone, Copy, Debug)]
struct Job {
    /// When it is requested and how long it takes, in milliseconds.
    at: u64,
    work: u64,
    result_len: usize,
}

impl Job {
    /// The body of the request: which of all jobs it is.
    fn body(index: usize) -> Vec<u8> {
        index.to_be_bytes().to_vec()
    }

    fn index(body: &[u8]) -> usize {
        usize::from_be_bytes(body.try_into().expect("the body of a request"))
    }

    /// Every byte depends on the job and on its place.
    fn result(&self, index: usize) -> Vec<u8> {
        let byte = |at: usize| (at ^ at >> 8 ^ at >> 16 ^ index << 3) as u8;
        (0..self.result_len).map(byte).collect()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    Request(usize),
    /// A frame arrives at the responder or at the requester.
    AtResponder(Vec<u8>),
    AtRequester(Vec<u8>),
    Done {
        id: u32,
        index: usize,
    },
}

/// The outcome of a request.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Completed(Vec<u8>),
    /// The failure, and the time since the request.
    Failed(Failure, Duration),
}

struct World {
    channel: Channel,
    random: Random,
    now: Instant,
    /// The number in the middle keeps the order of what happens at the same time.
    happenings: BinaryHeap<Reverse<(Instant, usize, Happening)>>,
    count: usize,
}

impl World {
    fn after(&mut self, delay: Duration, happening: Happening) {
        self.count += 1;
        self.happenings.push(Reverse((self.now + delay, self.count, happening)));
    }

    fn send(&mut self, message: &Message<'_>, happening: fn(Vec<u8>) -> Happening) {
        let mut frame = Vec::new();
        let mut writer = Writer::new(&mut frame, MAX_PAYLOAD_LEN);
        writer.push(message).expect("every message fits into a frame");
        let happening = happening(frame);
        let lost = match happening {
            Happening::AtResponder(_) => self.channel.lost[0],
            _ => self.channel.lost[1],
        };
        let copies = 1 + u32::from(self.random.u32() % 1000 < self.channel.doubled);
        for _ in 0..copies {
            if self.random.u32() % 1000 >= lost {
                let jitter = self.random.u32() % (self.channel.jitter + 1);
                let delay = Duration::from_millis((self.channel.delay + jitter).into());
                self.after(delay, happening.clone());
            }
        }
    }
}

/// Returns how often each job was run, and the outcome of each request.
fn exchange(
    seed: u64,
    first_id: u32,
    channel: Channel,
    jobs: &[Job],
) -> (Vec<usize>, Vec<Outcome>) {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_be_bytes());
    let (random, now) = (Random::new(key), Instant::now());
    let mut world = World { channel, random, now, happenings: BinaryHeap::new(), count: 0 };
    let (mut requester, mut responder) = (Requester::new(first_id), Responder::new());
    let mut requested = BTreeMap::new();
    let mut runs = vec![0; jobs.len()];
    let mut outcomes: Vec<_> = jobs.iter().map(|_| None).collect();
    for (index, job) in jobs.iter().enumerate() {
        world.after(Duration::from_millis(job.at), Happening::Request(index));
    }
    loop {
        let happening = world.happenings.peek().map(|Reverse((time, ..))| *time);
        let Some(next) = happening.into_iter().chain(requester.next_timeout()).min() else { break };
        assert!(next >= world.now, "what is due is done at once");
        world.now = next;
        let now = world.now;
        if happening == Some(now) {
            let Some(Reverse((_, _, happening))) = world.happenings.pop() else { unreachable!() };
            match happening {
                Happening::Request(index) => {
                    let id = requester.request(now, Job::body(index)).expect("not too many");
                    assert_eq!(requested.insert(id, (index, now)), None);
                }
                Happening::AtResponder(frame) => {
                    let Some(Ok(Message::Request { id, offset, body })) = messages(&frame).next()
                    else {
                        panic!("a request")
                    };
                    match responder.handle_request(now, id, offset) {
                        Action::Run => {
                            let index = Job::index(body);
                            runs[index] += 1;
                            let work = Duration::from_millis(jobs[index].work);
                            world.after(work, Happening::Done { id, index });
                        }
                        Action::Send(message) => world.send(&message, Happening::AtRequester),
                        Action::Refuse | Action::Ignore => {}
                    }
                }
                Happening::Done { id, index } => {
                    let result = jobs[index].result(index);
                    let first = responder.finish(now, id, result).expect("not too long");
                    if let Some(message) = first {
                        world.send(&message, Happening::AtRequester);
                    }
                }
                Happening::AtRequester(frame) => {
                    let Some(Ok(Message::Result { id, offset, total, chunk })) =
                        messages(&frame).next()
                    else {
                        panic!("a result")
                    };
                    let done = requester.handle_result(now, id, offset, total, chunk);
                    if let Some(completed) = done {
                        let (index, _) = requested[&completed.id];
                        let before = outcomes[index].replace(Outcome::Completed(completed.result));
                        assert_eq!(before, None);
                    }
                }
            }
        }
        while let Some((id, failure)) = requester.poll_failure(now) {
            let (index, at) = requested[&id];
            let before = outcomes[index].replace(Outcome::Failed(failure, now - at));
            assert_eq!(before, None);
        }
        while let Some(message) = requester.poll(now) {
            world.send(&message, Happening::AtResponder);
        }
    }
    // By now everything that was under way has arrived, too.
    assert_eq!(requester.outstanding(), 0);
    (runs, outcomes.into_iter().map(|outcome| outcome.expect("an outcome")).collect())
}

fn channel(lost: impl Strategy<Value = [u32; 2]>) -> impl Strategy<Value = Channel> {
    (lost, 0..=500u32, 0..300u32, 0..600u32).prop_map(|(lost, doubled, delay, jitter)| Channel {
        lost,
        doubled,
        delay,
        jitter,
    })
}

fn jobs(result_len: impl Strategy<Value = usize>) -> impl Strategy<Value = Vec<Job>> {
    let job = (0..20_000u64, 0..5_000u64, result_len);
    vec(job.prop_map(|(at, work, result_len)| Job { at, work, result_len }), 1..=10)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_is_lost(
        seed: u64, first_id: u32, channel in channel([0..=700u32, 0..=700u32]), jobs in jobs(0..40_000usize),
    ) {
        let (runs, outcomes) = exchange(seed, first_id, channel, &jobs);
        for (index, outcome) in outcomes.iter().enumerate() {
            match outcome {
                Outcome::Completed(result) => {
                    prop_assert_eq!(runs[index], 1);
                    prop_assert!(*result == jobs[index].result(index));
                }
                Outcome::Failed(Failure::Unanswered, after) => {
                    prop_assert!(runs[index] <= 1);
                    prop_assert_eq!(*after, GIVE_UP);
                }
                Outcome::Failed(Failure::Incomplete, after) => {
                    prop_assert_eq!(runs[index], 1);
                    prop_assert!(*after > GIVE_UP);
                }
            }
        }
    }

    #[test]
    fn nothing_fails_while_nothing_is_lost(
        seed: u64, first_id: u32, channel in channel(Just([0, 0])), jobs in jobs(0..=MAX_KEPT / 10),
    ) {
        let (runs, outcomes) = exchange(seed, first_id, channel, &jobs);
        for (index, outcome) in outcomes.iter().enumerate() {
            prop_assert_eq!(runs[index], 1);
            prop_assert!(*outcome == Outcome::Completed(jobs[index].result(index)));
        }
    }
}

#[test]
fn results_that_had_to_make_room_fail_by_name() {
    // All of them at once, and asked for at the same time: not all can be kept.
    let jobs = [Job { at: 0, work: 100, result_len: 1 << 20 }; 8];
    let channel = Channel { lost: [0, 0], doubled: 0, delay: 10, jitter: 0 };
    let (runs, outcomes) = exchange(1, 1, channel, &jobs);
    assert_eq!(runs, [1; 8]);
    let mut completed = 0;
    for (index, outcome) in outcomes.iter().enumerate() {
        match outcome {
            Outcome::Completed(result) => {
                completed += 1;
                assert!(*result == jobs[index].result(index));
            }
            Outcome::Failed(failure, _) => assert_eq!(*failure, Failure::Incomplete),
        }
    }
    assert_eq!(completed, 2, "as many as there is room for");
}

#[test]
fn a_request_whose_result_never_arrives_was_run_once() {
    let jobs = [Job { at: 0, work: 0, result_len: 10 }];
    for (lost, run) in [([0, 1000], 1), ([1000, 0], 0)] {
        let channel = Channel { lost, doubled: 500, delay: 10, jitter: 0 };
        let (runs, outcomes) = exchange(1, 1, channel, &jobs);
        assert_eq!(runs, [run]);
        assert_eq!(outcomes, [Outcome::Failed(Failure::Unanswered, GIVE_UP)]);
    }
}
