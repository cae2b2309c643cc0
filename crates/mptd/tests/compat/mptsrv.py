"""The papers' prototype, as docs/compat.md and the study behind it describe it, its quirks included.

A peer for the tests of mptd, written in another language and sharing no code with it. It reads one JSON object, its
configuration, from its first argument, then commands from standard input, one on a line:

    path up|down OWN REMOTE     as `mpt path` does
    restart                     numbers packets from 0 again
    hold SECONDS                does not serve its command port for so long
    create                      asks the other end to create the connection, as `mpt create` does
    status                      tells the state of everything
    quit

and writes what happens as JSON objects, one on a line.
"""

import configparser
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
KEEPALIVE, STATUS, CREATE = 0xA1, 0xA2, 0xA3
DEFAULT_KEY = "A0A1A2A3A4A5A6A7A8A9AAABACADAEAF"
HANDSHAKE_TRIES, HANDSHAKE_WAIT = 6, 0.5
NO_ANSWER, AUTHENTICATION, UNKNOWN, EXISTS, ROUND = 1, 3, 4, 5, 9

print_lock = threading.Lock()


def tell(**what):
    with print_lock:
        print(json.dumps(what), flush=True)


def mapped(text):
    address = ipaddress.ip_address(text)
    if address.version == 4:
        return b"\0" * 10 + b"\xff\xff" + address.packed
    return address.packed


def key_bytes(text):
    return text.encode()[:32].ljust(32, b"\0")


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
        self.key = key_bytes(config.get("key", DEFAULT_KEY))
        self.template_key = key_bytes(config.get("template_key", DEFAULT_KEY))
        self.accept, self.known = config.get("accept", False), config.get("known", True)
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
        elif words[0] == "create":
            self.create()
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

    def of(self, code):
        """Type of authentication and key: creations always have a digest, by the key of the template."""
        return (2, self.template_key) if code == CREATE else (self.authentication, self.key)

    def sign(self, message):
        authentication, key = self.of(message[0])
        if authentication != 2:
            return message
        blank = message[:8] + b"\0" * 32 + message[40:]
        return blank[:8] + hashlib.sha256(blank + key).digest() + blank[40:]

    def message(self, code, argument, rounds, nonce, initiator, responder, payload):
        authentication = self.of(code)[0]
        length = (0, 4, 36)[authentication]
        head = bytes([code, argument, authentication, length])
        if length:
            head += struct.pack("!I", nonce)
        if length == 36:
            head += b"\0" * 32
        head += bytes([rounds, self.version, 0, 0]) + initiator + responder
        return self.sign(head + payload)

    def authentic(self, message, nonce):
        authentication = self.of(message[0])[0]
        length = (0, 4, 36)[authentication]
        if message[2] != authentication or len(message) < 40 + length:
            return False
        rounds = message[length + 4]
        if length and rounds >= 3 and struct.unpack("!I", message[4:8])[0] != nonce:
            return False
        return authentication != 2 or self.sign(message) == message

    def change_status(self, path, status):
        """Over the first path in order that works, never the one that goes down."""
        carrier = next(
            (p for p in self.paths if p.status == OK and not (p is path and status != OK)), None
        )
        if carrier is None:
            # It would ask itself.
            return ROUND
        payload = mapped(path.own) + mapped(path.remote)
        return self.handshake(STATUS, status & 0x80, payload, carrier)[0]

    def handshake(self, code, argument, payload, carrier):
        """The four rounds; gives the return code and the last answer's payload."""
        initiator, responder = mapped(self.local), mapped(self.remote)
        destination = ("::ffff:" + carrier.remote, self.remote_command_port)
        if ":" in carrier.remote:
            destination = (carrier.remote, self.remote_command_port)
        length = (0, 4, 36)[self.of(code)[0]]
        nonce = 0
        for rounds, content in ((1, struct.pack("<I", len(payload))), (3, payload)):
            message = self.message(code, argument, rounds, nonce, initiator, responder, content)
            # Of a longer answer it would take a part.
            room = 40 + length + max(len(payload), 4)
            answer = self.ask(message, destination, room)
            if answer is None:
                return NO_ANSWER, b""
            if answer[length + 4] != rounds + 1:
                return ROUND, b""
            if length and rounds == 1:
                nonce = struct.unpack("!I", answer[4:8])[0]
            if not self.authentic(answer, nonce):
                return AUTHENTICATION, b""
            tell(answer=rounds + 1, length=len(answer), code=answer[1])
        return answer[1], answer[40 + length :]

    def ask(self, message, destination, room):
        """Whatever comes next is taken for the answer."""
        for _ in range(HANDSHAKE_TRIES):
            self.command.sendto(message, destination)
            if select.select([self.command], [], [], HANDSHAKE_WAIT)[0]:
                return self.command.recvfrom(room)[0]
            time.sleep(0.002)
        return None

    def respond(self, message, source):
        known = {STATUS: self.known, CREATE: self.accept}
        if len(message) < 40 or not known.get(message[0]) or message[2] > 2:
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
            # Of a connection that it does not know it gives no nonce.
            self.wait_random = random.Random(int(time.time())).getrandbits(32) if self.known else 0
        code, content = 0, b""
        if rounds == 1:
            content = fields[40:]
        elif message[0] == CREATE:
            code, content = self.be_created(fields[40:])
        else:
            tell(command=message[1], length=len(message), source=source[0], port=source[1])
            first, second = unmapped(fields[40:56]), unmapped(fields[56:72])
            for path in self.paths:
                if (path.remote, path.own) == (first, second):
                    if message[1] == OK:
                        path.heard = time.monotonic()
                    self.set_status(path, message[1])
        self.wait_round = rounds + 2
        answer = self.message(
            message[0], code, rounds + 1, self.wait_random, fields[8:24], fields[24:40], content
        )
        self.command.sendto(answer, source)
        if len(answer) % 256 >= 128:
            # The length is in a signed char.
            self.command.sendto(answer, source)
        time.sleep(0.005)
        if rounds == 3 and message[0] == CREATE and code == OK:
            self.known, self.wait_round = True, 0

    # Creation.

    def description(self):
        """What `mpt save` writes."""
        lines = [";;;;;;;#############"]

        def line(key, value):
            lines.append(f"{key:<16} = {value}")

        lines.append("[connection]")
        for key, value in (
            ("name", "from-the-prototype"), ("permission", 3), ("ip_ver", self.version),
            ("ip_local", self.local), ("local_port", self.port),
            ("local_cmd_port", self.config["command_port"]), ("ip_remote", self.remote),
            ("remote_port", self.remote_port), ("remote_cmd_port", self.remote_command_port),
            ("path_count", len(self.paths)), ("network_count", 0), ("status", 0),
            ("reorder_window", self.window), ("max_buffdelay_msec", 300),
            ("auth_type", self.authentication),
        ):
            line(key, value)
        for path in self.paths:
            lines.append(f"[path_{path.index}]")
            for key, value in (
                ("interface_name", "eth0"), ("ip_ver", 4), ("private_ipaddr", path.own),
                ("public_ipaddr", path.own), ("gw_ipaddr", path.own),
                ("remote_ipaddr", path.remote), ("keepalive_time", self.keepalive),
                ("dead_time", self.dead), ("weight_in", 1), ("weight_out", path.weight),
                ("status", 0),
            ):
                line(key, value)
        lines.append(";;;;;;;#############")
        return ("\n".join(lines) + "\n").encode()

    @staticmethod
    def parsed(text):
        parser = configparser.ConfigParser(strict=False, inline_comment_prefixes=(";", "#"))
        parser.read_string(text.decode())
        return parser

    def be_created(self, payload):
        if self.known:
            return EXISTS, b"\0"
        # It begins four bytes into the text.
        theirs = self.parsed(payload[4:])
        connection = theirs["connection"]
        if (connection["ip_local"], connection["ip_remote"]) != (self.remote, self.local):
            return UNKNOWN, b""
        self.window = max(self.window, connection.getint("reorder_window"))
        self.authentication = connection.getint("auth_type")
        if self.authentication == 2:
            # Whatever key it had.
            self.key = key_bytes(DEFAULT_KEY)
        for path in self.paths[: connection.getint("path_count")]:
            section = theirs[f"path_{path.index}"]
            path.remote = section["public_ipaddr"]
            path.weight = section.getint("weight_in")
        self.vector = sending_vector([p.weight for p in self.paths])
        tell(created_for=dict(connection), paths=len(self.paths))
        # Its length was computed without the authentication.
        return OK, self.description()[:-36]

    def create(self):
        text = self.description()
        code, answer = self.handshake(CREATE, 0, text, self.paths[0])
        adopted = {}
        if code == OK:
            # An unfinished last line does not count.
            answer = answer[: answer.rfind(b"\n") + 1]
            adopted = dict(self.parsed(answer[4:])["connection"])
            if self.authentication == 2:
                self.key = key_bytes(DEFAULT_KEY)
        tell(create=code, adopted=adopted)

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
