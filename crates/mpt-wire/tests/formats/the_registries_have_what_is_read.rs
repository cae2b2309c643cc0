//! The registries of `docs/protocol.md`, section 23, have every number that is read, under its name, and no other.

use std::collections::BTreeMap;

use mpt_wire::control::frame::{self, VERSION};
use mpt_wire::control::{
    Capabilities, Economy, Hello, Kind, Message, Name, PathState, Reason, messages,
};

/// Numbers with their names.
type Numbers = BTreeMap<u8, String>;

/// Returns the part of the registries behind a heading, up to the next one.
fn registry(heading: &str) -> &'static str {
    let document = include_str!("../../../../docs/protocol.md");
    let (_, registries) = document.split_once("\n## 23. Registries\n").expect("the section");
    let (_, part) = registries.split_once(&format!("\n**{heading}**")).expect("the registry");
    part.split("\n**").next().expect("split yields something")
}

/// Returns the assigned rows of a table.
fn rows(heading: &str) -> Numbers {
    let rows = registry(heading).lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| ")?.split('|').map(str::trim);
        Some((cells.next()?.parse().ok()?, cells.next()?.to_owned()))
    });
    rows.filter(|(_, name)| name != "reserved").collect()
}

/// Returns what a sentence lists: `: 1 connection, 2 steering.`
fn listed(heading: &str) -> Numbers {
    let (_, list) = registry(heading).split_once(": ").expect("a list");
    let (list, _) = list.split_once('.').expect("its end");
    let item = |item: &str| {
        let (number, name) = item.split_once(' ')?;
        Some((number.parse().ok()?, name.to_owned()))
    };
    list.split(", ").map(|it| item(it).expect("a number and a name")).collect()
}

/// Returns the name of a variant, which its debugging form begins with.
fn variant(value: &impl std::fmt::Debug) -> String {
    let text = format!("{value:?}");
    text.split(|it: char| !it.is_alphanumeric()).next().unwrap_or_default().to_owned()
}

#[test]
fn of_frames() {
    let mut read = Numbers::new();
    for kind in 0..=u8::MAX {
        for len in 2..400 {
            let mut bytes = vec![0; len];
            (bytes[0], bytes[1]) = (kind, VERSION);
            match frame::parse(&bytes) {
                Ok(frame) => {
                    read.insert(kind, variant(&frame));
                }
                Err(frame::Error::Type) => {}
                Err(_) => {
                    read.entry(kind).or_default();
                }
            }
        }
    }
    assert_eq!(read, rows("Frame types"));
}

/// Returns the name of the message of this type, empty if no body of up to 40 bytes is one of it, and `None` if the type is skipped.
fn message(kind: u8) -> Option<String> {
    let mut name = None;
    for len in 0..40_u8 {
        // The fifth byte of a Symbol is how many packets it covers.
        for fifth in 0..=u8::MAX {
            let mut payload = vec![0; 3 + usize::from(len)];
            (payload[0], payload[2]) = (kind, len);
            payload.get_mut(7).into_iter().for_each(|byte| *byte = fifth);
            match messages(&payload).next() {
                Some(Ok(message)) => return Some(variant(&message)),
                Some(Err(_)) => name = Some(String::new()),
                None => {}
            }
        }
    }
    name
}

#[test]
fn of_messages() {
    let read: Numbers = (0..=u8::MAX).filter_map(|kind| Some((kind, message(kind)?))).collect();
    assert_eq!(read, rows("Message types"));
    assert_eq!(message(1), Some(variant(&Message::Probe { token: 0 })));
}

#[test]
fn of_kinds_of_session() {
    let hello = Hello {
        kind: Kind::Connection,
        key: None,
        capabilities: Capabilities::new(),
        name: Name::default(),
        challenge: None,
        sealing: None,
    };
    let mut bytes = hello.encode();
    let mut read = Numbers::new();
    for kind in 0..=u8::MAX {
        bytes[0] = kind;
        if let Ok(hello) = Hello::decode(&bytes) {
            read.insert(kind, format!("{:?}", hello.kind).to_lowercase());
        }
    }
    assert_eq!(read, listed("Kinds of session"));
}

#[test]
fn of_reasons() {
    let known = |number: &u8| !Reason(*number).to_string().starts_with("unknown");
    let read: Numbers =
        (0..=u8::MAX).filter(known).map(|number| (number, Reason(number).to_string())).collect();
    assert_eq!(read, listed("Reasons in Goodbye"));
}

#[test]
fn of_states_and_of_economy() {
    let states = [
        (PathState::USABLE, "usable"),
        (PathState::ADMINISTRATIVELY_DOWN, "administratively down"),
        (PathState::INTERFACE_DOWN, "interface down"),
        (PathState::DEAD, "dead"),
        (PathState::PROBING, "probing"),
    ];
    let read: Numbers = states.map(|(state, name)| (state.0, name.to_owned())).into();
    assert_eq!(read, listed("States in Paths"));
    let bits = [(Economy::LAST_RESORT, "last resort"), (Economy::METERED, "metered")];
    let read: Numbers = bits.map(|(bit, name)| (bit.0, name.to_owned())).into();
    let (_, list) = registry("Economy in Paths").split_once(": bits ").expect("the bits");
    let (list, _) = list.split_once('.').expect("their end");
    let said = list.split(", ").filter_map(|it| it.split_once(' '));
    assert_eq!(read, said.map(|(bit, name)| (bit.parse().unwrap(), name.to_owned())).collect());
}
