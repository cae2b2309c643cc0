"""An end of GRE in UDP (RFC 8086) that is none of ours: scapy builds and reads what travels.

    gre_peer.py LOCAL REMOTE KEY NUMBERED

It listens on UDP port 4754 of LOCAL and sends to that of REMOTE, from a port of its own, without UDP checksum over IPv4, as Linux does by
default. It answers pings to 10.72.0.2 and fd00:72::2. For each line "ping" on its standard input it pings 10.72.0.1, and prints how many
answers came. Whatever has other flags than it was told ends it.
"""
import random
import select
import socket
import sys

from scapy.compat import raw
from scapy.layers.inet import ICMP, IP
from scapy.layers.inet6 import ICMPv6EchoReply, ICMPv6EchoRequest, IPv6
from scapy.layers.l2 import GRE

PORT = 4754
PINGS = 6
SO_NO_CHECK = 11

local, remote = sys.argv[1], sys.argv[2]
key = None if sys.argv[3] == "-" else int(sys.argv[3])
numbered = sys.argv[4] == "numbered"
family = socket.AF_INET6 if ":" in local else socket.AF_INET
listening = socket.socket(family, socket.SOCK_DGRAM)
listening.bind((local, PORT))
sending = socket.socket(family, socket.SOCK_DGRAM)
sending.bind((local, random.randint(49152, 65535)))
if family == socket.AF_INET:
    sending.setsockopt(socket.SOL_SOCKET, SO_NO_CHECK, 1)
number = 0


def wrap(inner):
    """The datagram of an inner packet, with the next number."""
    global number
    header = GRE(proto=0x0800 if isinstance(inner, IP) else 0x86DD)
    if key is not None:
        header.key_present, header.key = 1, key
    if numbered:
        header.seqnum_present, header.seqence_number = 1, number
        number += 1
    return raw(header / inner)


def unwrap(datagram):
    """The inner packet of a datagram, if its header is as agreed."""
    packet = GRE(datagram)
    expected = (0, int(key is not None), int(numbered), 0)
    found = (packet.chksum_present, packet.key_present, packet.seqnum_present, packet.version)
    assert found == expected, f"flags {found}, expected {expected}"
    assert packet.key == key or key is None, f"key {packet.key}"
    return packet.payload


def answer(inner):
    """The answer to a ping; None to anything else."""
    if ICMP in inner and inner[ICMP].type == 8:
        echo = inner[ICMP]
        reply = ICMP(type=0, id=echo.id, seq=echo.seq) / raw(echo.payload)
        return IP(src=inner.dst, dst=inner.src) / reply
    if ICMPv6EchoRequest in inner:
        echo = inner[ICMPv6EchoRequest]
        reply = ICMPv6EchoReply(id=echo.id, seq=echo.seq, data=echo.data)
        return IPv6(src=inner.dst, dst=inner.src) / reply
    return None


def ping():
    """Pings the other end; its packets overtake one another where they are numbered."""
    echo = lambda seq: IP(src="10.72.0.2", dst="10.72.0.1") / ICMP(type=8, id=77, seq=seq) / b"from outside"
    datagrams = [wrap(echo(seq)) for seq in range(PINGS)]
    if numbered:
        for first in range(0, PINGS, 2):
            datagrams[first : first + 2] = reversed(datagrams[first : first + 2])
    for datagram in datagrams:
        sending.sendto(datagram, (remote, PORT))
    answers = []
    while len(answers) < PINGS and select.select([listening], [], [], 5)[0]:
        inner = unwrap(listening.recv(65535))
        if ICMP in inner and inner[ICMP].type == 0 and inner[ICMP].id == 77:
            answers.append(inner[ICMP].seq)
    # Put into order before they were answered.
    assert answers == list(range(PINGS)), f"answers {answers}"
    print("answered", len(answers), flush=True)


print("ready", flush=True)
while True:
    ready, _, _ = select.select([listening, sys.stdin], [], [])
    if listening in ready:
        reply = answer(unwrap(listening.recv(65535)))
        if reply is not None:
            sending.sendto(wrap(reply), (remote, PORT))
    if sys.stdin in ready:
        if not sys.stdin.readline():
            break
        ping()
