//! From the two keys that a handshake ends with to the keys of sealed data.

use std::fmt;

use mpt_wire::control::{Sealing, Suite};
use ring::hkdf::{HKDF_SHA256, KeyType, Prk, Salt};
use zeroize::{Zeroizing, zeroize_stack};

use super::cipher::{Cipher, KEY_LEN};
use super::nonce::IV_LEN;
use super::{Opener, Sealer};
use crate::session::keys::erase::STACK;

/// The salt of HKDF-Extract: names the protocol and the version of this derivation.
const SALT: &[u8] = b"mpt sealed data 1";
/// The label of a derived key.
const KEY: &[u8] = b"key";
/// The label of a derived IV.
const IV: &[u8] = b"iv";

/// The two keys that a Noise handshake ends with: of what the initiator sends, and of what the
/// responder sends. Only keys derived from them seal data.
pub(crate) struct Split {
    /// On the heap, so that nothing of them stays behind where the split is moved from.
    initiator: Box<Secret>,
    responder: Box<Secret>,
}

type Secret = Zeroizing<[u8; KEY_LEN]>;

/// The facts on which both ends of a handshake agree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Agreement {
    /// The suite that seals both directions.
    pub(crate) suite: Suite,
    /// The announcement of the initiator.
    pub(crate) initiator: Sealing,
    /// The announcement of the responder.
    pub(crate) responder: Sealing,
}

/// The keys of both directions at one end.
#[derive(Debug)]
pub(crate) struct Keys {
    /// For what this end sends.
    pub(crate) sealer: Box<Sealer>,
    /// For what it receives.
    pub(crate) opener: Box<Opener>,
}

impl Split {
    /// Both, as `snow` gives them.
    pub(crate) fn new(initiator: &[u8; KEY_LEN], responder: &[u8; KEY_LEN]) -> Self {
        let mut split = Self { initiator: Box::default(), responder: Box::default() };
        split.initiator.copy_from_slice(initiator);
        split.responder.copy_from_slice(responder);
        split
    }

    /// The keys of the end that began the handshake, or of the other one. There always are some: the
    /// lengths are right.
    pub(crate) fn keys(&self, agreement: &Agreement, is_initiator: bool) -> Option<Keys> {
        let keys = self.derive_all(agreement, is_initiator);
        // Keys were on the stack before they came to the heap.
        zeroize_stack::<STACK>();
        keys
    }

    #[inline(never)]
    fn derive_all(&self, agreement: &Agreement, is_initiator: bool) -> Option<Keys> {
        let Agreement { suite, initiator, responder } = agreement;
        let context = context(*suite, initiator.index, responder.index);
        let of_initiator = || derive(*suite, &self.initiator, &context);
        let of_responder = || derive(*suite, &self.responder, &context);
        let (send, receive, own, peer) = match is_initiator {
            true => (of_initiator()?, of_responder()?, initiator, responder),
            false => (of_responder()?, of_initiator()?, responder, initiator),
        };
        Some(Keys {
            sealer: Box::new(Sealer::new(send, *suite, peer.index, own.first)),
            opener: Box::new(Opener::new(receive, own.index, peer.first)),
        })
    }
}

#[cfg(test)]
impl Split {
    /// The key of what the initiator sends, and what is derived from it.
    pub(super) fn of_initiator(&self, agreement: &Agreement) -> (Secret, Secret, [u8; IV_LEN]) {
        let Agreement { suite, initiator, responder } = agreement;
        let context = context(*suite, initiator.index, responder.index);
        let (key, iv) = key_and_iv(&self.initiator, &context).unwrap();
        ((*self.initiator).clone(), key, iv)
    }
}

/// Returns what the keys of one handshake are for, and no others: the suite and the two data indices.
fn context(suite: Suite, initiator: u32, responder: u32) -> [u8; 9] {
    let mut context = [suite.code(); 9];
    context[1..5].copy_from_slice(&initiator.to_be_bytes());
    context[5..].copy_from_slice(&responder.to_be_bytes());
    context
}

fn derive(suite: Suite, secret: &Secret, context: &[u8]) -> Option<Cipher> {
    let (key, iv) = key_and_iv(secret, context)?;
    Cipher::new(suite, &key, iv)
}

/// HKDF-SHA256 (RFC 5869) of one of the handshake's keys.
fn key_and_iv(secret: &Secret, context: &[u8]) -> Option<(Secret, [u8; IV_LEN])> {
    let prk = Salt::new(HKDF_SHA256, SALT).extract(&**secret);
    let (mut key, mut iv) = (Zeroizing::new([0; KEY_LEN]), [0; IV_LEN]);
    expand(&prk, KEY, context, &mut *key)?;
    expand(&prk, IV, context, &mut iv)?;
    Some((key, iv))
}

fn expand(prk: &Prk, label: &[u8], context: &[u8], out: &mut [u8]) -> Option<()> {
    let info = [label, context];
    prk.expand(&info, Len(out.len())).ok()?.fill(out).ok()
}

/// The number of bytes that HKDF has to give.
struct Len(usize);

impl KeyType for Len {
    fn len(&self) -> usize {
        self.0
    }
}

/// Shows no key.
impl fmt::Debug for Split {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Split").finish_non_exhaustive()
    }
}
