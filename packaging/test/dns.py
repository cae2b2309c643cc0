"""A name server (RFC 1035) for tests: has an address (A) for the names it was told, none for others.

    dns.py LISTEN NAME=ADDRESS...
"""
import socket
import struct
import sys

names = dict(pair.split("=") for pair in sys.argv[2:])
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind((sys.argv[1], 53))
while True:
    query, client = server.recvfrom(512)
    # One question, after a header of 12 bytes: labels, then type and class.
    end, labels = 12, []
    while query[end]:
        labels.append(query[end + 1 : end + 1 + query[end]].decode())
        end += 1 + query[end]
    question = query[12 : end + 5]
    kind = struct.unpack("!H", query[end + 1 : end + 3])[0]
    address = names.get(".".join(labels).lower())
    answers = b""
    if address and kind == 1:
        answers = struct.pack("!HHHIH", 0xC00C, 1, 1, 60, 4) + socket.inet_aton(address)
    # Answer, authoritative; name error (3) where there is no such name.
    flags = 0x8580 | (0 if address else 3)
    header = query[:2] + struct.pack("!HHHHH", flags, 1, 1 if answers else 0, 0, 0)
    server.sendto(header + question + answers, client)
