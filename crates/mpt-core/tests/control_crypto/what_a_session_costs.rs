//! Memory: a concentrator has a thousand sessions.

use mpt_core::session::{Initiation, Response, Transport};
use mpt_wire::control::frame::{self, Frame, MAX_PAYLOAD_LEN};

use super::harness::*;

/// Seals and opens a frame in both directions.
fn exchange(ends: &mut [Transport; 2], path: u16, frame: &mut Vec<u8>) {
    let mut out = [0; MAX_PAYLOAD_LEN];
    for (from, to) in [(0, 1), (1, 0)] {
        ends[from].seal(path, &[7; 200], frame).unwrap();
        let Ok(Frame::Sealed(sealed)) = frame::parse(frame) else { panic!("a sealed frame") };
        assert_eq!(ends[to].open(&sealed, &mut out).unwrap().payload, [7; 200]);
    }
}

#[test]
fn nothing_is_allocated_per_frame() {
    let mut ends = <[Transport; 2]>::from(session());
    let mut frame = Vec::new();
    for path in 1..=4 {
        exchange(&mut ends, path, &mut frame);
    }
    let allocated = allocation_counter::measure(|| {
        for _ in 0..100 {
            for path in 1..=4 {
                exchange(&mut ends, path, &mut frame);
            }
        }
    });
    assert_eq!(allocated.count_total, 0);
}

#[test]
fn forged_frames_allocate_nothing() {
    let (mut client, mut server) = session();
    let mut forged = seal(&mut client, 1, b"");
    let mut out = [0; MAX_PAYLOAD_LEN];
    let allocated = allocation_counter::measure(|| {
        for path in 2..1000_u16 {
            forged[6..8].copy_from_slice(&path.to_be_bytes());
            let Ok(Frame::Sealed(sealed)) = frame::parse(&forged) else { panic!("a sealed frame") };
            assert!(server.open(&sealed, &mut out).is_err());
        }
    });
    assert_eq!(allocated.count_total, 0);
}

#[test]
fn a_handshake_on_its_way_takes_less_than_3_kilobytes_at_the_initiator() {
    let mut initiation = None;
    let allocated = allocation_counter::measure(|| {
        initiation = Some(initiate(None));
    });
    let bytes = allocated.bytes_current as usize + size_of::<Initiation>();
    assert!(bytes < 3 * 1024, "{bytes} bytes");
}

#[test]
fn unconfirmed_keys_take_less_than_a_kilobyte_at_the_responder() {
    let frame = initiate(None).frame(1, None);
    let mut answer = None;
    let allocated = allocation_counter::measure(|| {
        answer = Some(respond(&frame, None));
    });
    let bytes = allocated.bytes_current as usize + size_of::<(Response, Transport)>();
    assert!(bytes < 1024, "{bytes} bytes");
}

#[test]
fn the_keys_of_two_paths_take_less_than_a_kilobyte_and_of_128_less_than_24() {
    for (paths, limit) in [(2, 1024), (128, 24 * 1024)] {
        let mut frame = Vec::with_capacity(1200);
        let mut ends = None;
        let allocated = allocation_counter::measure(|| {
            let ends = ends.insert(<[Transport; 2]>::from(session()));
            for path in 1..=paths {
                exchange(ends, path, &mut frame);
            }
        });
        let of_one = allocated.bytes_current as usize / 2 + size_of::<Transport>();
        assert!(of_one < limit, "{paths} paths: {of_one} bytes");
    }
}
