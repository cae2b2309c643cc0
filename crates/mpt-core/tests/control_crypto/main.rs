//! The cryptography of the control protocol: handshakes, cookies and sealed frames, against
//! everything that can happen to them on the way.

mod harness;

mod a_handshake_needs_every_key_and_every_byte;
