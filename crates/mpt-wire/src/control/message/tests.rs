use super::super::writer::{Full, Writer};
use super::*;
use crate::control::feedback::{ArrivedEntry, MissingEntry, ReceivedEntry, SentEntry, Stamp};
use crate::control::{MAX_GROUP, Offsets, Symbol};

const REPORTS: [ReportEntry; 2] = [
    ReportEntry { path_id: 0x0102, frames: 3, sent: 4, received: 0x0506_0708_090a_0b0c },
    ReportEntry { path_id: 1, frames: u32::MAX, sent: u64::MAX, received: 0 },
];

const PATHS: [PathEntry; 2] = [
    PathEntry {
        path_id: 1,
        weight: 0x0203,
        wish: 0x0405,
        state: PathState::USABLE,
        economy: Economy::LAST_RESORT.with(Economy::METERED),
    },
    PathEntry {
        path_id: 2,
        weight: 0,
        wish: 0,
        state: PathState::INTERFACE_DOWN,
        economy: Economy::NONE,
    },
];

#[rustfmt::skip]
const PATHS_BODY: [u8; 16] = [
    0, 1, 2, 3, 4, 5, 0, 3,
    0, 2, 0, 0, 0, 0, 2, 0,
];

fn written(write: impl FnOnce(&mut Writer<'_>) -> Result<(), Full>) -> Vec<u8> {
    let mut buffer = Vec::new();
    write(&mut Writer::new(&mut buffer, MAX_PAYLOAD_LEN)).expect("room enough");
    buffer
}

fn read(payload: &[u8]) -> Result<Vec<Message<'_>>, Error> {
    messages(payload).collect()
}

#[test]
fn messages_without_entries() {
    let cases: [(Message<'_>, &[u8]); 11] = [
        (Message::Pad { len: 2 }, &[0, 0, 2, 0, 0]),
        (Message::Probe { token: 0x0102_0304_0506_0708 }, &[1, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8]),
        (Message::Echo { token: 9 }, &[2, 0, 8, 0, 0, 0, 0, 0, 0, 0, 9]),
        (Message::PathsAck { generation: 0x0102_0304 }, &[5, 0, 4, 1, 2, 3, 4]),
        (
            Message::Request { id: 1, offset: 0x0304, body: b"ab" },
            &[6, 0, 10, 0, 0, 0, 1, 0, 0, 3, 4, b'a', b'b'],
        ),
        (
            Message::Result { id: 1, offset: 2, total: 4, chunk: b"cd" },
            &[7, 0, 14, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 4, b'c', b'd'],
        ),
        (Message::Goodbye { reason: Reason::REFUSED }, &[8, 0, 1, 2]),
        (Message::Clock { id: 1, time: 0x0203 }, &[9, 0, 8, 0, 0, 0, 1, 0, 0, 2, 3]),
        (Message::Kept { from: 0x0102_0304, loss: 5 }, &[15, 0, 6, 1, 2, 3, 4, 0, 5]),
        (Message::Survey { probes: 0x0102 }, &[16, 0, 2, 1, 2]),
        (
            Message::Came { token: 9, time: 0x0203 },
            &[19, 0, 12, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 2, 3],
        ),
    ];
    let mut all = Vec::new();
    for (message, bytes) in &cases {
        assert_eq!(written(|writer| writer.push(message)), *bytes);
        assert_eq!(read(bytes), Ok(vec![*message]));
        all.extend_from_slice(bytes);
    }
    assert_eq!(read(&all), Ok(cases.map(|(message, _)| message).to_vec()));
}

#[test]
fn a_report() {
    let bytes = written(|writer| writer.push_report(REPORTS.into_iter()));
    assert_eq!(bytes[..3], [3, 0, 44]);
    assert_eq!(bytes[3..25], [1, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    let read = read(&bytes);
    let Ok([Message::Report(entries)]) = read.as_deref() else { panic!("a report") };
    assert_eq!((entries.len(), entries.is_empty()), (2, false));
    assert!(entries.iter().eq(REPORTS));
    assert_eq!(written(|writer| writer.push(&Message::Report(*entries))), bytes);
}

#[test]
fn paths() {
    let bytes = written(|writer| writer.push_paths(1, 0x0203_0405, 6, PATHS.into_iter()));
    assert_eq!(bytes[..15], [4, 0, 28, 0, 0, 0, 1, 2, 3, 4, 5, 0, 0, 0, 6]);
    assert_eq!(bytes[15..], PATHS_BODY);
    let entries = Entries::new(&PATHS_BODY).unwrap();
    let message = Message::Paths { generation: 1, epoch: 0x0203_0405, from: 6, entries };
    assert_eq!(read(&bytes), Ok(vec![message]));
    assert!(entries.iter().eq(PATHS));
    assert_eq!(written(|writer| writer.push(&message)), bytes);
}

#[test]
fn only_states_1_and_2_ask_not_to_send() {
    for state in 0..=u8::MAX {
        assert_eq!(PathState(state).is_down(), matches!(state, 1 | 2));
    }
}

#[test]
fn unknown_types_are_skipped() {
    let bytes = [239, 0, 2, 7, 7, 8, 0, 1, 0, 255, 0, 0];
    assert_eq!(read(&bytes), Ok(vec![Message::Goodbye { reason: Reason::SHUTTING_DOWN }]));
    assert_eq!(read(&[]), Ok(vec![]));
}

#[test]
fn a_frame_that_ends_within_a_message_is_read_up_to_there() {
    let whole = [5, 0, 4, 0, 0, 0, 1, 5, 0, 4, 0, 0, 0, 2];
    for len in 8..whole.len() {
        let read: Vec<_> = messages(&whole[..len]).collect();
        assert_eq!(read, [Ok(Message::PathsAck { generation: 1 }), Err(Error::Truncated)]);
    }
}

#[test]
fn bodies_of_wrong_length() {
    for (kind, right) in [
        (1, vec![8]),
        (2, vec![8]),
        (3, (0..3000).step_by(22).collect()),
        (4, (12..=12 + 128 * 8).step_by(8).collect()),
        (5, vec![4]),
        (6, (8..=8 + 1024).collect::<Vec<_>>()),
        (8, vec![1]),
        (9, vec![8]),
        (14, (0..3000).step_by(6).collect()),
        (15, vec![6]),
    ] {
        for len in 0..3000usize {
            let [high, low] = (len as u16).to_be_bytes();
            let bytes = [&[kind, high, low][..], &vec![0; len]].concat();
            let expected = if right.contains(&len) { Ok(1) } else { Err(Error::Length) };
            let read = read(&bytes).map(|messages| messages.len());
            assert_eq!(read, expected, "type {kind}, {len} bytes");
        }
    }
}

#[test]
fn a_piece_lies_within_its_result() {
    for (offset, total, len, expected) in [
        (0, 0, 0, Ok(1)),
        (0, 1, 1, Ok(1)),
        (1, 1, 0, Ok(1)),
        (0, MAX_RESULT_LEN, MAX_CHUNK_LEN, Ok(1)),
        (MAX_RESULT_LEN - 1024, MAX_RESULT_LEN, MAX_CHUNK_LEN, Ok(1)),
        (0, 1, 2, Err(Error::Value)),
        (2, 1, 0, Err(Error::Value)),
        (0, MAX_RESULT_LEN + 1, 0, Err(Error::Value)),
        (u32::MAX, MAX_RESULT_LEN, 1, Err(Error::Value)),
        (0, MAX_RESULT_LEN, MAX_CHUNK_LEN + 1, Err(Error::Length)),
    ] {
        let [high, low] = ((12 + len) as u16).to_be_bytes();
        let mut bytes = vec![kind::RESULT, high, low, 0, 0, 0, 1];
        bytes.extend_from_slice([offset, total].map(u32::to_be_bytes).as_flattened());
        bytes.resize(bytes.len() + len, 0xcc);
        assert_eq!(read(&bytes).map(|messages| messages.len()), expected, "{offset} {total}");
    }
}

#[test]
fn feedback_on_data_is_written_and_read() {
    let stamp = Stamp { number: 0x0102_0304, time: 5, waited: 6 };
    let sent = SentEntry { path_id: 1, last: 2, packets: 3 };
    let arrived = ArrivedEntry { path_id: 1, number: 2, time: 3 };
    let received = ReceivedEntry {
        path_id: 1,
        packets: 2,
        bytes: 3,
        highest: 4,
        marked: 5,
        settled: 6,
        settled_packets: 7,
    };
    let payload = written(|writer| {
        writer.push_departed(20, [stamp].into_iter())?;
        writer.push_sent_up_to([sent].into_iter())?;
        writer.push_arrived(9, [arrived].into_iter())?;
        writer.push_received([received].into_iter())
    });
    #[rustfmt::skip]
    assert_eq!(payload, [
        10, 0, 12, 0, 20, 1, 2, 3, 4, 0, 0, 0, 5, 0, 6,
        11, 0, 10, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3,
        12, 0, 14, 0, 0, 0, 9, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3,
        13, 0, 26, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0, 7,
    ]);
    let messages = read(&payload).expect("four messages");
    let again = written(|writer| messages.iter().try_for_each(|message| writer.push(message)));
    assert_eq!(again, payload);
    let [Message::Departed { interval: 20, .. }, .., Message::Received(entries)] = messages[..]
    else {
        panic!("{messages:?}");
    };
    assert_eq!(entries.iter().collect::<Vec<_>>(), [received]);
    for wrong in [&payload[..14], &payload[15..27], &[12, 0, 3, 0, 0, 0]] {
        let mut wrong = wrong.to_vec();
        let len = (wrong.len() - MESSAGE_HEADER_LEN) as u8;
        wrong[2] = len;
        assert_eq!(read(&wrong), Err(Error::Length), "{wrong:?}");
    }
    let full = written(|writer| writer.push_departed(0, std::iter::repeat_n(stamp, 1_000)));
    assert!(full.len() <= MAX_PAYLOAD_LEN, "{} bytes", full.len());
}

#[test]
fn missing_numbers_are_written_and_read() {
    let entries = [
        MissingEntry { first: u32::MAX, count: 2 },
        MissingEntry { first: 0x0102_0304, count: 0x0506 },
    ];
    let bytes = written(|writer| writer.push_missing(entries.into_iter()));
    assert_eq!(bytes, [14, 0, 12, 255, 255, 255, 255, 0, 2, 1, 2, 3, 4, 5, 6]);
    let messages = read(&bytes).expect("a message");
    let [Message::Missing(read)] = messages[..] else { panic!("{messages:?}") };
    assert!(read.iter().eq(entries));
    assert_eq!(written(|writer| writer.push(&messages[0])), bytes);
}

#[test]
fn missing_numbers_for_which_there_are_no_ranges_are_written_as_bits() {
    let entries = [(u32::MAX, 2), (7, 1), (16, 3)];
    let entries = entries.map(|(first, count)| MissingEntry { first, count });
    let bytes = written(|writer| writer.push_missing_map(entries.into_iter()));
    // The numbers 2^32 - 1, 0, 7 and 16 to 18 are the bits 0, 1, 8 and 17 to 19.
    assert_eq!(bytes, [20, 0, 7, 255, 255, 255, 255, 0xc0, 0x80, 0x70]);
    let messages = read(&bytes).expect("a message");
    let [Message::MissingMap(map)] = messages[..] else { panic!("{messages:?}") };
    assert!(map.is_complete() && map.ranges().eq(entries), "{map:?}");
    assert_eq!(written(|writer| writer.push(&messages[0])), bytes);

    assert_eq!(written(|writer| writer.push_missing_map(std::iter::empty())), []);
    let of = |len: u8| [&[20, 0, len][..], &vec![1; len.into()]].concat();
    for (len, fits) in [(0, false), (4, false), (5, true), (196, true), (197, false)] {
        let error = (!fits).then_some(Error::Length);
        assert_eq!(read(&of(len)).err(), error, "{len}");
    }
}

#[test]
fn a_map_that_leaves_something_out_says_so() {
    for (last, fits) in [(1_527, true), (1_536, false), (70_000, false)] {
        let entries = [5, 5 + last].map(|first| MissingEntry { first, count: 1 });
        let bytes = written(|writer| writer.push_missing_map(entries.into_iter()));
        let messages = read(&bytes).expect("a message");
        let [Message::MissingMap(map)] = messages[..] else { panic!("{messages:?}") };
        assert_eq!(map.is_complete(), fits, "{last}");
        let told = if fits { &entries[..] } else { &entries[..1] };
        assert!(map.ranges().eq(told.iter().copied()), "{last}");
    }
    let mut buffer = vec![0; 5];
    let entry = MissingEntry { first: 0, count: 1 };
    let full = Writer::new(&mut buffer, 198).push_missing_map(std::iter::once(entry));
    assert_eq!((full, buffer.len()), (Err(Full), 5));
}

#[test]
fn numbers_that_will_not_come_are_written_and_read() {
    let entries = [MissingEntry { first: u32::MAX, count: 2 }, MissingEntry { first: 7, count: 1 }];
    let bytes = written(|writer| writer.push_refused(entries.into_iter()));
    assert_eq!(bytes, [17, 0, 12, 255, 255, 255, 255, 0, 2, 0, 0, 0, 7, 0, 1]);
    let messages = read(&bytes).expect("a message");
    let [Message::Refused(entries_read)] = messages[..] else { panic!("{messages:?}") };
    assert!(entries_read.iter().eq(entries));
    assert_eq!(written(|writer| writer.push(&messages[0])), bytes);
    assert_eq!(read(&[17, 0, 5, 0, 0, 0, 7, 0]), Err(Error::Length));
}

#[test]
fn symbols_are_written_and_read() {
    let numbers = [u32::MAX - 1, u32::MAX, 4, 0x0101];
    let (first, offsets) = Offsets::of(numbers).expect("near one another");
    let symbol = Symbol::new(first, &offsets, (1, 3), &[7, 8, 9]);
    let bytes = written(|writer| writer.push(&Message::Symbol(symbol)));
    let expected = [18, 0, 14, 255, 255, 255, 254, 0x13, 0, 1, 0, 6, 1, 3, 7, 8, 9];
    assert_eq!(bytes, expected);
    let messages = read(&bytes).expect("a message");
    let [Message::Symbol(read_back)] = messages[..] else { panic!("{messages:?}") };
    assert!(read_back.numbers().eq(numbers));
    assert_eq!((read_back.earlier, read_back.present, read_back.parity), (1, 3, &[7, 8, 9][..]));
    assert_eq!(written(|writer| writer.push(&messages[0])), bytes);
    assert!(Offsets::of([5, 5 + (1 << 16)]).is_none());
    assert!(Offsets::of(0..2 * MAX_GROUP as u32 + 1).is_none());

    let message = |counts: u8, behind: usize| {
        let mut message = vec![18, 0, 5 + behind as u8, 0, 0, 0, 1, counts];
        message.resize(message.len() + behind, 0);
        read(&message).map(|messages| messages.len())
    };
    assert_eq!(message(0x01, 1), Ok(1));
    assert_eq!(message(0x88, 31), Ok(1));
    assert_eq!(message(0x01, 0), Err(Error::Length), "no parity");
    assert_eq!(message(0x11, 2), Err(Error::Length), "no parity behind the numbers");
    assert_eq!(message(0x88, 29), Err(Error::Length), "a number is missing");
    for counts in [0x00, 0x10, 0x91, 0x09, 0xff] {
        assert_eq!(message(counts, 200), Err(Error::Value), "{counts:02x}");
    }
    assert_eq!(read(&[18, 0, 4, 0, 0, 0, 1]), Err(Error::Length));
}
