use mpt_wire::ip::protocol;
use mpt_wire::tcp;

use super::*;
use crate::adaptive::unordered::UnorderedFlows;

/// One second, in microseconds.
const SECOND: i64 = 1_000_000;
/// A path over which 1 MB is sooner alone; 6 bytes per microsecond.
const ALONE: Alone = Alone { slot: 0, bytes: 1_000_000, rate: 6.0 };

/// The end of a tunnel at which a client is.
struct Client {
    short: ShortFlows,
    now: i64,
    port: u16,
    load: Load,
}

impl Client {
    fn new() -> Self {
        let mut short = ShortFlows::default();
        short.set_alone(Some(ALONE));
        Self { short, now: 0, port: 40_000, load: Load::default() }
    }

    /// Sends one packet of a flow to port 443; returns whether it is of a short one.
    fn send(&mut self, flags: tcp::Flags, acknowledges: u32, payload: usize) -> bool {
        let mut packet = vec![0; 40 + payload];
        let len = (packet.len() as u16).to_be_bytes();
        packet[..4].copy_from_slice(&[0x45, 0, len[0], len[1]]);
        (packet[8], packet[9]) = (64, protocol::TCP);
        packet[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        packet[20..22].copy_from_slice(&self.port.to_be_bytes());
        packet[22..24].copy_from_slice(&443_u16.to_be_bytes());
        packet[28..32].copy_from_slice(&acknowledges.to_be_bytes());
        (packet[32], packet[33]) = (5 << 4, flags.0 as u8);
        let summary = Summary::parse(&packet).expect("an IPv4 packet");
        let Some(alone) = self.short.alone() else { return false };
        let short = self.short.note(self.now, (alone, self.load), &summary, &packet);
        if short {
            self.load.add(self.now, packet.len() as u32);
        }
        short
    }

    /// Downloads so many bytes over a new connection; returns whether it kept to one path.
    fn download(&mut self, bytes: u32) -> bool {
        self.port += 1;
        let short = self.send(tcp::Flags::SYN, 0, 0);
        assert_eq!(self.send(tcp::Flags::ACK, 1_000, 400), short, "a request");
        for came in (0..=bytes).step_by(100_000).chain([bytes]) {
            self.now += 10_000;
            assert_eq!(self.send(tcp::Flags::ACK, 1_000 + came, 0), short, "all the same way");
        }
        self.send(tcp::Flags::FIN | tcp::Flags::ACK, 1_000 + bytes, 0);
        short
    }
}

#[test]
fn a_flow_to_a_server_keeps_to_one_path_once_those_before_it_were_short() {
    let mut client = Client::new();
    let kept: Vec<bool> = (0..6).map(|_| client.download(200_000)).collect();
    assert_eq!(kept, [false, false, false, false, true, true]);
}

#[test]
fn a_long_flow_has_those_after_it_begin_over_all_paths() {
    let mut client = Client::new();
    (0..10).for_each(|_| _ = client.download(200_000));
    // It is long in the direction of which only acknowledgements show.
    assert!(client.download(2_000_000), "expected to be short");
    assert!((0..8).all(|_| !client.download(200_000)));
    assert!(client.download(200_000));
}

#[test]
fn connections_without_much_data_say_nothing_of_those_beside_them() {
    let mut client = Client::new();
    assert!((0..50).all(|_| !client.download(2_000)));
}

#[test]
fn a_connection_that_stays_open_may_keep_to_one_path_after_a_pause() {
    let mut client = Client::new();
    let mut came = 1_000;
    let kept: Vec<bool> = (0..6)
        .map(|_| {
            client.now += 2 * SECOND;
            came += 50_000;
            client.send(tcp::Flags::ACK, came, 400)
        })
        .collect();
    // What came is known from the second acknowledgement on, and a flow counts when it is over.
    assert_eq!(kept, [false, false, false, false, false, true]);
}

#[test]
fn flows_have_all_paths_while_short_ones_fill_theirs() {
    let mut client = Client::new();
    (0..4).for_each(|_| _ = client.download(200_000));
    client.port = 50_000;
    client.send(tcp::Flags::SYN, 0, 0);
    assert!(client.send(tcp::Flags::ACK, 1, 400));
    // An upload, of what the path carries in two seconds.
    for _ in 0..9_000 {
        client.now += 220;
        client.send(tcp::Flags::ACK, 1, 1_400);
    }
    client.port = 50_001;
    assert!(!client.send(tcp::Flags::SYN, 0, 0));
}

#[test]
fn no_flow_keeps_to_one_path_where_all_together_are_quicker() {
    let mut client = Client::new();
    (0..10).for_each(|_| _ = client.download(200_000));
    client.short.set_alone(None);
    assert!(!client.download(200_000));
}

/// They had the places of connections that were open and quiet, and what those had shown was lost.
#[test]
fn flows_that_are_not_tcp_take_nothing_from_what_is_known() {
    let mut client = Client::new();
    let mut unordered = UnorderedFlows::default();
    let round = |client: &mut Client, came: u32| {
        let kept = (1..=4).map(|port| {
            client.port = port + 40_000;
            client.send(tcp::Flags::ACK, 1_000 + came, 400)
        });
        let kept: Vec<bool> = kept.collect();
        client.now += 2 * SECOND;
        kept
    };
    round(&mut client, 0);
    round(&mut client, 0);
    round(&mut client, 200_000);
    for port in 1..=2_000_u16 {
        let mut packet = vec![0; 1_400];
        packet[..4].copy_from_slice(&[0x45, 0, 0x05, 0x78]);
        (packet[8], packet[9]) = (64, protocol::UDP);
        packet[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        packet[20..22].copy_from_slice(&port.to_be_bytes());
        let summary = Summary::parse(&packet).expect("an IPv4 packet");
        unordered.note(client.now, &summary);
    }
    round(&mut client, 200_000);
    client.port = 50_000;
    assert!(client.send(tcp::Flags::SYN, 0, 0));
}
