#!/usr/bin/env python3
"""Computes the test vectors of docs/protocol.md, section 26, and those of
control_crypto/the_bytes_stay_what_they_are.rs, independently of the implementation in Rust: from
RFC 7693 (BLAKE2s, Python's hashlib), RFC 7748 and RFC 8439 (the package cryptography),
draft-irtf-cfrg-xchacha, and the specification of Noise, revision 34.

Only the draws of the tests' random numbers follow the implementation: ChaCha20 keyed with the seed.
Run it after a change of the format, and compare what it prints with what the tests expect.
"""

import hashlib
import hmac
import ipaddress
import struct

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

VERSION = 2
PROLOGUE = b"mpt control 2"
ZERO = bytes(32)


def blake2s(data):
    return hashlib.blake2s(data).digest()


def mac(key, *parts):
    return hashlib.blake2s(b"".join(parts), key=key, digest_size=16).digest()


class Random:
    """The generator of the tests: the key stream of ChaCha20 with the seed as key."""

    def __init__(self, seed):
        self.restart(seed)

    def restart(self, seed):
        self.stream = Cipher(algorithms.ChaCha20(seed, bytes(16)), None).encryptor()

    def bytes(self, count):
        return self.stream.update(bytes(count))

    def key(self):
        key = self.bytes(32)
        self.restart(self.bytes(32))
        return key


def clamp(seed):
    key = bytearray(seed)
    key[0] &= 248
    key[31] = key[31] & 127 | 64
    return bytes(key)


def public(private):
    key = X25519PrivateKey.from_private_bytes(private).public_key()
    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)


def dh(private, other):
    return X25519PrivateKey.from_private_bytes(private).exchange(
        X25519PublicKey.from_public_bytes(other)
    )


def hkdf(chaining, material, count):
    digest = lambda key, data: hmac.new(key, data, hashlib.blake2s).digest()
    temporary = digest(chaining, material)
    outputs, last = [], b""
    for number in range(1, count + 1):
        last = digest(temporary, last + bytes([number]))
        outputs.append(last)
    return outputs


class Noise:
    """The symmetric state of Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s."""

    def __init__(self, responder):
        name = b"Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s"
        self.hash = blake2s(name) if len(name) > 32 else name.ljust(32, b"\0")
        self.chaining = self.hash
        self.mix_hash(PROLOGUE)
        self.mix_hash(responder)

    def mix_hash(self, data):
        self.hash = blake2s(self.hash + data)

    def mix_key(self, material):
        self.chaining, self.key = hkdf(self.chaining, material, 2)
        self.count = 0

    def mix_key_and_hash(self, material):
        self.chaining, extra, self.key = hkdf(self.chaining, material, 3)
        self.mix_hash(extra)
        self.count = 0

    def encrypt(self, plain):
        nonce = bytes(4) + struct.pack("<Q", self.count)
        self.count += 1
        sealed = ChaCha20Poly1305(self.key).encrypt(nonce, plain, self.hash)
        self.mix_hash(sealed)
        return sealed

    def ephemeral(self, key):
        """A token e, in a pattern with a pre-shared key."""
        self.mix_hash(key)
        self.mix_key(key)


class Handshake:
    def __init__(self, initiator, responder, ephemerals, psk, hello, welcome):
        (i, r), (ei, er) = (initiator, responder), ephemerals
        state = Noise(public(r))
        state.ephemeral(public(ei))
        state.mix_key(dh(ei, public(r)))
        static = state.encrypt(public(i))
        state.mix_key(dh(i, public(r)))
        self.first = public(ei) + static + state.encrypt(hello)
        state.ephemeral(public(er))
        state.mix_key(dh(er, public(ei)))
        state.mix_key(dh(er, public(i)))
        state.mix_key_and_hash(psk)
        self.second = public(er) + state.encrypt(welcome)
        self.keys = hkdf(state.chaining, b"", 2)


def mac1_key(key):
    return blake2s(b"mpt mac1" + key)


def initiation(path, index, noise, responder, cookie=None):
    frame = struct.pack(">BBHI", 1, VERSION, path, index) + noise
    frame += mac(mac1_key(responder), frame)
    if cookie is None:
        return frame + bytes(24)
    frame += struct.pack(">Q", cookie[0])
    return frame + mac(cookie[1], frame)


def response(path, sender, receiver, noise, initiator):
    frame = struct.pack(">BBHII", 2, VERSION, path, sender, receiver) + noise
    return frame + mac(mac1_key(initiator), frame)


def hchacha20(key, nonce):
    """The block function without its last addition: words 0 to 3 and 12 to 15."""
    stream = Cipher(algorithms.ChaCha20(key, nonce), None).encryptor().update(bytes(64))
    block = struct.unpack("<16I", stream)
    start = struct.unpack("<16I", b"expand 32-byte k" + key + nonce)
    words = [(a - b) & 0xFFFFFFFF for a, b in zip(block, start)]
    return struct.pack("<8I", *words[:4], *words[12:])


def xchacha(key, nonce, plain, data):
    return ChaCha20Poly1305(hchacha20(key, nonce[:16])).encrypt(bytes(4) + nonce[16:], plain, data)


class CookieSecret:
    """How this implementation makes its cookies, which concerns nobody else."""

    def __init__(self, random):
        self.secret = random.key()
        first = int.from_bytes(mac(self.secret, b"first time")[:8], "big")
        self.time = (first >> 2 | 1) + 1

    def cookie(self, address, port):
        address = ipaddress.IPv6Address("::ffff:" + address).packed
        time = struct.pack(">Q", self.time)
        cookie = mac(self.secret, b"cookie", time, address, struct.pack(">H", port))
        return self.time, cookie, mac(self.secret, b"challenge", time)


def cookie_frame(path, index, mac1, responder, cookie, nonce):
    content = struct.pack(">Q", cookie[0]) + cookie[1] + cookie[2]
    sealed = xchacha(blake2s(b"mpt cookie" + responder), nonce, content, mac1)
    return struct.pack(">BBHI", 3, VERSION, path, index) + nonce + sealed


def sealed(key, index, path, counter, plain):
    nonce = struct.pack(">HHI", path, counter >> 32, counter & 0xFFFFFFFF)
    header = struct.pack(">BBI", 4, VERSION, index) + nonce
    return header + ChaCha20Poly1305(key).encrypt(bytes(4) + nonce[::-1], plain, b"")


def hello(key, name, challenge=None):
    head = struct.pack(">BBBBI", 1, 1, 1, len(name), key) + struct.pack(">HH", 1, VERSION)
    head = head.ljust(72, b"\0") + name
    head = head.ljust(104, b"\0")
    if challenge:
        head += struct.pack(">Q", challenge[0]) + challenge[1]
    return head.ljust(128, b"\0")


WELCOME = (bytes([1, 1, 0, 0]) + struct.pack(">HH", 1, VERSION)).ljust(64, b"\0")


def message(kind, body):
    return struct.pack(">BH", kind, len(body)) + body


def show(name, data):
    print(f"{name} ({len(data)} bytes)")
    for at in range(0, len(data), 32):
        print("  " + data[at : at + 32].hex())


def page():
    """The block of docs/protocol.md, section 26."""
    alice = bytes.fromhex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")
    bob = bytes.fromhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
    show("initiator's private key", alice)
    show("initiator's public key", public(alice))
    show("responder's private key", bob)
    show("responder's public key", public(bob))
    psk = b"\x55" * 32
    show("pre-shared key", psk)
    ephemerals = [Random(bytes([n]) * 32).key() for n in (1, 2, 4)]
    show("initiator's first ephemeral private key", ephemerals[0])
    show("initiator's second ephemeral private key", ephemerals[2])
    show("responder's ephemeral private key", ephemerals[1])
    alice, bob = clamp(alice), clamp(bob)
    first = [clamp(ephemerals[0]), clamp(ephemerals[1])]
    greeting = hello(7, b"office")
    show("Hello without a challenge", greeting)
    handshake = Handshake(alice, bob, first, psk, greeting, WELCOME)
    frame = initiation(1, 0x01020304, handshake.first, public(bob))
    show("Initiation, path 1, no cookie", frame)
    random = Random(bytes([3]) * 32)
    cookie = CookieSecret(random).cookie("192.0.2.1", 4754)
    show("time, cookie and challenge", struct.pack(">Q", cookie[0]) + cookie[1] + cookie[2])
    nonce = random.bytes(24)
    answer = cookie_frame(1, 0x01020304, frame[232:248], public(bob), cookie, nonce)
    show("Cookie, for 192.0.2.1 port 4754", answer)
    greeting = hello(7, b"office", (cookie[0], cookie[2]))
    show("Hello with the challenge", greeting)
    second = [clamp(ephemerals[2]), clamp(ephemerals[1])]
    handshake = Handshake(alice, bob, second, psk, greeting, WELCOME)
    frame = initiation(1, 0x090A0B0C, handshake.first, public(bob), cookie)
    show("Initiation, path 1, with challenge and cookie", frame)
    show("Welcome", WELCOME)
    show(
        "Response, path 1", response(1, 0x05060708, 0x090A0B0C, handshake.second, public(alice))
    )
    token = struct.pack(">Q", 0x1122334455667788)
    report = struct.pack(">HIQQ", 1, 0, 3, 4)
    table = struct.pack(">IIIHHHBBHHHBB", 1, 0xDEADBEEF, 5, 1, 3, 0, 0, 0, 2, 0, 0, 2, 0)
    probe = message(1, token) + message(3, report) + message(4, table)
    show("messages: Probe, Report, Paths", probe)
    show(
        "Sealed by the initiator, path 1, counter 0",
        sealed(handshake.keys[0], 0x05060708, 1, 0, probe),
    )
    echo = message(2, token) + message(5, struct.pack(">I", 1))
    show("messages: Echo, PathsAck", echo)
    show(
        "Sealed by the responder, path 1, counter 0",
        sealed(handshake.keys[1], 0x090A0B0C, 1, 0, echo),
    )


def known_answers():
    """The constants of control_crypto/the_bytes_stay_what_they_are.rs."""
    seed = lambda n: bytes([n]) * 32
    client, server = clamp(seed(1)), clamp(seed(2))
    ephemerals = [clamp(Random(seed(10)).key()), clamp(Random(seed(11)).key())]
    greeting = hello(7, b"client")
    with_psk = Handshake(client, server, ephemerals, seed(3), greeting, WELCOME)
    frame = initiation(3, 0x01020304, with_psk.first, public(server))
    # The pre-shared key is mixed in after the first message, so this is the same without one.
    cookie = CookieSecret(Random(seed(20))).cookie("192.0.2.1", 4754)
    nonce = Random(seed(21)).bytes(24)
    answer = cookie_frame(3, 0x01020304, frame[232:248], public(server), cookie, nonce)
    keys = with_psk.keys
    for name, data in [
        ("INITIATION", frame),
        ("INITIATION_WITH_COOKIE", initiation(3, 0x01020304, with_psk.first, public(server), cookie)),
        ("RESPONSE", response(3, 0x05060708, 0x01020304, with_psk.second, public(client))),
        ("COOKIE", answer),
        ("SEALED_BY_CLIENT", sealed(keys[0], 0x05060708, 3, 0, b"to the server")),
        ("SEALED_BY_SERVER", sealed(keys[1], 0x01020304, 3, 0, b"to the client")),
    ]:
        lines = [data.hex()[at : at + 80] for at in range(0, 2 * len(data), 80)]
        text = "\\\n    ".join(lines)
        print(f'const {name}: &str = "\\\n    {text}";')


if __name__ == "__main__":
    page()
    known_answers()
