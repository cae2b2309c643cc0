"""Frames and messages of docs/protocol.md, version 2, written from the document alone."""
import base64
import hashlib
import os
import struct

import noise

VERSION = 2
PROLOGUE = b"mpt control 2"
PORT = 4754
INITIATION, RESPONSE, COOKIE, SEALED = 1, 2, 3, 4
PAD, PROBE, ECHO, REPORT, PATHS, PATHS_ACK, REQUEST, RESULT, GOODBYE, CLOCK = range(10)
INITIATION_LENGTH, RESPONSE_LENGTH, COOKIE_LENGTH = 272, 140, 88
#: Capability 1: this protocol.
CAPABILITIES = [(1, VERSION)]


def gre(protocol, key=None, sequence=None, checksum=None):
    """A GRE header (section 2)."""
    flags = (checksum is not None) << 15 | (key is not None) << 13 | (sequence is not None) << 12
    header = struct.pack(">HH", flags, protocol)
    if checksum is not None:
        header += struct.pack(">HH", checksum, 0)
    if key is not None:
        header += struct.pack(">I", key)
    return header + (struct.pack(">I", sequence) if sequence is not None else b"")


def ungre(datagram):
    """Protocol, key, sequence number and payload of a datagram."""
    flags, protocol = struct.unpack_from(">HH", datagram)
    assert not flags & 0x4C07, f"flags {flags:04x}"
    at, key, sequence = 4, None, None
    if flags & 0x8000:
        at += 4
    if flags & 0x2000:
        (key,), at = struct.unpack_from(">I", datagram, at), at + 4
    if flags & 0x1000:
        (sequence,), at = struct.unpack_from(">I", datagram, at), at + 4
    return protocol, key, sequence, datagram[at:]


def keyed(key, data, size=16):
    """BLAKE2s with a key."""
    return hashlib.blake2s(data, digest_size=size, key=key).digest()


def token(secret):
    """Name and pre-shared key of a token with which a host joins (section 20.1)."""
    name = hashlib.blake2s(b"mpt join id" + secret).digest()[:8].hex()
    return name, hashlib.blake2s(b"mpt join key" + secret).digest()


def mac1(receiver, data):
    """MAC 1 of a frame for the owner of a public key (section 12.1)."""
    return keyed(hashlib.blake2s(b"mpt mac1" + receiver).digest(), data)


def capabilities(limit):
    packed = b"".join(struct.pack(">HH", *one) for one in CAPABILITIES)
    return packed.ljust(4 * limit, b"\0")


def hello(name, kind=1, key=None, challenge=None):
    """Hello (section 9.1). `challenge`: time and challenge of a Cookie."""
    name = name.encode()
    head = struct.pack(">BBBBI", kind, key is not None, len(CAPABILITIES), len(name), key or 0)
    time, value = challenge or (0, bytes(16))
    return head + capabilities(16) + name.ljust(32, b"\0") + struct.pack(">Q", time) + value


def welcome(flags=0):
    """Welcome (section 9.2)."""
    return struct.pack(">BBH", flags, len(CAPABILITIES), 0) + capabilities(12).ljust(60, b"\0")


def initiation(responder, path, index, message, cookie=None):
    """An Initiation. `cookie`: time and cookie of the path."""
    frame = struct.pack(">BBHI", INITIATION, VERSION, path, index) + message
    frame += mac1(responder, frame)
    if cookie is None:
        return frame + bytes(24)
    time, value = cookie
    frame += struct.pack(">Q", time)
    return frame + keyed(value, frame)


def response(initiator, path, sender, receiver, message):
    """A Response."""
    frame = struct.pack(">BBHII", RESPONSE, VERSION, path, sender, receiver) + message
    return frame + mac1(initiator, frame)


def cookie_key(responder):
    return hashlib.blake2s(b"mpt cookie" + responder).digest()


def open_cookie(responder, initiation_mac1, frame):
    """Time, cookie and challenge of a Cookie, or None."""
    content = noise.xchacha_open(cookie_key(responder), frame[8:32], frame[32:], initiation_mac1)
    return content and (struct.unpack(">Q", content[:8])[0], content[8:24], content[24:40])


def message(kind, body):
    """A message (section 10)."""
    return struct.pack(">BH", kind, len(body)) + body


def messages(plaintext):
    """The messages of a plaintext; they fill it exactly."""
    found, at = [], 0
    while at < len(plaintext):
        kind, length = struct.unpack_from(">BH", plaintext, at)
        assert at + 3 + length <= len(plaintext), "a message beyond the end of its frame"
        found.append((kind, plaintext[at + 3 : at + 3 + length]))
        at += 3 + length
    return found


def paths(generation, epoch, first, entries):
    """Paths; each entry: path identifier, weight, wish, state."""
    body = struct.pack(">III", generation & 0xFFFFFFFF, epoch, first)
    return message(PATHS, body + b"".join(struct.pack(">HHHBB", *entry, 0) for entry in entries))


def report(entries):
    """Report; each entry: path identifier, frames, sent, received."""
    return message(REPORT, b"".join(struct.pack(">HIQQ", *entry) for entry in entries))


def request(number, offset, body):
    return message(REQUEST, struct.pack(">II", number & 0xFFFFFFFF, offset) + body)


class Sealer:
    """One direction of a pair of keys: seals, or opens."""

    def __init__(self, key):
        self.cipher = noise.ChaCha20Poly1305(key)
        self.counters = {}

    def seal(self, receiver, path, plaintext):
        """The next frame of a path (sections 9.4 and 13.1)."""
        counter = self.counters.get(path, 0)
        self.counters[path] = counter + 1
        head = struct.pack(">BBIH", SEALED, VERSION, receiver, path) + counter.to_bytes(6, "big")
        number = path << 48 | counter
        return head + self.cipher.encrypt(noise.nonce(number), plaintext, b"")

    def open(self, frame):
        """The plaintext; raises if it is not authentic."""
        return self.cipher.decrypt(noise.nonce(int.from_bytes(frame[6:14], "big")), frame[14:], b"")


def inner_udp(source, destination, ports, payload):
    """An inner IPv4 packet with a UDP datagram without checksum."""
    udp = struct.pack(">HHHH", *ports, 8 + len(payload), 0) + payload
    return ipv4(source, destination, 17, udp)


def address(text):
    """An IPv4 address as 4 bytes."""
    return bytes(int(part) for part in text.split("."))


def checksum(data):
    """The Internet checksum."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ipv4(source, destination, protocol, payload, tos=0):
    """An IPv4 packet."""
    head = struct.pack(">BBHHHBBH", 0x45, tos, 20 + len(payload), 0, 0x4000, 64, protocol, 0)
    head += address(source) + address(destination)
    return head[:10] + struct.pack(">H", checksum(head)) + head[12:] + payload


def read_key(path):
    """A key file: 44 characters of base64."""
    with open(path, encoding="ascii") as file:
        return base64.b64decode(file.read().strip())


def random32():
    return int.from_bytes(os.urandom(4), "big")
