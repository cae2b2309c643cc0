//! Detection of out-of-order delivery (TCP-DOOR: Wang and Zhang, MobiHoc 2002).
//!
//! The times T1 and T2 are tunables; here they are one and two smoothed round-trip times.

use std::time::Duration;

use crate::kernel::time::Time;

use crate::transport::tcp::Ack;

/// T1 and T2, in round-trip times.
const SUSPENSION: f64 = 1.0;
const MEMORY: f64 = 2.0;

#[derive(Clone, Debug, Default)]
pub(crate) struct Door {
    /// One above the highest number of an acknowledgement.
    next_ack: u64,
    /// The time before which the sender does not respond to congestion.
    suspended: Time,
}

impl Door {
    /// True if this acknowledgement shows that packets, or acknowledgements, came out of order.
    pub(crate) fn observe(&mut self, now: Time, ack: &Ack, rtt: f64) -> bool {
        let event = ack.out_of_order || ack.number < self.next_ack;
        self.next_ack = self.next_ack.max(ack.number + 1);
        if event {
            self.suspended = now + Duration::from_secs_f64(SUSPENSION * rtt);
        }
        event
    }

    pub(crate) fn is_suspended(&self, now: Time) -> bool {
        now < self.suspended
    }

    /// True if a response that began then is recent enough to be taken back.
    pub(crate) fn remembers(&self, now: Time, began: Time, rtt: f64) -> bool {
        now - began <= Duration::from_secs_f64(MEMORY * rtt)
    }
}
