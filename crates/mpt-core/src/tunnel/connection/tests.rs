use std::mem::offset_of;

use super::*;

#[test]
fn what_a_packet_touches_is_close_together() {
    const LINE: usize = 64;
    assert_eq!(offset_of!(Connection<u64>, accepted), 2 * LINE);
    assert_eq!(size_of::<Connection<u64>>(), 3 * LINE);
    assert_eq!(size_of::<Path>(), LINE);
}
