"""Computes the test vectors of docs/protocol.md, section 26, without anything of mpt, and compares.

    vectors.py docs/protocol.md
"""
import re
import struct
import sys

import noise
import wire

with open(sys.argv[1], encoding="utf-8") as document:
    section = document.read().split("\n## 26. Test vectors\n")[1].split("```text\n")[1].split("```")[0]
stated = {}
for title, body in re.findall(r"^(\S.*) \(\d+ bytes\)\n((?:  [0-9a-f]+\n)+)", section, re.M):
    stated[title] = bytes.fromhex("".join(body.split()))
FIRST, SECOND, RESPONDER = 0x01020304, 0x090A0B0C, 0x05060708
checked = 0


def check(title, computed):
    """Compares; `title` is the beginning of one of the document's."""
    global checked
    found = [value for name, value in stated.items() if name.startswith(title)]
    assert len(found) == 1, f"{title}: {len(found)} vectors of {list(stated)}"
    assert found[0] == computed, f"{title}:\n{computed.hex()}, computed\n{found[0].hex()}, in the document"
    checked += 1


def value(title):
    return next(value for name, value in stated.items() if name.startswith(title))


a, b = value("initiator's private key"), value("responder's private key")
psk = value("pre-shared key")
check("initiator's public key", noise.public(a))
check("responder's public key", noise.public(b))
A, B = noise.public(a), noise.public(b)
hello = value("Hello without a challenge")
# What a Hello says is an input of the computation; its encoding is not.
name = hello[72 : 72 + hello[3]].decode()
gre_key = struct.unpack(">I", hello[4:8])[0] if hello[1] & 1 else None
check("Hello without a challenge", wire.hello(name, hello[0], gre_key))
first = noise.Handshake(wire.PROLOGUE, a, B, psk)
message = first.write_1(value("initiator's first ephemeral private key"), hello)
initiation = wire.initiation(B, 1, FIRST, message)
check("Initiation, path 1, no cookie", initiation)
content = wire.open_cookie(B, initiation[232:248], value("Cookie, for"))
assert content, "the cookie does not open"
time, cookie, challenge = content
check("time, cookie and challenge", struct.pack(">Q", time) + cookie + challenge)
assert value("Cookie, for")[:8] == struct.pack(">BBHI", wire.COOKIE, wire.VERSION, 1, FIRST)
hello = wire.hello(name, hello[0], gre_key, (time, challenge))
check("Hello with the challenge", hello)
first = noise.Handshake(wire.PROLOGUE, a, B, psk)
message = first.write_1(value("initiator's second ephemeral private key"), hello)
check("Initiation, path 1, with", wire.initiation(B, 1, SECOND, message, (time, cookie)))
other = noise.Handshake(wire.PROLOGUE, b, B, psk)
assert other.read_1(message) == hello and other.initiator == A
check("Welcome", wire.welcome(1))
answer = other.write_2(value("responder's ephemeral private key"), wire.welcome(1))
check("Response", wire.response(A, 1, RESPONDER, SECOND, answer))
assert first.read_2(answer) == wire.welcome(1)
there, back = first.split()
assert (there, back) == tuple(other.split())
check("Sealed by the initiator", wire.Sealer(there).seal(RESPONDER, 1, value("messages: Probe, Report, Paths")))
check("Sealed by the responder", wire.Sealer(back).seal(SECOND, 1, value("messages: Echo, PathsAck")))
kinds = [kind for kind, _ in wire.messages(value("messages: Probe, Report, Paths"))]
assert kinds == [wire.PROBE, wire.REPORT, wire.PATHS], kinds
print("vectors", checked)
