"""An end of the control protocol that is none of ours, written from docs/protocol.md alone, and what it can do wrong on purpose.

    peer.py CONFIG

CONFIG is JSON: "key" (file with the private key; absent: a new one), "peer" (public key, base64), "psk" (file, or absent), "name" (of the connection),
"paths" (pairs of a local and a remote address), "create" (the body of a create request, or absent), "do" (a list of steps) and, for abuse, "rate" and
"seconds". For a host that joins, "token" has the secret of its token (base64) in place of "psk" and "name", and "host" what it calls itself.
It prints one line of JSON for each step, and fails where the other end does not do as the document says.
"""
import base64
import json
import os
import select
import socket
import struct
import sys
import time

import noise
import wire

DATA = 0x0800
CONTROL = 0x88B5
#: Seconds that anything may take on a busy machine.
PATIENCE = 20
KEEPALIVE = 0.1


class Keys:
    """One epoch of keys."""

    def __init__(self, own, peer, ours, theirs):
        self.own, self.peer = own, peer
        self.out, self.back = wire.Sealer(ours), wire.Sealer(theirs)
        self.heard = False


class Peer:
    """The initiator of a session."""

    def __init__(self, config):
        self.private = wire.read_key(config["key"]) if config.get("key") else os.urandom(32)
        self.responder = base64.b64decode(config["peer"])
        self.psk = wire.read_key(config["psk"]) if config.get("psk") else None
        self.name, self.kind = config.get("name"), config.get("kind", 1)
        if config.get("token"):
            name, self.psk = wire.token(base64.b64decode(config["token"]))
            self.name, self.kind = config.get("name", name), 3
        self.sockets = {}
        for number, (local, remote) in enumerate(config["paths"], 1):
            self.sockets[number] = bound(local), address(remote)
        self.keys, self.old, self.key = None, None, None
        self.generation, self.epoch = 1, wire.random32()
        self.acknowledged = None
        self.tokens, self.echoed, self.frames = {}, {}, {}
        self.results, self.inner, self.seen = {}, [], []
        self.tables, self.cookies_seen, self.responses_seen, self.unopened = [], 0, 0, 0
        self.record = open(config["record"], "w", encoding="ascii") if config.get("record") else None
        self.number, self.request = 0, wire.random32()
        self.weights = {number: (1, 0, 0) for number in self.sockets}
        self.answers = True
        self.next_probe = 0

    # Handshake: section 11.

    def connect(self, patience=PATIENCE):
        """A handshake: new keys, confirmed by a frame under them. Says how long it took."""
        start = time.monotonic()
        challenge, cookies, attempts = None, {}, []
        while time.monotonic() - start < patience:
            attempt = Attempt(self, challenge)
            attempts = [attempt] + attempts[:1]
            made = time.monotonic()
            while time.monotonic() - made < 5:
                for path, (sock, remote) in self.sockets.items():
                    self.send_frame(path, attempt.frame(path, cookies.get(path)))
                until = time.monotonic() + 0.25
                content = None
                while time.monotonic() < until and content is None:
                    for path, frame in self.receive(until):
                        if frame[0] == wire.RESPONSE:
                            for attempt in attempts:
                                if attempt.finish(frame):
                                    self.confirm()
                                    return time.monotonic() - start
                        elif frame[0] == wire.COOKIE:
                            for one in attempts:
                                content = one.open_cookie(path, frame)
                                if content:
                                    break
                            if content:
                                self.cookies_seen += 1
                                cookies[path] = content[:2]
                                if attempt.challenged:
                                    content = None
                                    self.send_frame(path, attempt.frame(path, cookies[path]))
                                else:
                                    challenge = content[0], content[2]
                                    break
                        else:
                            self.handle(path, frame)
                if content:
                    break
        raise TimeoutError("no response to an initiation")

    def confirm(self):
        """Sends under the new keys until a frame comes under them."""
        end = time.monotonic() + PATIENCE
        while not self.keys.heard:
            for path in self.sockets:
                self.probe(path)
            self.poll(0.25, probing=False)
            assert time.monotonic() < end, "no frame under the new keys"

    # Frames.

    def send_frame(self, path, frame):
        sock, remote = self.sockets[path]
        if self.record and frame[0] == wire.INITIATION:
            print(frame.hex(), file=self.record, flush=True)
        try:
            sock.sendto(wire.gre(CONTROL, self.key) + frame, remote)
        except OSError:
            pass  # An answer of ICMP to an earlier one.

    def send(self, path, *messages):
        self.send_frame(path, self.keys.out.seal(self.keys.peer, path, b"".join(messages)))

    def table(self):
        entries = [(path, *values) for path, values in self.weights.items()]
        return wire.paths(self.generation, self.epoch, self.number, entries)

    def probe(self, path):
        """A Probe with its Clock, a Report of the path, and Paths until they are acknowledged; padded for the answer."""
        token = os.urandom(8)
        self.tokens[token] = path
        out = [wire.message(wire.PROBE, token), wire.message(wire.CLOCK, clock())]
        out.append(wire.report([(path, self.frames.get(path, 0), 0, 0)]))
        if self.acknowledged != self.generation:
            out.append(self.table())
        out.append(wire.message(wire.PAD, bytes(40)))
        self.send(path, *out)

    def receive(self, until):
        """Control frames until a time; inner packets are kept."""
        ready, _, _ = select.select([s for s, _ in self.sockets.values()], [], [], max(0, until - time.monotonic()))
        frames = []
        for path, (sock, _) in self.sockets.items():
            while sock in ready:
                try:
                    protocol, key, number, payload = wire.ungre(sock.recv(65535))
                except BlockingIOError:
                    break
                except OSError:
                    continue
                if protocol == CONTROL:
                    frames.append((path, payload))
                else:
                    assert key == self.key, f"key {key}, expected {self.key}"
                    self.inner.append((path, number, payload))
        return frames

    def poll(self, seconds, probing=True, done=lambda: False):
        """Goes on for a while: answers, and probes."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not done():
            if probing and time.monotonic() >= self.next_probe:
                self.next_probe = time.monotonic() + KEEPALIVE
                for path in self.sockets:
                    self.probe(path)
            for path, frame in self.receive(min(end, self.next_probe) if probing else end):
                self.handle(path, frame)
        return done()

    def handle(self, path, frame):
        """Sections 9.4, 10, 15 and 17."""
        if frame[0] != wire.SEALED:
            return
        assert frame[1] == wire.VERSION
        index, on = struct.unpack_from(">IH", frame, 2)
        keys = next((it for it in (self.keys, self.old) if it and it.own == index), None)
        if keys is None:
            return
        plaintext = keys.back.open(frame)
        keys.heard = True
        self.frames[path] = self.frames.get(path, 0) + 1
        assert on == path, f"path {on} on path {path}"
        answer = []
        for kind, body in wire.messages(plaintext):
            self.seen.append(kind)
            if kind == wire.PROBE:
                answer.append(wire.message(wire.ECHO, body))
                answer.append(wire.report([(path, self.frames[path], 0, 0)]))
            elif kind == wire.ECHO and self.tokens.pop(body, None):
                self.echoed[path] = self.echoed.get(path, 0) + 1
            elif kind == wire.PATHS:
                generation, epoch, first = struct.unpack_from(">III", body)
                entries = list(struct.iter_unpack(">HHHBB", body[12:]))
                self.tables.append((generation, epoch, first, entries))
                answer.append(wire.message(wire.PATHS_ACK, body[:4]))
            elif kind == wire.PATHS_ACK:
                (self.acknowledged,) = struct.unpack(">I", body)
            elif kind == wire.RESULT:
                number, offset, total = struct.unpack_from(">III", body)
                result = self.results.setdefault(number, (total, bytearray(total), set()))
                result[1][offset : offset + len(body) - 12] = body[12:]
                result[2].add((offset, len(body) - 12))
        if answer and self.answers:
            self.send(path, *answer)

    # What a user of the protocol wants.

    def ask(self, body, patience=PATIENCE):
        """The result of a request (section 19)."""
        number, self.request = self.request, self.request + 1 & 0xFFFFFFFF
        data = json.dumps(body).encode()
        end, pause = time.monotonic() + patience, 0.2
        whole = lambda: number in self.results and sum(n for _, n in self.results[number][2]) >= self.results[number][0]
        while time.monotonic() < end:
            for path in self.sockets:
                have = self.results.get(number)
                offset = max((o + n for o, n in have[2]), default=0) if have else 0
                self.send(path, wire.request(number, offset, data if offset == 0 else b""))
            if self.poll(pause, done=whole):
                return json.loads(bytes(self.results[number][1]))
            pause = min(2, 2 * pause)
        raise TimeoutError(f"no result of {body}")

    def send_inner(self, path, packet):
        sock, remote = self.sockets[path]
        sock.sendto(wire.gre(DATA, self.key, self.number) + packet, remote)
        self.number = self.number + 1 & 0xFFFFFFFF


class Attempt:
    """One initiation."""

    def __init__(self, peer, challenge):
        self.peer, self.challenged = peer, challenge is not None
        self.index = wire.random32()
        self.handshake = noise.Handshake(wire.PROLOGUE, peer.private, peer.responder, peer.psk)
        hello = wire.hello(peer.name, peer.kind, peer.key, challenge)
        self.message = self.handshake.write_1(os.urandom(32), hello)

    def frame(self, path, cookie=None):
        return wire.initiation(self.peer.responder, path, self.index, self.message, cookie)

    def open_cookie(self, path, frame):
        """Time, cookie and challenge of an answer to this one."""
        assert len(frame) == wire.COOKIE_LENGTH and frame[1] == wire.VERSION
        if struct.unpack_from(">I", frame, 4)[0] != self.index:
            return None
        return wire.open_cookie(self.peer.responder, self.frame(path)[232:248], frame)

    def finish(self, frame):
        """Takes the keys of a response to this one."""
        assert len(frame) == wire.RESPONSE_LENGTH and frame[1] == wire.VERSION
        sender, receiver = struct.unpack_from(">II", frame, 4)
        if receiver != self.index:
            return False
        self.peer.responses_seen += 1
        assert frame[124:] == wire.mac1(noise.public(self.peer.private), frame[:124]), "MAC 1 of a response"
        handshake = self.handshake.copy()
        try:
            welcome = handshake.read_2(frame[12:124])
        except noise.InvalidTag:
            # It was made with another pre-shared key.
            self.peer.unopened += 1
            return False
        assert len(welcome) == 64 and welcome[1] >= 1, welcome
        there, back = handshake.split()
        self.peer.old, self.peer.keys = self.peer.keys, Keys(self.index, sender, there, back)
        return True


def clock():
    return struct.pack(">II", CLOCK, time.monotonic_ns() // 1000 & 0xFFFFFFFF)


CLOCK = wire.random32()


def address(text):
    host, port = text.rsplit(":", 1)
    return host.strip("[]"), int(port)


def bound(local):
    host, port = address(local)
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    sock.bind((host, port))
    sock.setblocking(False)
    return sock


def say(step, **facts):
    print(json.dumps({"step": step, **facts}), flush=True)


def main():
    import abuse
    import steps

    with open(sys.argv[1], encoding="utf-8") as file:
        config = json.load(file)
    peer = Peer(config)
    for step in config["do"]:
        done = getattr(steps, step, None) or getattr(abuse, step)
        say(step, **(done(peer, config) or {}))


if __name__ == "__main__":
    main()
