use std::time::Duration;

use mpt_core::compat::{Authentication, Config, Create, Key, Outcome};

use crate::harness::{FIRST, Network, SECOND, config, hex, seconds};

/// End 2 asks end 3, each with this key of creations.
fn creating(
    keys: [&str; 2],
    authentications: &[Authentication; 2],
    change: impl Fn(&mut Config),
) -> Network {
    Network::of(|end| {
        let index = usize::from(end - 2);
        let mut config = config(end, &authentications[index]);
        config.create = Some(Create {
            authentication: Authentication::Digest(Key::from_text(keys[index]).unwrap()),
            ask: end == 2,
            data_port: 23_450 + u16::from(end),
            remote_data_port: 23_455 - u16::from(end),
            command_port: 60_456,
            window: 900,
            max_delay: Duration::from_millis(300),
            weights: vec![(3, 1), (1, 1)],
        });
        change(&mut config);
        config
    })
}

fn nothing(_: &mut Config) {}

const NONE: [Authentication; 2] = [Authentication::None, Authentication::None];

#[test]
fn the_server_answers_with_what_its_file_says() {
    let mut network = creating(["secret"; 2], &NONE, nothing);
    network.run(seconds(1));
    assert_eq!(network.ends[0].created, [(true, Outcome::Done, Some(23_453))]);
    assert_eq!(network.ends[1].created, [(false, Outcome::Done, Some(23_452))]);

    let [first, second, third, fourth] = network.commands.as_slice() else {
        panic!("{} messages", network.commands.len())
    };
    let start = |message: &(Duration, usize, _, Vec<u8>)| hex(&message.3[..4]);
    assert_eq!([first, second, third, fourth].map(start), ["a3000224"; 4]);
    // Round 1 gives the length of the text of round 3, in the byte order of the prototype's hosts.
    let length = u32::from_le_bytes(first.3[76..80].try_into().unwrap()) as usize;
    assert_eq!((first.3.len(), second.3.len(), third.3.len()), (80, 80, 76 + length));
    assert!(third.3[76..].starts_with(b";;;;;;;"));
    assert!(fourth.3.len() <= third.3.len(), "its reader has no more room than it sent");
    let text = String::from_utf8(fourth.3[76..].to_vec()).unwrap();
    for line in
        ["ip_local         = 10.0.0.3", "ip_remote        = 10.0.0.2", "local_port       = 23453"]
    {
        assert!(text.lines().any(|it| it == line), "{line} is not in\n{text}");
    }

    // Whatever is told of paths comes afterwards, and is authenticated as the connection says.
    let now = network.now;
    network.ends[0].compat.set_usable(now, FIRST, false);
    network.run(seconds(1));
    assert!(!network.ends[1].is_up(FIRST) && network.ends[1].is_up(SECOND));
    assert_eq!(hex(&network.commands[4].3[..4]), "a2800000");
}

#[test]
fn another_key_keeps_out() {
    let mut network = creating(["secret", "other"], &NONE, nothing);
    network.run(seconds(1));
    assert_eq!(network.ends[1].created, []);
    assert!(network.ends[1].counters(network.now).wrong_digest > 0);
    // Over both paths, and then not before half a minute is over.
    network.run(seconds(7));
    assert_eq!(network.ends[0].created, [(true, Outcome::Unanswered, None)]);
    let asked = network.commands.len();
    network.run(seconds(20));
    assert_eq!(network.commands.len(), asked);
    network.run(seconds(12));
    assert!(network.commands.len() > asked);
}

/// After a creation a prototype authenticates by the built-in key: an end with one of its own would not be understood.
#[test]
fn a_connection_with_digests_of_its_own_key_is_not_created() {
    let own = Authentication::Digest(Key::from_text("own").unwrap());
    let built_in = Authentication::Digest(Key::built_in());
    for (both, expected) in [
        ([own.clone(), own], Outcome::Refused(3)),
        ([built_in.clone(), built_in.clone()], Outcome::Done),
        ([built_in, Authentication::None], Outcome::Refused(3)),
    ] {
        let mut network = creating(["secret"; 2], &both, nothing);
        network.run(seconds(1));
        assert_eq!(network.ends[0].created[0].1, expected);
        assert_eq!(network.ends[1].created[0].1, expected);
    }
}

#[test]
fn a_client_with_other_paths_is_refused() {
    let mut network = creating(["secret"; 2], &NONE, |config| {
        if config.create.as_ref().is_some_and(|create| create.ask) {
            config.paths.swap(0, 1);
        }
    });
    network.run(seconds(1));
    assert_eq!(network.ends[0].created, [(true, Outcome::Refused(4), None)]);
}

/// Off unless the file says so, at either end.
#[test]
fn nobody_answers_without_the_switch() {
    let mut network = creating(["secret"; 2], &NONE, |config| {
        config.create = config.create.take().filter(|create| create.ask);
    });
    network.run(seconds(1));
    assert!(network.ends[1].counters(network.now).unknown_code > 0);
    assert_eq!((network.ends[0].created.len(), network.ends[1].created.len()), (0, 0));
}

#[test]
fn copies_and_losses_do_not_matter() {
    for lost in 0..4 {
        let mut network = creating(["secret"; 2], &NONE, nothing);
        network.lost = [lost].into();
        network.run(seconds(2));
        assert_eq!(network.ends[0].created, [(true, Outcome::Done, Some(23_453))], "{lost}");
        assert_eq!(network.ends[1].created.len(), 1, "carried out once ({lost})");
    }
}
