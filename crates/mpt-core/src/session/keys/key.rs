//! Keys as files and configurations have them: 44 characters of base64.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use curve25519_dalek::MontgomeryPoint;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// The length of every key, bytes.
pub const KEY_LEN: usize = 32;
/// The length of every key as text, characters.
pub const KEY_TEXT_LEN: usize = 44;

/// The bytes of a secret key in one place, where they are wiped when dropped. They are on the heap, since a value that is moved leaves its bytes
/// behind, on stacks and in the spare room of vectors.
type Secret = Box<Zeroizing<[u8; KEY_LEN]>>;

/// The private half of an end's Curve25519 key pair (RFC 7748). Wiped when dropped, and never
/// printed by [`Debug`](fmt::Debug).
#[derive(Clone)]
pub struct PrivateKey {
    secret: Secret,
    /// Costs a multiplication to find, and every frame of a handshake needs it.
    public: PublicKey,
}

impl PrivateKey {
    /// Returns the key that 32 random bytes make: with the bits set and cleared that RFC 7748,
    /// section 5, demands.
    #[must_use]
    pub fn from_seed(seed: [u8; KEY_LEN]) -> Self {
        let mut seed = Zeroizing::new(seed);
        let [first, .., last] = &mut *seed;
        *first &= 0b1111_1000;
        *last &= 0b0111_1111;
        *last |= 0b0100_0000;
        Self::from_bytes(&seed)
    }

    fn from_bytes(secret: &[u8; KEY_LEN]) -> Self {
        let public = PublicKey(MontgomeryPoint::mul_base_clamped(*secret).to_bytes());
        Self { secret: Box::new(Zeroizing::new(*secret)), public }
    }

    /// Returns the public half.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        self.public
    }

    /// Returns the key as text, for a key file. The text is wiped when dropped.
    #[must_use]
    pub fn to_base64(&self) -> Zeroizing<String> {
        Zeroizing::new(STANDARD.encode(**self.secret))
    }

    pub(in crate::session) fn as_bytes(&self) -> &[u8; KEY_LEN] {
        &self.secret
    }
}

/// In a time that does not depend on the keys.
impl PartialEq for PrivateKey {
    fn eq(&self, other: &Self) -> bool {
        self.secret.ct_eq(&**other.secret).into()
    }
}

impl Eq for PrivateKey {}

impl FromStr for PrivateKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        Ok(Self::from_bytes(&*parse(text)?))
    }
}

/// Names the public half only.
impl fmt::Debug for PrivateKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PrivateKey(of {})", self.public)
    }
}

/// The public half of an end's Curve25519 key pair: the name by which ends know each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; KEY_LEN]);

impl PublicKey {
    /// Returns the u coordinate, as RFC 7748 writes it.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; KEY_LEN] {
        &self.0
    }
}

impl From<[u8; KEY_LEN]> for PublicKey {
    fn from(bytes: [u8; KEY_LEN]) -> Self {
        Self(bytes)
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        Ok(Self(*parse(text)?))
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; KEY_TEXT_LEN];
        let len = STANDARD.encode_slice(self.0, &mut text).map_err(|_| fmt::Error)?;
        formatter.pad(text.get(..len).and_then(|text| str::from_utf8(text).ok()).ok_or(fmt::Error)?)
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PublicKey({self})")
    }
}

/// A key that both ends of a session were given beforehand, besides their key pairs: it holds even
/// if Curve25519 should fall. Wiped when dropped, and never printed by [`Debug`](fmt::Debug).
#[derive(Clone)]
pub struct PresharedKey(Secret);

impl PresharedKey {
    /// Returns the key that 32 random bytes are.
    #[must_use]
    pub fn from_seed(seed: [u8; KEY_LEN]) -> Self {
        Self::from_bytes(&Zeroizing::new(seed))
    }

    fn from_bytes(key: &[u8; KEY_LEN]) -> Self {
        Self(Box::new(Zeroizing::new(*key)))
    }

    /// Returns the key as text, for a key file. The text is wiped when dropped.
    #[must_use]
    pub fn to_base64(&self) -> Zeroizing<String> {
        Zeroizing::new(STANDARD.encode(**self.0))
    }

    pub(in crate::session) fn as_bytes(&self) -> &[u8; KEY_LEN] {
        &self.0
    }
}

/// In a time that does not depend on the keys.
impl PartialEq for PresharedKey {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&**other.0).into()
    }
}

impl Eq for PresharedKey {}

impl FromStr for PresharedKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        Ok(Self::from_bytes(&*parse(text)?))
    }
}

impl fmt::Debug for PresharedKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PresharedKey(..)")
    }
}

/// The reason for which a text is no key. Says nothing of the text but where it is wrong: it may be
/// secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Too short or too long.
    #[error("a key is {KEY_TEXT_LEN} characters of base64, this text has {0}")]
    Length(usize),
    /// A character that base64 has not; counted from 1.
    #[error(
        "character {0} of the key is not in base64, which has letters, digits, '+' and '/', and \
         '=' at the end"
    )]
    Character(usize),
    /// The right length and the right characters, but not the base64 of 32 bytes: the `=` is
    /// missing, or the last character before it has bits that belong to nothing.
    #[error("the key does not end as the base64 of 32 bytes does; is it copied completely?")]
    Ending,
    /// All bytes are zero.
    #[error("a key of zeros is not valid: make one with `mpt genkey` or `mpt genpsk`")]
    Zero,
}

/// Returns the bytes of a key. White space around it is allowed: files end with a line feed.
fn parse(text: &str) -> Result<Zeroizing<[u8; KEY_LEN]>, KeyError> {
    let text = text.trim();
    let strange = |character: char| {
        !(character.is_ascii_alphanumeric() || matches!(character, '+' | '/' | '='))
    };
    if let Some(at) = text.chars().position(strange) {
        return Err(KeyError::Character(at + 1));
    }
    if text.len() != KEY_TEXT_LEN {
        return Err(KeyError::Length(text.len()));
    }
    // The decoder asks for room for whole groups of 3 bytes.
    let mut decoded = Zeroizing::new([0; KEY_LEN + 1]);
    let len = STANDARD.decode_slice(text, &mut *decoded).map_err(|_| KeyError::Ending)?;
    if len != KEY_LEN {
        return Err(KeyError::Ending);
    }
    let mut key = Zeroizing::new([0; KEY_LEN]);
    key.copy_from_slice(decoded.get(..KEY_LEN).ok_or(KeyError::Ending)?);
    if key.ct_eq(&[0; KEY_LEN]).into() {
        return Err(KeyError::Zero);
    }
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7748, section 6.1: Alice's keys.
    const ALICE: [u8; 32] = [
        0x77, 0x07, 0x6d, 0x0a, 0x73, 0x18, 0xa5, 0x7d, 0x3c, 0x16, 0xc1, 0x72, 0x51, 0xb2, 0x66,
        0x45, 0xdf, 0x4c, 0x2f, 0x87, 0xeb, 0xc0, 0x99, 0x2a, 0xb1, 0x77, 0xfb, 0xa5, 0x1d, 0xb9,
        0x2c, 0x2a,
    ];
    const ALICE_PUBLIC: [u8; 32] = [
        0x85, 0x20, 0xf0, 0x09, 0x89, 0x30, 0xa7, 0x54, 0x74, 0x8b, 0x7d, 0xdc, 0xb4, 0x3e, 0xf7,
        0x5a, 0x0d, 0xbf, 0x3a, 0x0d, 0x26, 0x38, 0x1a, 0xf4, 0xeb, 0xa4, 0xa9, 0x8e, 0xaa, 0x9b,
        0x4e, 0x6a,
    ];

    #[test]
    fn the_public_key_is_that_of_rfc_7748() {
        let key = PrivateKey::from_bytes(&ALICE);
        assert_eq!(key.public(), PublicKey(ALICE_PUBLIC));
        assert_eq!(PrivateKey::from_seed(ALICE).public(), key.public());
    }

    #[test]
    fn a_seed_is_clamped() {
        let key = PrivateKey::from_seed([0xff; 32]);
        assert_eq!((key.secret[0], key.secret[31]), (0xf8, 0x7f));
        let key = PrivateKey::from_seed([0; 32]);
        assert_eq!((key.secret[0], key.secret[31]), (0, 0x40));
    }

    #[test]
    fn text_and_back() {
        let private = PrivateKey::from_seed([9; 32]);
        let text = private.to_base64();
        assert_eq!(text.len(), KEY_TEXT_LEN);
        assert_eq!(text.parse::<PrivateKey>(), Ok(private.clone()));
        assert_eq!(format!(" {}\n", *text).parse::<PrivateKey>(), Ok(private.clone()));
        let public = private.public();
        assert_eq!(public.to_string().parse::<PublicKey>(), Ok(public));
        let preshared = PresharedKey::from_seed([3; 32]);
        assert_eq!(preshared.to_base64().parse::<PresharedKey>(), Ok(preshared));
    }

    #[test]
    fn a_bad_text_is_told_what_is_wrong() {
        let good = PublicKey(ALICE_PUBLIC).to_string();
        assert_eq!(good, "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=");
        let parse = |text: &str| text.parse::<PublicKey>().unwrap_err();
        assert_eq!(parse(""), KeyError::Length(0));
        assert_eq!(parse(&good[1..]), KeyError::Length(43));
        assert_eq!(parse(&format!("{good}A")), KeyError::Length(45));
        assert_eq!(parse(&good.replace('/', "_")), KeyError::Character(24));
        assert_eq!(parse(&good.replacen("Y", "ö", 1)), KeyError::Character(6));
        assert_eq!(parse(&good.replace('=', "A")), KeyError::Ending);
        assert_eq!(parse(&good.replace("o=", "p=")), KeyError::Ending);
        assert_eq!(parse(&good.replacen("SD", "S=", 1)), KeyError::Ending);
        assert_eq!(parse(&format!("{}=", "A".repeat(43))), KeyError::Zero);
        assert_eq!(
            parse("secret").to_string(),
            "a key is 44 characters of base64, this text has 6"
        );
    }

    #[test]
    fn debug_output_has_no_secrets() {
        let private = PrivateKey::from_seed(ALICE);
        let debug = format!("{private:?} {:?}", PresharedKey::from_seed(ALICE));
        assert_eq!(debug, format!("PrivateKey(of {}) PresharedKey(..)", private.public()));
    }
}
