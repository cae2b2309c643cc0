"""An attacker who is on no path, but knows addresses and ports, and forges what it likes.

    offpath.py CONFIG

CONFIG is JSON: "to" and "from" (the ends of a path), "networks" (inner addresses: of the sender's end, of the receiver's), "responder" (public key of
the receiver, base64), "kinds", "rate", "seconds", "sealed" (whether the ends seal their data), "token" (the name of a token with which a host may join) and
"recording" (a file with recorded initiations in hexadecimal). For each kind it prints a line of JSON: what it sent, how fast, and the counters that have to grow by it.
"""
import base64
import json
import os
import random
import socket
import struct
import sys

import burst
import noise
import wire

#: Different packets of one kind.
VARIANTS = 256


def udp(source, destination, payload):
    """An outer packet."""
    (host, port), (to, to_port) = source, destination
    datagram = struct.pack(">HHHH", port, to_port, 8 + len(payload), 0) + payload
    return wire.ipv4(host, to, 17, datagram)


def endpoint(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


#: What is refused for its inner packet where data is plain, and as a whole where it is sealed.
INNER = ("malformed_inner", "inner_version", "foreign_source", "multicast")


class Attack:
    """Makes the packets of each kind."""

    def __init__(self, config):
        self.source, self.target = endpoint(config["from"]), endpoint(config["to"])
        self.inner = config["networks"]
        self.rate = config["rate"]
        self.responder = base64.b64decode(config["responder"])
        self.token, self.recording = config.get("token"), config.get("recording")
        self.random = random.Random(config.get("seed", 1))

    def kind(self, name):
        """Packets, and the counter in which each has to end, or those in which they do (None: it is delivered, or the kernel's)."""
        return getattr(self, "_" + name)()

    def _from_path(self, payloads):
        return [udp(self.source, self.target, payload) for payload in payloads]

    def _good(self, payload=b"forged"):
        return wire.inner_udp(self.inner[0], self.inner[1], (9, 9), payload)

    def _bytes(self, count):
        return self.random.randbytes(count)

    # Data.

    def _unknown_sender(self):
        anywhere = [(f"203.0.113.{n % 250 + 1}", 1024 + n) for n in range(VARIANTS)]
        datagram = wire.gre(0x0800, sequence=1) + self._good()
        return [udp(source, self.target, datagram) for source in anywhere], "unknown_sender"

    def _wrong_key(self):
        return self._from_path(
            wire.gre(0x0800, key=self.random.getrandbits(32), sequence=n) + self._good() for n in range(VARIANTS)
        ), "wrong_key"

    def _truncated(self):
        return self._from_path([b"", b"\x10", b"\x10\0\x08\0", b"\xb0\0\x08\0" + bytes(7)]), "truncated"

    def _reserved_flags(self):
        return self._from_path(struct.pack(">HH", bit, 0x0800) + self._good() for bit in (0x4000, 0x0800, 0x0400)), "reserved_flags"

    def _version(self):
        return self._from_path(struct.pack(">HH", version, 0x0800) + self._good() for version in range(1, 8)), "version"

    def _unknown_protocol(self):
        protocols = (0, 0x6558, 0x0806, 0xFFFF, 0xB7EA)
        return self._from_path(struct.pack(">HH", 0, protocol) + self._bytes(60) for protocol in protocols), "unknown_protocol"

    def _checksum(self):
        return self._from_path(wire.gre(0x0800, checksum=0x1234) + self._good() for _ in range(2)), "checksum"

    def _malformed_inner(self):
        good = self._good()
        bad = [good[:19], good[:2] + b"\xff\xff" + good[4:], good[:2] + b"\0\x13" + good[4:], b"", b"\x45"]
        return self._from_path(wire.gre(0x0800, sequence=0) + inner for inner in bad), "malformed"

    def _inner_version(self):
        return self._from_path([wire.gre(0x86DD, sequence=0) + self._good()] * 2), "inner_version"

    def _foreign_source(self):
        return self._from_path(
            wire.gre(0x0800, sequence=n) + wire.inner_udp(f"198.51.100.{n % 200 + 1}", self.inner[1], (9, 9), b"x")
            for n in range(VARIANTS)
        ), "foreign_source"

    def _multicast(self):
        return self._from_path([wire.gre(0x0800, sequence=0) + wire.inner_udp(self.inner[0], "224.0.0.5", (9, 9), b"x")] * 2), "multicast"

    def _genuine(self):
        """What the peer would send, were it plain."""
        return self._from_path(wire.gre(0x0800, sequence=n) + self._good() for n in range(VARIANTS)), "not_sealed"

    def _sealed(self):
        """Sealed packets under indices that are not there, as nobody off the path knows those that are."""
        frames = [wire.gre(0x88B6, key=self.random.getrandbits(32), sequence=n) + self._bytes(100) for n in range(VARIANTS)]
        return self._from_path(frames), "unknown_index"

    # ICMP errors to the outer addresses, from the attacker's own.

    def _icmp(self, kinds, quote, code=0, value=0):
        def error(kind):
            body = struct.pack(">BBHI", kind, code, 0, value) + quote
            body = body[:2] + struct.pack(">H", wire.checksum(body)) + body[4:]
            return wire.ipv4("203.0.113.77", self.target[0], 1, body)

        return [error(kind) for kind in kinds], None

    def _icmp_unreachable(self):
        """About a packet of the path, as a router would quote it."""
        quoted = udp(self.target, self.source, wire.gre(0x0800, sequence=7) + self._good())
        return self._icmp([3, 4, 5, 11, 12], quoted[:56])

    def _icmp_too_big(self):
        """"Fragmentation needed" with a next-hop MTU of 68, about a packet that the path does not send."""
        quoted = udp(self.target, self.source, wire.gre(0x0800, key=99, sequence=7) + self._good())
        return self._icmp([3], quoted[:56], code=4, value=68)

    # Control.

    def _control(self, frames):
        return self._from_path(wire.gre(0x88B5) + frame for frame in frames)

    def _anywhere(self, frames):
        anywhere = [(f"203.0.113.{n % 250 + 1}", 1024 + n) for n in range(VARIANTS)]
        return [udp(source, self.target, wire.gre(0x88B5) + frame) for source, frame in zip(anywhere, frames)]

    def _bad_version(self):
        return self._control(bytes([n % 5, v]) + self._bytes(262) for n in range(50) for v in (0, 1, 3, 255)), "bad_version"

    def _malformed_frame(self):
        lengths = [0, 1, 2, 29, 63, 139, 271, 273, 1201]
        frames = [bytes([kind, wire.VERSION]) + self._bytes(length) for kind in (0, 1, 2, 3, 5, 255) for length in lengths]
        return self._control(frames), "malformed"

    def _bad_mac(self):
        head = struct.pack(">BBHI", 1, wire.VERSION, 1, 5)
        return self._anywhere([head + self._bytes(wire.INITIATION_LENGTH - 8) for _ in range(VARIANTS)]), "bad_mac"

    def _unknown_index(self):
        return self._control(bytes([4, wire.VERSION]) + self._bytes(100) for _ in range(VARIANTS)), "unknown_index"

    def _responses(self):
        frames = [bytes([2, wire.VERSION]) + self._bytes(wire.RESPONSE_LENGTH - 2) for _ in range(VARIANTS)]
        return self._control(frames), "unknown_index"

    def _cookies(self):
        frames = [bytes([3, wire.VERSION]) + self._bytes(wire.COOKIE_LENGTH - 2) for _ in range(VARIANTS)]
        return self._control(frames), "unknown_index"

    def _initiations(self, hello):
        frames = []
        for index in range(VARIANTS):
            handshake = noise.Handshake(wire.PROLOGUE, os.urandom(32), self.responder)
            message = handshake.write_1(os.urandom(32), hello())
            frames.append(wire.initiation(self.responder, 1, index, message))
        return frames

    def _unknown_peers(self, frames):
        # From 51 in a second on a cookie is demanded first.
        return self._anywhere(frames), ("unknown_peer", "cookies_sent") if self.rate > 50 else "unknown_peer"

    def _strangers(self):
        """Initiations of keys that are not configured, by someone who knows the responder's."""
        return self._unknown_peers(self._initiations(lambda: wire.hello("tunnel")))

    def _joins_of_no_token(self):
        """Initiations of hosts that want to join with tokens that do not exist."""
        return self._unknown_peers(self._initiations(lambda: wire.hello(wire.token(os.urandom(16))[0], 3)))

    def _joins_by_name(self):
        """Initiations of hosts that know how a token is called, each repeated again and again."""
        frames = self._initiations(lambda: wire.hello(self.token, 3))
        return self._anywhere(frames), "cookies_sent" if self.rate > 50 else None

    def _recorded_joins(self):
        """The initiations of a host that has joined, while its token is kept: each is answered as it was, since it is a copy of one that was answered."""
        return self._anywhere(self._recorded()), None

    def _recorded_joins_later(self):
        """The same when the token is gone."""
        return self._unknown_peers(self._recorded())

    def _recorded(self):
        with open(self.recording, encoding="ascii") as file:
            frames = [bytes.fromhex(line) for line in file.read().split()]
        return (frames * VARIANTS)[:VARIANTS]


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        config = json.load(file)
    attack = Attack(config)
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    raw.connect((attack.target[0], 0))
    for name in config["kinds"]:
        packets, counters = attack.kind(name)
        if config.get("sealed") and name in INNER:
            counters = "not_sealed"
        sent, rate = burst.run(raw, packets, config["rate"], config["seconds"])
        counters = [counters] if isinstance(counters, str) else list(counters or [])
        print(json.dumps({"step": name, "sent": sent, "rate": rate, "counters": counters}), flush=True)


if __name__ == "__main__":
    main()
