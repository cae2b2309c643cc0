#!/usr/bin/env python3
"""Computes the test vectors of docs/protocol.md, section 28.8, independently of the implementation in
Rust: the handshake as control_vectors.py does it, keys by HKDF-SHA256 (RFC 5869) and packets by
AES-256-GCM and ChaCha20-Poly1305 of the package cryptography.

Run it after a change of the format, and compare what it prints with the document.
"""

import struct

from control_vectors import Handshake, Random, clamp, show
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

AES, CHACHA = 1, 2
INITIATOR, RESPONDER = 0x0A0B0C0D, 0x1A1B1C1D


def sealing(index, suites, first):
    return struct.pack(">IB3xQ", index, suites, first)


def hello(suites, first):
    """A connection named "office" without a GRE key, of an end that announces sealed data."""
    head = struct.pack(">BBBBI", 1, 2, 2, 6, 0) + struct.pack(">HHHH", 1, 2, 2, 1)
    head = head.ljust(56, b"\0") + sealing(INITIATOR, suites, first) + b"office"
    return head.ljust(128, b"\0")


def welcome(suite, first):
    head = struct.pack(">BBH", 2, 2, 0) + struct.pack(">HHHH", 1, 2, 2, 1)
    return head.ljust(48, b"\0") + sealing(RESPONDER, suite, first)


def derive(secret, suite):
    context = struct.pack(">BII", suite, INITIATOR, RESPONDER)

    def expand(label, length):
        return HKDF(SHA256(), length, b"mpt sealed data 1", label + context).derive(secret)

    return expand(b"key", 32), expand(b"iv", 12)


def seal(suite, keys, index, number, plain):
    """A sealed packet: GRE header with K and S, ciphertext, tag."""
    key, iv = keys
    header = struct.pack(">HHII", 0x3000, 0x88B6, index, number & 0xFFFFFFFF)
    nonce = bytes(a ^ b for a, b in zip(iv, bytes(4) + struct.pack(">Q", number)))
    cipher = AESGCM(key) if suite == AES else ChaCha20Poly1305(key)
    return header + cipher.encrypt(nonce, plain, header)


def packet():
    """An IPv4 packet of 36 bytes: UDP from 10.0.0.1 to 10.1.0.1."""
    head = bytes.fromhex("4500002400004000401126c60a0000010a010001")
    return head + bytes.fromhex("1388145100100000") + b"sealed!!"


def page():
    alice = clamp(bytes.fromhex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"))
    bob = clamp(bytes.fromhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"))
    ephemerals = [clamp(Random(bytes([n]) * 32).key()) for n in (1, 2)]
    first = 0x1FFFFFFFF
    for suite, suites, name in [(AES, 3, "AES-256-GCM"), (CHACHA, 2, "ChaCha20-Poly1305")]:
        greeting, answer = hello(suites, first), welcome(suite, 0)
        show(f"{name}: Hello", greeting)
        show(f"{name}: Welcome", answer)
        handshake = Handshake(alice, bob, ephemerals, b"\x55" * 32, greeting, answer)
        there, back = (derive(key, suite) for key in handshake.keys)
        show(f"{name}: Split(), of what the initiator sends", handshake.keys[0])
        show(f"{name}: key of what the initiator sends", there[0])
        show(f"{name}: IV of what the initiator sends", there[1])
        show("inner packet", packet())
        show("sealed by the initiator, number 00000001ffffffff", seal(suite, there, RESPONDER, first, packet()))
        show("sealed by the initiator, number 0000000200000000", seal(suite, there, RESPONDER, first + 1, packet()))
        unordered = bytes([packet()[0] | 0x80]) + packet()[1:]
        show("sealed by the responder, number 0, to be delivered at once", seal(suite, back, INITIATOR, 0, unordered))


if __name__ == "__main__":
    page()
