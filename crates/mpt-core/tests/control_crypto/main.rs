//! The cryptography of the control protocol: handshakes, cookies and sealed frames, against
//! everything that can happen to them on the way.

mod harness;

mod a_cookie_is_good_for_its_address_and_its_time;
mod a_frame_opens_once_and_only_at_the_other_end;
mod a_handshake_needs_every_key_and_every_byte;
mod no_bytes_make_it_panic;
mod the_bytes_stay_what_they_are;
mod what_a_session_costs;
