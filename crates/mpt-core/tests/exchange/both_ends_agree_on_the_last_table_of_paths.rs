//! Tables of paths are exchanged over a channel that loses, duplicates and reorders, while they
//! change, while the sequence numbers begin anew, while keys change, and while one end forgets
//! everything: when it is over, the other end has the last one, and its sender knows.
#![expect(clippy::disallowed_types, reason = "`prop_oneof` shares its strategies by `Arc`")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use mpt_core::session::announce::{Announcer, Heard, Verdict};
use proptest::prelude::*;

const RTT: Option<Duration> = Some(Duration::from_millis(40));

#[derive(Clone, Debug)]
enum Step {
    /// Another table, maybe the same again.
    Set(Vec<u8>),
    /// A new life of the sequence numbers.
    Restart,
    /// New keys.
    Rekey,
    /// The sender's process is started again.
    Reboot,
    /// The sender sends if it is due; how often this arrives, and after how many ticks each time.
    Tick(Vec<u64>),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => prop::collection::vec(0_u8..3, 0..3).prop_map(Step::Set),
        1 => Just(Step::Restart),
        1 => Just(Step::Rekey),
        1 => Just(Step::Reboot),
        8 => prop::collection::vec(0_u64..40, 0..4).prop_map(Step::Tick),
    ]
}

#[derive(Clone, Debug)]
enum Message {
    Table {
        life: u32,
        keys: u64,
        generation: u32,
        epoch: u32,
        from: u32,
        entries: Vec<u8>,
    },
    /// Under the keys of the table, which a sender that was started again does not have.
    Ack {
        life: u32,
        generation: u32,
    },
}

struct Exchange {
    now: Instant,
    ticks: u64,
    announcer: Announcer<u8>,
    heard: Heard,
    /// The table that the receiver took in last.
    table: Option<(u32, u32, Vec<u8>)>,
    in_flight: BTreeMap<(u64, usize), Message>,
    sent: usize,
    epochs: u32,
    next_number: u32,
    /// Counts how often the sender's process was started.
    life: u32,
    keys: u64,
}

impl Exchange {
    #[expect(clippy::disallowed_methods, reason = "any instant will do as the origin")]
    fn new() -> Self {
        Self {
            now: Instant::now(),
            ticks: 0,
            announcer: Announcer::new(0, 0),
            heard: Heard::new(),
            table: None,
            in_flight: BTreeMap::new(),
            sent: 0,
            epochs: 0,
            next_number: 0,
            life: 0,
            keys: 0,
        }
    }

    fn send(&mut self, message: &Message, delays: &[u64]) {
        for delay in delays {
            self.sent += 1;
            self.in_flight.insert((self.ticks + 1 + delay, self.sent), message.clone());
        }
    }

    /// 10 ms pass.
    fn tick(&mut self, delays: &[u64]) {
        self.ticks += 1;
        self.now += Duration::from_millis(10);
        self.next_number = self.next_number.wrapping_add(7);
        while let Some(first) = self.in_flight.first_entry().filter(|e| e.key().0 <= self.ticks) {
            match first.remove() {
                Message::Ack { life, .. } if life != self.life => {}
                Message::Ack { generation, .. } => {
                    let known = self.announcer.is_known();
                    self.announcer.acknowledged(generation);
                    assert!(self.announcer.is_known() || !known);
                    if self.announcer.is_acknowledged() {
                        self.assert_agreed();
                    }
                    if self.announcer.is_known() {
                        let epoch = self.table.as_ref().unwrap().0;
                        assert_eq!(epoch, self.announcer.epoch(), "no data of unknown life");
                    }
                }
                Message::Table { life, keys, generation, epoch, from, entries } => {
                    if let Verdict::Newer { epoch_changed } =
                        self.heard.accept(generation, epoch, keys)
                    {
                        let before = self.table.as_ref().map(|table| table.0);
                        assert_eq!(epoch_changed, before != Some(epoch));
                        assert!(before.is_none_or(|before| before <= epoch), "never back");
                        self.table = Some((epoch, from, entries));
                    }
                    let generation = self.heard.generation().unwrap();
                    self.send(&Message::Ack { life, generation }, delays);
                }
            }
        }
        if self.announcer.due(self.now, RTT) {
            self.announcer.sent(self.now);
            let message = Message::Table {
                life: self.life,
                keys: self.keys,
                generation: self.announcer.generation(),
                epoch: self.announcer.epoch(),
                from: self.announcer.from(),
                entries: self.announcer.entries().to_vec(),
            };
            self.send(&message, delays);
        }
    }

    fn assert_agreed(&self) {
        let ours =
            (self.announcer.epoch(), self.announcer.from(), self.announcer.entries().to_vec());
        assert_eq!(self.table, Some(ours));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn however_bad_the_channel_is(steps in prop::collection::vec(step(), 0..150)) {
        let mut exchange = Exchange::new();
        for step in steps {
            match step {
                Step::Set(entries) => {
                    let same = exchange.announcer.entries() == entries;
                    let before = exchange.announcer.generation();
                    let changed = exchange.announcer.set(&entries, exchange.next_number);
                    prop_assert_eq!(changed, !same);
                    prop_assert_eq!(exchange.announcer.generation() != before, changed);
                }
                Step::Restart => {
                    exchange.epochs += 1;
                    exchange.next_number = 0;
                    exchange.announcer.restart(exchange.epochs, 0);
                    prop_assert!(!exchange.announcer.is_known());
                }
                Step::Rekey => exchange.keys += 1,
                Step::Reboot => {
                    exchange.epochs += 1;
                    exchange.keys += 1;
                    exchange.life += 1;
                    exchange.next_number = 0;
                    exchange.announcer = Announcer::new(exchange.epochs, 0);
                }
                Step::Tick(delays) => exchange.tick(&delays),
            }
        }
        // From now on everything arrives, after those on their way: a second until the next
        // repetition, 0.4 s for the slowest of before.
        for _ in 0..150 {
            exchange.tick(&[1]);
        }
        prop_assert!(exchange.announcer.is_acknowledged() && exchange.announcer.is_known());
        exchange.assert_agreed();
        prop_assert!(exchange.in_flight.is_empty(), "and then there is silence");
    }
}

#[test]
fn a_receiver_that_forgot_everything_is_told_again() {
    let mut exchange = Exchange::new();
    exchange.announcer.set(&[1, 2], 9);
    for _ in 0..10 {
        exchange.tick(&[2]);
    }
    exchange.assert_agreed();
    exchange.heard = Heard::new();
    exchange.table = None;
    exchange.announcer.repeat();
    assert!(exchange.announcer.is_known(), "data goes on meanwhile");
    for _ in 0..10 {
        exchange.tick(&[2]);
    }
    exchange.assert_agreed();
    assert!(exchange.announcer.is_acknowledged());
}
