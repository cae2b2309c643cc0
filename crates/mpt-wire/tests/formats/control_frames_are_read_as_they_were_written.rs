//! parse(emit(x)) == x for every frame of the control protocol and everything in it.

#![expect(clippy::disallowed_types, reason = "`prop_oneof` shares its strategies by `Arc`")]

use mpt_wire::control::frame::{self, Frame};
use mpt_wire::control::{
    Capabilities, Capability, Challenge, Cookie, Economy, Hello, Initiation, Kind, Message,
    MissingEntry, Name, PathEntry, PathState, Reason, ReportEntry, Response, SealedHeader, Sealing,
    Suites, Welcome, Writer, messages,
};
use proptest::collection::vec;
use proptest::prelude::*;

fn bytes<const N: usize>() -> impl Strategy<Value = [u8; N]> {
    vec(any::<u8>(), N).prop_map(|bytes| bytes.try_into().expect("as many"))
}

fn capabilities<const N: usize>() -> impl Strategy<Value = Capabilities<N>> {
    vec((any::<u16>(), any::<u16>()), 0..=N).prop_map(|all| {
        let all: Vec<_> = all.into_iter().map(|(id, version)| Capability { id, version }).collect();
        Capabilities::from_slice(&all).expect("not too many")
    })
}

prop_compose! {
    fn report_entry()(path_id: u16, frames: u32, sent: u64, received: u64) -> ReportEntry {
        ReportEntry { path_id, frames, sent, received }
    }
}

prop_compose! {
    fn path_entry()(path_id: u16, weight: u16, wish: u16, state: u8, economy: u8) -> PathEntry {
        PathEntry { path_id, weight, wish, state: PathState(state), economy: Economy(economy) }
    }
}

/// A message that owns what it carries.
#[derive(Clone, Debug)]
enum Owned {
    Plain(Message<'static>),
    Report(Vec<ReportEntry>),
    MissingMap(Vec<MissingEntry>),
    Paths(u32, u32, u32, Vec<PathEntry>),
    Request(u32, u32, Vec<u8>),
    Result(u32, u32, u32, Vec<u8>),
}

fn message() -> impl Strategy<Value = Owned> {
    let longest = 1u32 << 20;
    let plain = prop_oneof![
        (0..600u16).prop_map(|len| Message::Pad { len }),
        any::<u64>().prop_map(|token| Message::Probe { token }),
        any::<u64>().prop_map(|token| Message::Echo { token }),
        any::<u32>().prop_map(|generation| Message::PathsAck { generation }),
        any::<u8>().prop_map(|reason| Message::Goodbye { reason: Reason(reason) }),
        (any::<u32>(), any::<u32>()).prop_map(|(id, time)| Message::Clock { id, time }),
        (any::<u64>(), any::<u32>()).prop_map(|(token, time)| Message::Came { token, time }),
    ];
    prop_oneof![
        plain.prop_map(Owned::Plain),
        vec(report_entry(), 0..20).prop_map(Owned::Report),
        (any::<u32>(), vec((1..9u16, 1..4u16), 1..100)).prop_map(|(from, gaps)| {
            let mut next = from;
            let entry = |(gap, count): (u16, u16)| {
                let first = next.wrapping_add(gap.into());
                next = first.wrapping_add(count.into());
                MissingEntry { first, count }
            };
            Owned::MissingMap(gaps.into_iter().map(entry).collect())
        }),
        (any::<u32>(), any::<u32>(), any::<u32>(), vec(path_entry(), 0..=128))
            .prop_map(|(generation, epoch, from, all)| Owned::Paths(generation, epoch, from, all)),
        (any::<u32>(), 0..=longest, vec(any::<u8>(), 0..=1024))
            .prop_map(|(id, offset, body)| Owned::Request(id, offset, body)),
        (any::<u32>(), vec(any::<u8>(), 0..=1024), any::<prop::sample::Index>(), 0..=longest)
            .prop_map(move |(id, chunk, offset, behind)| {
                let offset = offset.index((longest as usize) + 1 - chunk.len()) as u32;
                let total = longest.min(offset + chunk.len() as u32 + behind);
                Owned::Result(id, offset, total, chunk)
            }),
    ]
}

impl Owned {
    fn write(&self, writer: &mut Writer<'_>) -> bool {
        match self {
            Owned::Plain(message) => writer.push(message),
            Owned::Report(entries) => writer.push_report(entries.iter().copied()),
            Owned::MissingMap(entries) => writer.push_missing_map(entries.iter().copied()),
            Owned::Paths(generation, epoch, from, entries) => {
                writer.push_paths(*generation, *epoch, *from, entries.iter().copied())
            }
            Owned::Request(id, offset, body) => {
                writer.push(&Message::Request { id: *id, offset: *offset, body })
            }
            Owned::Result(id, offset, total, chunk) => {
                let (id, offset, total) = (*id, *offset, *total);
                writer.push(&Message::Result { id, offset, total, chunk })
            }
        }
        .is_ok()
    }

    fn is(&self, message: Message<'_>) -> bool {
        match (self, message) {
            (Owned::Report(entries), Message::Report(read)) => {
                read.len() == entries.len() && read.iter().eq(entries.iter().copied())
            }
            (Owned::MissingMap(entries), Message::MissingMap(map)) => {
                map.is_complete() && map.ranges().eq(entries.iter().copied())
            }
            (
                Owned::Paths(generation, epoch, from, all),
                Message::Paths { generation: g, epoch: e, from: f, entries },
            ) => {
                (*generation, *epoch, *from) == (g, e, f) && entries.iter().eq(all.iter().copied())
            }
            (Owned::Request(id, offset, body), read) => {
                read == Message::Request { id: *id, offset: *offset, body }
            }
            (Owned::Result(id, offset, total, chunk), read) => {
                read == Message::Result { id: *id, offset: *offset, total: *total, chunk }
            }
            (Owned::Plain(message), read) => *message == read,
            _ => false,
        }
    }
}

fn sealing() -> impl Strategy<Value = Option<Sealing>> {
    let sealing = any::<(u32, u8, u64)>().prop_map(|(index, suites, first)| Sealing {
        index,
        suites: Suites(suites),
        first,
    });
    prop::option::of(sealing)
}

proptest! {
    #[test]
    fn initiation(
        path_id: u16, index: u32, noise in bytes(), mac1 in bytes(), time: u64, mac2 in bytes(),
    ) {
        let mut bytes = Initiation::emit(path_id, index, &noise);
        Initiation::set_mac1(&mut bytes, &mac1);
        Initiation::set_cookie_time(&mut bytes, time);
        Initiation::set_mac2(&mut bytes, &mac2);
        let Ok(Frame::Initiation(view)) = frame::parse(&bytes) else { panic!("an initiation") };
        prop_assert_eq!((view.path_id(), view.sender_index()), (path_id, index));
        prop_assert_eq!(view.noise(), noise);
        prop_assert_eq!((view.mac1(), view.cookie_time(), view.mac2()), (mac1, time, mac2));
    }

    #[test]
    fn response(path_id: u16, sender: u32, receiver: u32, noise in bytes(), mac1 in bytes()) {
        let mut bytes = Response::emit(path_id, sender, receiver, &noise);
        Response::set_mac1(&mut bytes, &mac1);
        let Ok(Frame::Response(view)) = frame::parse(&bytes) else { panic!("a response") };
        prop_assert_eq!((view.path_id(), view.sender_index()), (path_id, sender));
        prop_assert_eq!((view.receiver_index(), view.mac1()), (receiver, mac1));
        prop_assert_eq!(view.noise(), noise);
    }

    #[test]
    fn cookie(path_id: u16, receiver: u32, nonce in bytes(), sealed in bytes()) {
        let bytes = Cookie::emit(path_id, receiver, &nonce, &sealed);
        let Ok(Frame::Cookie(view)) = frame::parse(&bytes) else { panic!("a cookie") };
        prop_assert_eq!((view.path_id(), view.receiver_index()), (path_id, receiver));
        prop_assert_eq!((view.nonce(), view.sealed()), (nonce, sealed));
    }

    #[test]
    fn sealed(
        receiver_index: u32, path_id: u16, counter in 0..frame::COUNTER_END,
        ciphertext in vec(any::<u8>(), 16..=1186),
    ) {
        let header = SealedHeader { receiver_index, path_id, counter };
        let bytes = [&header.emit(), &ciphertext[..]].concat();
        let Ok(Frame::Sealed(view)) = frame::parse(&bytes) else { panic!("a sealed frame") };
        prop_assert_eq!(view.header(), header);
        prop_assert_eq!(view.ciphertext(), ciphertext);
    }

    #[test]
    fn hello(
        steering: bool, key: Option<u32>, capabilities in capabilities(),
        name in prop_oneof!["\\P{Cc}{0,8}", "[ -~]{0,32}"], time: u64, value in bytes(),
        sealing in sealing(),
    ) {
        let kind = if steering { Kind::Steering } else { Kind::Connection };
        let challenge = (time != 0).then_some(Challenge { time, value });
        let hello = Hello { kind, key, capabilities, name: Name::new(&name).unwrap(), challenge, sealing };
        prop_assert_eq!(hello.name.as_str(), name);
        prop_assert_eq!(Hello::decode(&hello.encode()), Ok(hello));
    }

    #[test]
    fn welcome(attached: bool, capabilities in capabilities(), sealing in sealing()) {
        let welcome = Welcome { attached, capabilities, sealing };
        prop_assert_eq!(Welcome::decode(&welcome.encode()), Ok(welcome));
    }

    #[test]
    fn rows_of_messages(all in vec(message(), 0..6), limit in 0..1400usize) {
        let mut buffer = Vec::new();
        let mut writer = Writer::new(&mut buffer, limit);
        let fit: Vec<_> = all.iter().filter(|message| message.write(&mut writer)).collect();
        let read: Result<Vec<_>, _> = messages(&buffer).collect();
        let read = read.unwrap();
        prop_assert!(buffer.len() <= limit);
        prop_assert_eq!(read.len(), fit.len());
        for (message, read) in fit.iter().zip(read) {
            prop_assert!(message.is(read), "{:?} was read as {:?}", message, read);
        }
    }
}
