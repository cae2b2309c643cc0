//! Memory that was freed goes back to the system, also where something above it is still in use. The allocator keeps it otherwise: packets that waited in
//! a queue for a moment would be memory of the process for ever.
#![cfg(target_env = "gnu")]

use std::thread;

use mpt_linux::memory;

const PACKET: usize = 2_048;
const PACKETS: usize = 20_000;

/// The resident memory of this process in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1_024
}

#[test]
fn memory_that_nobody_uses_is_given_back() {
    let work = || {
        let packets: Vec<Box<[u8]>> =
            (0..PACKETS).map(|_| vec![1; PACKET].into_boxed_slice()).collect();
        let stays = vec![1; PACKET].into_boxed_slice();
        drop(packets);
        let before = resident();
        memory::release_free();
        assert!(stays.iter().all(|&byte| byte == 1));
        [before, resident()]
    };
    let [before, after] = thread::spawn(work).join().unwrap();
    assert!(after + PACKETS * PACKET * 9 / 10 < before, "{before} bytes, then {after}");
}
