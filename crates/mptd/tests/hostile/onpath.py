"""An attacker on a path: in the middle of it, where it sees every packet.

    onpath.py CONFIG

CONFIG is JSON: "ports" (the bridge's ports towards both ends), "record" (seconds to listen first), "kinds", "rate", "seconds", "asked" (true: before each kind it waits for a line on its standard input). It records what passes, and
then sends it on again: as it was ("replay"), to its sender ("reflect"), with a bit changed ("alter"), or only the initiations ("initiations"). Of the data alone it sends each packet as it was ("data"), to its
sender ("reflect_data"), with a bit changed ("alter_data"), and under numbers that are to come: as it was ("relabel_data"), cut ("cut_data"), with the content of another packet ("swap_data"), and to its sender under the
sender's own index ("turn_data"). For each kind it prints a line of JSON.
"""
import json
import random
import socket
import struct
import sys
import threading
import time

import burst
import wire

ETH_P_ALL = 3
ETHERNET, IP, UDP = 14, 20, 8
PAYLOAD = ETHERNET + IP + UDP
#: Each of these grows by a kind.
COUNTERS = {
    "replay": ["replayed"],
    "sealed": ["replayed"],
    "reflect": ["unknown_index"],
    "data": ["replayed"],
    "alter_data": ["sealed_unopened", "unknown_index"],
    "reflect_data": ["unknown_index"],
    "relabel_data": ["sealed_unopened"],
    "cut_data": ["sealed_unopened"],
    "swap_data": ["sealed_unopened"],
    "turn_data": ["sealed_unopened"],
    "alter": ["bad_mac", "bad_version", "malformed", "unauthentic", "unknown_index"],
}


def listening(port):
    """A socket that sees what passes a port. It sees nothing before it is bound: what passed another port would come first."""
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    sock.bind((port, ETH_P_ALL))
    return sock


def packets(port, seconds):
    """GRE in UDP that leaves towards the end of a port."""
    sock = listening(port)
    sock.settimeout(0.1)
    end, found = time.monotonic() + seconds, []
    while time.monotonic() < end:
        try:
            frame, source = sock.recvfrom(65535)
        except socket.timeout:
            continue
        if source[2] == socket.PACKET_OUTGOING and len(frame) <= 1514 and is_ours(frame):
            # Its UDP checksum is for a network card to complete.
            found.append(rewritten(frame, frame[PAYLOAD:]))
    return found


def is_ours(frame):
    """Whether an Ethernet frame holds GRE in UDP over IPv4."""
    udp = len(frame) > PAYLOAD + 4 and frame[12:14] == b"\x08\0" and frame[ETHERNET] == 0x45 and frame[ETHERNET + 9] == 17
    return udp and struct.unpack_from(">H", frame, ETHERNET + IP + 2)[0] == wire.PORT


def rewritten(frame, payload, turned=False):
    """The frame with another payload, without UDP checksum; turned round if asked for."""
    head = bytearray(frame[:PAYLOAD])
    if turned:
        head[0:6], head[6:12] = frame[6:12], frame[0:6]
        head[26:30], head[30:34] = frame[30:34], frame[26:30]
        head[34:36], head[36:38] = frame[36:38], frame[34:36]
    head[40:42] = b"\0\0"
    return bytes(head) + payload


def resized(frame, payload):
    """The frame with a payload of another length."""
    head = bytearray(frame[:PAYLOAD])
    struct.pack_into(">H", head, ETHERNET + 2, IP + UDP + len(payload))
    head[ETHERNET + 10:ETHERNET + 12] = b"\0\0"
    struct.pack_into(">H", head, ETHERNET + 10, wire.checksum(bytes(head[ETHERNET:ETHERNET + IP])))
    struct.pack_into(">H", head, ETHERNET + IP + 4, UDP + len(payload))
    return rewritten(bytes(head) + payload, payload)


#: Length of the GRE header of sealed data: what is behind it is ciphertext and tag.
SEALED_HEADER = 12


def renumbered(payload, count):
    """Sealed data under a number that is to come: those of the recording are refused as repetitions before their tags are looked at."""
    number = struct.unpack_from(">I", payload, 8)[0]
    return payload[:8] + struct.pack(">I", (number + (1 << 20) + count) & 0xFFFFFFFF) + payload[SEALED_HEADER:]


def is_control(frame):
    return struct.unpack_from(">H", frame, PAYLOAD + 2)[0] == 0x88B5


def control_type(frame):
    return frame[PAYLOAD + 4] if is_control(frame) else 0


def altered(frame, chance):
    payload = bytearray(frame[PAYLOAD:])
    # Headers of IP and UDP are the kernel's business.
    at = chance.randrange(min(len(payload), 60))
    payload[at] ^= 1 << chance.randrange(8)
    return rewritten(frame, bytes(payload))


def forged(kind, way, count):
    """One of the packets of a direction, changed."""
    frame = way[count]
    payload = renumbered(frame[PAYLOAD:], count)
    if kind == "cut_data":
        return resized(frame, payload[:SEALED_HEADER + count % (len(payload) - SEALED_HEADER)])
    if kind == "swap_data":
        return resized(frame, payload[:SEALED_HEADER] + way[count - 1][PAYLOAD + SEALED_HEADER:])
    return rewritten(frame, payload)


def turned(own, other):
    """The packets that an end has sent, as if they were for it: under the index that the other end's packets have."""
    index = other[0][PAYLOAD + 4:PAYLOAD + 8]
    payloads = [renumbered(it[PAYLOAD:], count) for count, it in enumerate(own)]
    return [rewritten(it, payload[:4] + index + payload[8:], True) for it, payload in zip(own, payloads)]


def attack(kind, recorded, chance):
    """Frames by the port they go out of."""
    a, b = recorded
    if kind == "replay":
        return recorded
    if kind == "reflect":
        return [rewritten(it, it[PAYLOAD:], True) for it in b], [rewritten(it, it[PAYLOAD:], True) for it in a]
    if kind == "alter":
        control = [[it for it in way if is_control(it)] for way in recorded]
        return [[altered(it, chance) for it in way for _ in range(4)] for way in control]
    if kind == "data":
        return [[it for it in way if not is_control(it)] for way in recorded]
    if kind == "alter_data":
        return [[altered(it, chance) for it in way if not is_control(it) for _ in range(4)] for way in recorded]
    if kind == "reflect_data":
        return attack("reflect", attack("data", recorded, chance), chance)
    if kind in ("relabel_data", "cut_data", "swap_data"):
        return [[forged(kind, way, count) for count in range(len(way))] for way in attack("data", recorded, chance)]
    if kind == "turn_data":
        a, b = attack("data", recorded, chance)
        return turned(b, a), turned(a, b)
    if kind == "initiations":
        return [[it for it in way if control_type(it) == wire.INITIATION] for way in recorded]
    if kind == "sealed":
        return [[it for it in way if control_type(it) == wire.SEALED] for way in recorded]
    raise ValueError(kind)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        config = json.load(file)
    chance = random.Random(1)
    print(json.dumps({"step": "listening"}), flush=True)
    recorded = [None, None]
    listen = lambda n: recorded.__setitem__(n, packets(config["ports"][n], config["record"]))
    threads = [threading.Thread(target=listen, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps({"step": "recorded", "frames": [len(way) for way in recorded]}), flush=True)
    for kind in config["kinds"]:
        # Who reads the lines looks at the counters before and after each kind.
        if config.get("asked"):
            sys.stdin.readline()
        ways = attack(kind, recorded, chance)
        total, rates = 0, 0
        for port, frames in zip(config["ports"], ways):
            if frames:
                sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
                sock.bind((port, 0))
                sent, rate = burst.run(sock, frames[:4096], config["rate"], config["seconds"] / 2)
                total, rates = total + sent, max(rates, rate)
        print(json.dumps({"step": kind, "sent": total, "rate": rates, "counters": COUNTERS.get(kind, [])}), flush=True)


if __name__ == "__main__":
    main()
