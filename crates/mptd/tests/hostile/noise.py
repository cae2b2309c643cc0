"""Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s (revision 34), on the primitives of `cryptography` and hashlib alone."""
import hashlib
import hmac
import struct

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

NAME = b"Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s"


def public(private):
    """The public key of a private one, each 32 bytes."""
    key = X25519PrivateKey.from_private_bytes(private).public_key()
    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)


def dh(private, peer):
    """The shared secret of X25519."""
    return X25519PrivateKey.from_private_bytes(private).exchange(X25519PublicKey.from_public_bytes(peer))


def nonce(number):
    """How Noise writes the number of a message for ChaCha20-Poly1305."""
    return bytes(4) + struct.pack("<Q", number)


def hkdf(key, data, outputs):
    """HKDF of Noise, section 4.3."""
    mac = lambda key, data: hmac.new(key, data, hashlib.blake2s).digest()
    secret, out = mac(key, data), [b""]
    for number in range(outputs):
        out.append(mac(secret, out[-1] + bytes([number + 1])))
    return out[1:]


class Handshake:
    """One handshake; `write_1` and `read_2` at the initiator, `read_1` and `write_2` at the responder."""

    def __init__(self, prologue, own, responder, psk=None):
        """`own`: the private key here. `responder`: the responder's public key."""
        self.own, self.psk = own, psk or bytes(32)
        self.responder = responder
        self.h = self.ck = hashlib.blake2s(NAME).digest()
        self.key, self.number = None, 0
        self._mix_hash(prologue)
        self._mix_hash(responder)

    def write_1(self, ephemeral, payload):
        """The first message: ephemeral key, sealed static key, sealed payload."""
        self.ephemeral = ephemeral
        message = self._ephemeral(public(ephemeral))
        self._mix_key(dh(ephemeral, self.responder))
        message += self._seal(public(self.own))
        self._mix_key(dh(self.own, self.responder))
        return message + self._seal(payload)

    def read_1(self, message):
        """Payload of the first message; `initiator` is the peer's public key then."""
        self.peer_ephemeral = self._ephemeral(message[:32])
        self._mix_key(dh(self.own, self.peer_ephemeral))
        self.initiator = self._open(message[32:80])
        self._mix_key(dh(self.own, self.initiator))
        return self._open(message[80:])

    def write_2(self, ephemeral, payload):
        """The second message, of the responder."""
        message = self._ephemeral(public(ephemeral))
        self._mix_key(dh(ephemeral, self.peer_ephemeral))
        self._mix_key(dh(ephemeral, self.initiator))
        self._mix_key_and_hash(self.psk)
        return message + self._seal(payload)

    def read_2(self, message):
        """Payload of the second message."""
        ephemeral = self._ephemeral(message[:32])
        self._mix_key(dh(self.ephemeral, ephemeral))
        self._mix_key(dh(self.own, ephemeral))
        self._mix_key_and_hash(self.psk)
        return self._open(message[32:])

    def split(self):
        """Keys of the two directions: of what the initiator sends, of what the responder sends."""
        return hkdf(self.ck, b"", 2)

    def copy(self):
        """One to try a message on."""
        other = object.__new__(Handshake)
        other.__dict__.update(self.__dict__)
        return other

    def _ephemeral(self, key):
        # With a pre-shared key the ephemeral keys are mixed into the chaining key, too (section 9.2).
        self._mix_hash(key)
        self._mix_key(key)
        return key

    def _mix_hash(self, data):
        self.h = hashlib.blake2s(self.h + data).digest()

    def _mix_key(self, data):
        self.ck, self.key = hkdf(self.ck, data, 2)
        self.number = 0

    def _mix_key_and_hash(self, data):
        self.ck, mixed, self.key = hkdf(self.ck, data, 3)
        self._mix_hash(mixed)
        self.number = 0

    def _seal(self, data):
        sealed = ChaCha20Poly1305(self.key).encrypt(nonce(self.number), data, self.h)
        self.number += 1
        self._mix_hash(sealed)
        return sealed

    def _open(self, sealed):
        data = ChaCha20Poly1305(self.key).decrypt(nonce(self.number), sealed, self.h)
        self.number += 1
        self._mix_hash(sealed)
        return data


def hchacha20(key, start):
    """The key of XChaCha20 for the first 16 bytes of a nonce (draft-irtf-cfrg-xchacha, section 2.2)."""
    state = list(struct.unpack("<4I", b"expand 32-byte k") + struct.unpack("<8I", key) + struct.unpack("<4I", start))

    def quarter(a, b, c, d):
        for x, y, z, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            state[x] = (state[x] + state[y]) & 0xFFFFFFFF
            word = state[z] ^ state[x]
            state[z] = (word << turn | word >> (32 - turn)) & 0xFFFFFFFF

    for _ in range(10):
        for column in range(4):
            quarter(column, column + 4, column + 8, column + 12)
        for column in range(4):
            quarter(column, (column + 1) % 4 + 4, (column + 2) % 4 + 8, (column + 3) % 4 + 12)
    return struct.pack("<8I", *state[:4], *state[12:])


def xchacha_seal(key, start, data, associated):
    """XChaCha20-Poly1305 with a nonce of 24 bytes."""
    return ChaCha20Poly1305(hchacha20(key, start[:16])).encrypt(bytes(4) + start[16:], data, associated)


def xchacha_open(key, start, sealed, associated):
    """What was sealed, or None."""
    try:
        return ChaCha20Poly1305(hchacha20(key, start[:16])).decrypt(bytes(4) + start[16:], sealed, associated)
    except InvalidTag:
        return None
