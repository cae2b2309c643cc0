//! The Noise handshake as the control protocol uses it: the pattern, where its randomness comes
//! from, and what is wiped when it ends.
//!
//! The crate `snow` runs the handshake and has the hash; the cipher is that of `ring`, and keys and
//! multiplications on the curve are here, because `snow` leaves private keys in memory. Wiped are
//! ephemeral and static private keys, the preshared key, the keys of the session, and the stack
//! that the handshake used. Not wiped here, because `snow` holds it where nobody can reach it, is
//! the chaining key, from which the session's keys can be computed: a program that has secrets to
//! keep uses an allocator that overwrites what is freed, as the daemon does.

use curve25519_dalek::MontgomeryPoint;
use snow::error::Error;
use snow::params::{CipherChoice, DHChoice, HashChoice, NoiseParams};
use snow::resolvers::{CryptoResolver, DefaultResolver};
use snow::types::{Cipher, Dh, Hash, Random as Source};
use snow::{Builder, HandshakeState, StatelessTransportState};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing, zeroize_stack};

use super::cipher::ChaChaPoly;
use crate::seal::keys::Split;
use crate::session::keys::Random;
use crate::session::keys::erase::STACK;
use crate::session::keys::{KEY_LEN, PresharedKey, PrivateKey, PublicKey};

/// The initiator knows the responder's key, sends its own sealed, and a preshared key is mixed in
/// at the end of the second message (the Noise Protocol Framework, sections 7.5 and 9).
const PATTERN: &str = "Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s";
/// Both ends hash it first: a handshake of another protocol or version comes to nothing.
const PROLOGUE: &[u8] = b"mpt control 2";
/// The place in the pattern at which the pre-shared key is mixed in.
const PSK_POSITION: u8 = 2;
/// The pre-shared key if none is configured.
const NO_PSK: [u8; KEY_LEN] = [0; KEY_LEN];

/// One handshake in progress. A message that is refused leaves it as it was.
pub(in crate::session) struct Noise {
    /// `None` only within [`Noise::into_transport`].
    state: Option<Box<HandshakeState>>,
}

impl Noise {
    /// Before the first message, at the end that writes it.
    pub(in crate::session) fn initiator(
        identity: &PrivateKey,
        peer: &PublicKey,
        psk: Option<&PresharedKey>,
        random: &mut Random,
    ) -> Result<Self, Error> {
        let state = builder(identity, random)?
            .remote_public_key(peer.as_bytes())?
            .psk(PSK_POSITION, psk.map_or(&NO_PSK, PresharedKey::as_bytes))?
            .build_initiator()?;
        Ok(Self { state: Some(Box::new(state)) })
    }

    /// Before the first message, at the end that reads it. Which preshared key is due is known
    /// only afterwards: see [`Noise::set_psk`].
    pub(in crate::session) fn responder(
        identity: &PrivateKey,
        random: &mut Random,
    ) -> Result<Self, Error> {
        let state = builder(identity, random)?.build_responder()?;
        Ok(Self { state: Some(Box::new(state)) })
    }

    pub(in crate::session) fn set_psk(&mut self, psk: Option<&PresharedKey>) -> Result<(), Error> {
        let psk = psk.map_or(&NO_PSK, PresharedKey::as_bytes);
        self.state()?.set_psk(usize::from(PSK_POSITION), psk)
    }

    /// Writes the next message, which has to fill `message`.
    pub(in crate::session) fn write(
        &mut self,
        payload: &[u8],
        message: &mut [u8],
    ) -> Result<(), Error> {
        let room = message.len();
        let len = self.state()?.write_message(payload, message)?;
        if len == room { Ok(()) } else { Err(Error::Input) }
    }

    /// Reads the next message, whose payload has to fill `payload`.
    pub(in crate::session) fn read(
        &mut self,
        message: &[u8],
        payload: &mut [u8],
    ) -> Result<(), Error> {
        let room = payload.len();
        let len = self.state()?.read_message(message, payload)?;
        if len == room { Ok(()) } else { Err(Error::Input) }
    }

    /// The other end's static key: authentic once a message of it has been read.
    pub(in crate::session) fn peer(&self) -> Option<PublicKey> {
        let key = self.state.as_ref()?.get_remote_static()?;
        <[u8; KEY_LEN]>::try_from(key).ok().map(PublicKey::from)
    }

    /// Returns the keys that both messages led to: for frames, and to derive others from.
    pub(in crate::session) fn into_transport(
        mut self,
    ) -> Result<(StatelessTransportState, Split), Error> {
        self.wipe();
        let mut state = self.state.take().ok_or(Error::Input)?;
        let split = split(&mut state);
        Ok((state.into_stateless_transport_mode()?, split))
    }

    fn state(&mut self) -> Result<&mut HandshakeState, Error> {
        self.state.as_deref_mut().ok_or(Error::Input)
    }

    fn wipe(&mut self) {
        if let Some(state) = &mut self.state {
            // It fails for a wrong length or position only.
            let _ = state.set_psk(usize::from(PSK_POSITION), &NO_PSK);
        }
    }
}

impl Drop for Noise {
    fn drop(&mut self) {
        self.wipe();
        zeroize_stack::<STACK>();
    }
}

/// The keys as they are, for others to be derived from. Their copies on the stack are wiped when the [`Noise`] is dropped, since the frame of this
/// function is gone then.
#[inline(never)]
fn split(state: &mut HandshakeState) -> Split {
    let (mut initiator, mut responder) = state.dangerously_get_raw_split();
    let split = Split::new(&initiator, &responder);
    initiator.zeroize();
    responder.zeroize();
    split
}

fn builder<'a>(identity: &'a PrivateKey, random: &mut Random) -> Result<Builder<'a>, Error> {
    let params: NoiseParams = PATTERN.parse()?;
    let resolver = Resolver { identity: identity.public(), ephemeral: random.key() };
    Builder::with_resolver(params, Box::new(resolver))
        .local_private_key(identity.as_bytes())?
        .prologue(PROLOGUE)
}

/// Gives `snow` the primitives that it works with.
struct Resolver {
    /// The public half of the static key.
    identity: PublicKey,
    /// The ephemeral private key to be.
    ephemeral: Zeroizing<[u8; KEY_LEN]>,
}

impl CryptoResolver for Resolver {
    fn resolve_rng(&self) -> Option<Box<dyn Source>> {
        Some(Box::new(Once(Some(self.ephemeral.clone()))))
    }

    fn resolve_dh(&self, _: &DHChoice) -> Option<Box<dyn Dh>> {
        let (private, public) = ([0; KEY_LEN], [0; KEY_LEN]);
        Some(Box::new(KeyPair { private, public, identity: *self.identity.as_bytes() }))
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        DefaultResolver.resolve_hash(choice)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        match choice {
            CipherChoice::ChaChaPoly => Some(Box::new(ChaChaPoly::default())),
            _ => None,
        }
    }
}

/// Random bytes for one ephemeral key: more a handshake does not need, and no key is made twice of
/// the same bytes.
struct Once(Option<Zeroizing<[u8; KEY_LEN]>>);

impl Source for Once {
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        let key = self.0.take().ok_or(Error::Rng)?;
        let bytes: &mut [u8; KEY_LEN] = bytes.try_into().map_err(|_| Error::Rng)?;
        *bytes = *key;
        Ok(())
    }
}

/// A Curve25519 key pair (RFC 7748) that is wiped when dropped.
#[derive(ZeroizeOnDrop)]
struct KeyPair {
    private: [u8; KEY_LEN],
    public: [u8; KEY_LEN],
    /// The public half of what `set` is going to be given: it costs a tenth of a handshake to
    /// find, and the identity knows it.
    identity: [u8; KEY_LEN],
}

impl Dh for KeyPair {
    fn name(&self) -> &'static str {
        "25519"
    }

    fn pub_len(&self) -> usize {
        KEY_LEN
    }

    fn priv_len(&self) -> usize {
        KEY_LEN
    }

    /// Called for the static key only: ephemeral ones are generated.
    fn set(&mut self, private: &[u8]) {
        self.private.copy_from_slice(private);
        self.public = self.identity;
    }

    fn generate(&mut self, random: &mut dyn Source) -> Result<(), Error> {
        random.try_fill_bytes(&mut self.private)?;
        self.public = MontgomeryPoint::mul_base_clamped(self.private).to_bytes();
        Ok(())
    }

    fn pubkey(&self) -> &[u8] {
        &self.public
    }

    fn privkey(&self) -> &[u8] {
        &self.private
    }

    /// Refuses points of small order, whose product everybody knows (RFC 7748, section 6.1).
    fn dh(&self, public: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let public = public.first_chunk().ok_or(Error::Dh)?;
        let out = out.first_chunk_mut::<KEY_LEN>().ok_or(Error::Dh)?;
        let shared = Zeroizing::new(MontgomeryPoint(*public).mul_clamped(self.private).to_bytes());
        if shared.ct_eq(&[0; KEY_LEN]).into() {
            return Err(Error::Dh);
        }
        *out = *shared;
        Ok(())
    }
}
