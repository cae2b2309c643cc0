"""The papers' prototype, as docs/compat.md and the study behind it describe it, its quirks included.

A peer for the tests of mptd, written in another language and sharing no code with it. It reads one JSON object, its
configuration, from its first argument, then commands from standard input, one on a line:

    path up|down OWN REMOTE     as `mpt path` does
    restart                     numbers packets from 0 again
    hold SECONDS                does not serve its command port for so long
    status                      tells the state of everything
    quit

and writes what happens as JSON objects, one on a line.
"""

import fcntl
import hashlib
import ipaddress
import json
import os
import queue
import random
import select
import socket
import struct
import sys
import threading
import time

OK, DOWN, MANUAL = 0x00, 0x80, 0x83
KEEPALIVE, STATUS = 0xA1, 0xA2
HANDSHAKE_TRIES, HANDSHAKE_WAIT = 6, 0.5
NO_ANSWER, AUTHENTICATION, UNKNOWN, NO_PATH, ROUND = 1, 3, 4, 6, 9

print_lock = threading.Lock()


def tell(**what):
    with print_lock:
        print(json.dumps(what), flush=True)


def mapped(text):
    address = ipaddress.ip_address(text)
    if address.version == 4:
        return b"\0" * 10 + b"\xff\xff" + address.packed
    return address.packed


def unmapped(data):
    address = ipaddress.IPv6Address(data)
    return str(address.ipv4_mapped or address)


def sending_vector(weights):
    """Algorithm 1: the path with the smallest accumulated cost next, the lowest index on ties."""
    common = 1
    for weight in weights:
        common *= weight
    sums, vector = [0] * len(weights), []
    while True:
        smallest = min(s + common // w for s, w in zip(sums, weights))
        index = next(i for i, w in enumerate(weights) if sums[i] + common // w == smallest)
        sums[index] = smallest
        vector.append(index)
        if all(s == smallest for s in sums):
            return vector


class Path:
    def __init__(self, index, config, port):
        self.index = index
        self.own, self.remote = config["own"], config["remote"]
        self.weight = config.get("weight", 1)
        self.status = OK
        self.heard = None
        self.sent = self.received = self.keepalives = 0
        family = socket.AF_INET6 if ":" in self.own else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.socket.bind((self.own, port))


class Mptsrv:
    def __init__(self, config):
        self.config = config
        self.local, self.remote = config["local"], config["remote"]
        self.version = ipaddress.ip_address(self.local).version
        self.port, self.remote_port = config["port"], config["remote_port"]
        self.remote_command_port = config["remote_command_port"]
        self.window, self.max_delay = config.get("window", 0), config.get("max_delay", 0.1)
        self.authentication = config.get("authentication", 0)
        self.key = config.get("key", "A0A1A2A3A4A5A6A7A8A9AAABACADAEAF").encode()[:32].ljust(32, b"\0")
        self.keepalive, self.dead = config["keepalive"], config["dead"]
        self.paths = [Path(i, p, self.port) for i, p in enumerate(config["paths"])]
        self.vector = sending_vector([p.weight for p in self.paths])
        self.cursor = 0
        self.number = 0
        self.lock = threading.Lock()
        self.expected, self.waiting = 0, {}
        self.wait_round, self.wait_random = 0, 0
        self.unknown = self.late = self.restarts = self.too_big = 0
        self.hold_until = 0
        self.cli = queue.Queue()
        self.tun = self.open_tun(config)
        self.command = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        self.command.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        self.command.bind(("::", config["command_port"]))

    @staticmethod
    def open_tun(config):
        tun = os.open("/dev/net/tun", os.O_RDWR)
        flags = 0x0001 | 0x1000  # IFF_TUN | IFF_NO_PI
        fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH22x", config["device"].encode(), flags))
        device, address = config["device"], config["address"]
        for command in (
            f"ip address add {address} dev {device}",
            f"ip link set {device} up mtu {config.get('mtu', 1440)}",
        ):
            if os.system(command) != 0:
                raise SystemExit(f"failed: {command}")
        return tun

    # Data, out.

    def read_tun(self):
        while True:
            packet = os.read(self.tun, 2048)
            if len(packet) < 8 or not self.is_for_peer(packet):
                continue
            with self.lock:
                path = self.next_path()
                if path is None:
                    time.sleep(0.010)
                    continue
                header = bytes([0x10 if self.window else 0x00, 0])
                header += struct.pack("!H", 0x0800 if self.version == 4 else 0x86DD)
                if self.window:
                    header += struct.pack("!I", self.number & 0xFFFFFFFF)
                self.number += 1
                path.sent += 1
                path.socket.sendto(header + packet, (path.remote, self.remote_port))

    def is_for_peer(self, packet):
        if packet[0] >> 4 == 4:
            return str(ipaddress.IPv4Address(packet[16:20])) == self.remote
        return str(ipaddress.IPv6Address(packet[24:40])) == self.remote

    def next_path(self):
        for step in range(2 * len(self.vector)):
            at = (self.cursor + step) % len(self.vector)
            path = self.paths[self.vector[at]]
            if path.status == OK:
                self.cursor = (at + 1) % len(self.vector)
                return path
        return None

    # Data, in.

    def read_path(self, path):
        while True:
            datagram, source = path.socket.recvfrom(1600)
            if len(datagram) < 8 or source[0] != path.remote:
                continue
            numbered = datagram[0] & 0x10 != 0
            packet = datagram[8 if numbered else 4 :]
            if packet[0] >= 0xA0:
                self.heard(path, packet)
                continue
            path.received += 1
            with self.lock:
                if numbered and self.window:
                    self.reorder(struct.unpack("!I", datagram[4:8])[0], packet)
                else:
                    os.write(self.tun, packet)

    def heard(self, path, packet):
        if packet[0] != KEEPALIVE:
            self.unknown += 1
            return
        if path.keepalives == 0:
            tell(keepalive=path.index, length=len(packet) + 4, bytes=packet.hex())
        path.keepalives += 1
        path.heard = time.monotonic()
        if path.status == DOWN:
            # Locally, without a word to the peer.
            self.set_status(path, OK)

    def reorder(self, number, packet):
        if number < self.expected:
            if number > 50:
                self.late += 1
                return
            self.restarts += 1
            self.flush()
            self.expected = number
        elif number >= self.expected + self.window:
            self.too_big += 1
            self.flush()
            self.expected = number
        if number in self.waiting:
            self.flush()
            return
        self.waiting[number] = (time.monotonic(), packet)
        self.run()

    def run(self):
        while self.expected in self.waiting:
            os.write(self.tun, self.waiting.pop(self.expected)[1])
            self.expected += 1

    def flush(self):
        for number in sorted(self.waiting):
            os.write(self.tun, self.waiting[number][1])
            self.expected = number + 1
        self.waiting.clear()

    def release_old(self):
        while True:
            time.sleep(0.001)
            with self.lock:
                now = time.monotonic()
                old = [n for n, (at, _) in self.waiting.items() if now - at > self.max_delay]
                if old:
                    for number in sorted(n for n in self.waiting if n <= max(old)):
                        os.write(self.tun, self.waiting.pop(number)[1])
                        self.expected = number + 1
                    self.run()

    # Keepalives.

    def send_keepalives(self, path):
        while self.keepalive:
            if path.status in (OK, DOWN):
                message = struct.pack("!HH", 0, 0x0800 if self.version == 4 else 0x86DD)
                message += bytes([KEEPALIVE, 0, 0, 0, 0, self.version, 0, 0])
                message += mapped(self.local) + mapped(self.remote)
                path.socket.sendto(message, (path.remote, self.remote_port))
            time.sleep(self.keepalive)

    # Commands.

    def serve(self):
        """One thread for everything: while it asks, it does not answer."""
        checked = time.monotonic()
        while True:
            now = time.monotonic()
            if now - checked >= 1:
                checked = now
                self.check_dead(now)
            try:
                self.do_cli(self.cli.get_nowait())
            except queue.Empty:
                pass
            if now < self.hold_until:
                time.sleep(0.01)
                continue
            if select.select([self.command], [], [], 0.02)[0]:
                message, source = self.command.recvfrom(2048)
                self.respond(message, source)

    def check_dead(self, now):
        for path in self.paths:
            if path.heard is None:
                path.heard = now
            if self.dead and path.status == OK and path.heard + self.dead < now:
                code = self.change_status(path, DOWN)
                self.set_status(path, DOWN)
                tell(dead=path.index, code=code)

    def do_cli(self, line):
        words = line.split()
        if words[0] == "path":
            status = OK if words[1] == "up" else MANUAL
            for path in self.paths:
                if (path.own, path.remote) == (words[2], words[3]):
                    code = self.change_status(path, status)
                    path.heard = time.monotonic()
                    self.set_status(path, status)
                    tell(told=path.index, status=status, code=code)
        elif words[0] == "restart":
            with self.lock:
                self.number = 0
        elif words[0] == "hold":
            self.hold_until = time.monotonic() + float(words[1])
        elif words[0] == "status":
            paths = [
                {"status": p.status, "sent": p.sent, "received": p.received, "keepalives": p.keepalives}
                for p in self.paths
            ]
            tell(
                paths=paths, unknown=self.unknown, late=self.late, restarts=self.restarts,
                too_big=self.too_big, expected=self.expected, number=self.number,
            )

    def set_status(self, path, status):
        if path.status != status:
            path.status = status
            tell(path=path.index, status=status)

    def sign(self, message):
        if self.authentication != 2:
            return message
        blank = message[:8] + b"\0" * 32 + message[40:]
        return blank[:8] + hashlib.sha256(blank + self.key).digest() + blank[40:]

    def message(self, code, argument, rounds, nonce, initiator, responder, payload):
        length = (0, 4, 36)[self.authentication]
        head = bytes([code, argument, self.authentication, length])
        if length:
            head += struct.pack("!I", nonce)
        if length == 36:
            head += b"\0" * 32
        head += bytes([rounds, self.version, 0, 0]) + initiator + responder
        return self.sign(head + payload)

    def authentic(self, message, nonce):
        length = (0, 4, 36)[self.authentication]
        if message[2] != self.authentication or len(message) < 40 + length:
            return False
        rounds = message[length + 4]
        if length and rounds >= 3 and struct.unpack("!I", message[4:8])[0] != nonce:
            return False
        return self.authentication != 2 or self.sign(message) == message

    def change_status(self, path, status):
        """The four rounds; over the first path in order that works, never the one that goes down."""
        carrier = next(
            (p for p in self.paths if p.status == OK and not (p is path and status != OK)), None
        )
        if carrier is None:
            # It would ask itself.
            return ROUND
        argument = status & 0x80
        initiator, responder = mapped(self.local), mapped(self.remote)
        payload = mapped(path.own) + mapped(path.remote)
        destination = ("::ffff:" + carrier.remote, self.remote_command_port)
        if ":" in carrier.remote:
            destination = (carrier.remote, self.remote_command_port)
        nonce = 0
        for rounds, content in ((1, struct.pack("<I", len(payload))), (3, payload)):
            message = self.message(STATUS, argument, rounds, nonce, initiator, responder, content)
            answer = self.ask(message, destination)
            if answer is None:
                return NO_ANSWER
            length = (0, 4, 36)[self.authentication]
            if answer[length + 4] != rounds + 1:
                return ROUND
            if length:
                if rounds == 1:
                    nonce = struct.unpack("!I", answer[4:8])[0]
            if not self.authentic(answer, nonce):
                return AUTHENTICATION
            tell(answer=rounds + 1, length=len(answer), code=answer[1])
        return answer[1]

    def ask(self, message, destination):
        """Whatever comes next is taken for the answer."""
        for _ in range(HANDSHAKE_TRIES):
            self.command.sendto(message, destination)
            if select.select([self.command], [], [], HANDSHAKE_WAIT)[0]:
                return self.command.recvfrom(2048)[0]
            time.sleep(0.002)
        return None

    def respond(self, message, source):
        if len(message) < 40 or message[0] != STATUS or message[2] > 2:
            tell(ignored=message[:44].hex())
            return
        length = (0, 4, 36)[message[2]]
        rounds = message[length + 4]
        if rounds >= 4 or (rounds > 1 and (self.wait_round == 0 or rounds > self.wait_round)):
            tell(ignored_round=rounds)
            return
        fields = message[length:]
        if (unmapped(fields[8:24]), unmapped(fields[24:40])) != (self.remote, self.local):
            tell(ignored_ends=True)
            return
        if not self.authentic(message, self.wait_random):
            tell(ignored_authentication=True)
            return
        if rounds == 1:
            self.wait_random = random.Random(int(time.time())).getrandbits(32)
        else:
            tell(command=message[1], length=len(message), source=source[0], port=source[1])
            first, second = unmapped(fields[40:56]), unmapped(fields[56:72])
            for path in self.paths:
                if (path.remote, path.own) == (first, second):
                    if message[1] == OK:
                        path.heard = time.monotonic()
                    self.set_status(path, message[1])
        self.wait_round = rounds + 2
        content = fields[40:] if rounds == 1 else b""
        answer = self.message(
            message[0], 0, rounds + 1, self.wait_random, fields[8:24], fields[24:40], content
        )
        self.command.sendto(answer, source)
        time.sleep(0.005)

    def start(self):
        threads = [self.read_tun, self.serve, self.release_old]
        for path in self.paths:
            threads += [lambda p=path: self.read_path(p), lambda p=path: self.send_keepalives(p)]
        for work in threads:
            threading.Thread(target=work, daemon=True).start()
        tell(running=True)
        for line in sys.stdin:
            if line.strip() == "quit":
                break
            self.cli.put(line.strip())


if __name__ == "__main__":
    Mptsrv(json.loads(sys.argv[1])).start()
