"""A name server (RFC 1035) for tests: has an address (A) for the names it was told, none for others. To a datagram about a name after --tcp it
answers that the answer is too long, and gives it by TCP.

    dns.py LISTEN NAME=ADDRESS... [--tcp NAME=ADDRESS...]
"""
import socket
import struct
import sys
import threading

arguments = sys.argv[2:]
split = arguments.index("--tcp") if "--tcp" in arguments else len(arguments)
names = dict(pair.split("=") for pair in arguments[:split] + arguments[split + 1 :])
by_tcp = {pair.split("=")[0] for pair in arguments[split + 1 :]}


def answer(query, datagram):
    # One question, after a header of 12 bytes: labels, then type and class.
    end, labels = 12, []
    while query[end]:
        labels.append(query[end + 1 : end + 1 + query[end]].decode())
        end += 1 + query[end]
    question = query[12 : end + 5]
    kind = struct.unpack("!H", query[end + 1 : end + 3])[0]
    name = ".".join(labels).lower()
    address = names.get(name)
    truncated = datagram and name in by_tcp
    answers = b""
    if address and kind == 1 and not truncated:
        answers = struct.pack("!HHHIH", 0xC00C, 1, 1, 60, 4) + socket.inet_aton(address)
    # Answer, authoritative; name error (3) where there is no such name; truncated (0x0200).
    flags = 0x8580 | (0 if address else 3) | (0x0200 if truncated else 0)
    header = query[:2] + struct.pack("!HHHHH", flags, 1, 1 if answers else 0, 0, 0)
    return header + question + answers


def whole(connection, length):
    data = b""
    while len(data) < length:
        piece = connection.recv(length - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def by_connection(listener):
    while True:
        connection, _ = listener.accept()
        try:
            # Each message has its length in front (RFC 1035, section 4.2.2).
            while True:
                reply = answer(whole(connection, struct.unpack("!H", whole(connection, 2))[0]), False)
                connection.sendall(struct.pack("!H", len(reply)) + reply)
        except (EOFError, ConnectionError):
            connection.close()


listener = socket.create_server((sys.argv[1], 53))
threading.Thread(target=by_connection, args=(listener,), daemon=True).start()
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind((sys.argv[1], 53))
while True:
    query, client = server.recvfrom(512)
    server.sendto(answer(query, True), client)
