"""What a client with a valid key does to get more than its share: each at a rate, while its session goes on as far as it can."""
import json
import os
import struct
import time

import wire


def storm(peer, config, make):
    """Sends `make(n)`, the messages of a frame or None for one of its own, at the rate asked for; answers meanwhile."""
    rate, seconds = config["rate"], config["seconds"]
    start, sent = time.monotonic(), 0
    while (now := time.monotonic() - start) < seconds:
        for _ in range(min(int(rate * now) + 1 - sent, 200)):
            made = make(sent)
            if made is not None:
                peer.send(1 + sent % len(peer.sockets), *made)
            sent += 1
        peer.poll(0.002 if rate > 100 else 0.05)
        del peer.inner[:]
        if len(peer.results) > 100:
            peer.results.clear()
        if len(peer.tokens) > 1000:
            peer.tokens.clear()
        del peer.seen[:-100], peer.tables[:-10]
    return {"sent": sent, "rate": sent / (time.monotonic() - start)}


def requests(peer, config):
    """Requests with ids in order, out of order and far away, for things that cost something."""
    bodies = [
        {"create": config.get("create")},
        {"path_add": {"id": 9, "name": "more", "weight": 1, "weight_in": 1}},
        {"path_delete": {"id": 9}},
        {"measure_start": {"path": 1, "duration_ms": 10_000}},
        {"nonsense": "x" * 900},
    ]
    bodies = [json.dumps(body).encode()[:1024] for body in bodies]

    def make(n):
        number = (peer.request + (n, n * 7, n * 70_000, wire.random32())[n % 4]) & 0xFFFFFFFF
        return [wire.request(number, 0, bodies[n % len(bodies)])]

    return storm(peer, config, make)


def tables(peer, config):
    """A new table of paths with each frame: weights, wishes and states that nobody has, and as many entries as there may be."""

    def make(n):
        peer.generation += 1
        entries = [(path, 0xFFFF, 0xFFFF, n % 256) for path in range(1, 129 if n % 10 == 0 else 3)]
        return [wire.paths(peer.generation, peer.epoch, wire.random32(), entries)]

    done = storm(peer, config, make)
    peer.generation += 1
    return done


def epochs(peer, config):
    """A new life of its numbers with each frame."""

    def make(n):
        peer.generation += 1
        peer.epoch = wire.random32()
        return [peer.table()]

    done = storm(peer, config, make)
    peer.generation += 1
    return done


def lies(peer, config):
    """Reports of frames that nobody sent, and times of a clock that jumps."""

    def make(n):
        entries = [(path % 3, wire.random32(), 1 << 63, (1 << 64) - 1) for path in range(8)]
        clock = struct.pack(">II", wire.random32(), wire.random32())
        return [wire.report(entries), wire.message(wire.CLOCK, clock), wire.message(wire.PROBE, os.urandom(8))]

    return storm(peer, config, make)


def echoes(peer, config):
    """Echoes of tokens that nobody sent, acknowledgements of tables that nobody has."""
    return storm(
        peer, config, lambda n: [wire.message(wire.ECHO, os.urandom(8)), wire.message(wire.PATHS_ACK, os.urandom(4))]
    )


def probes(peer, config):
    """Probes as fast as it can."""
    return storm(peer, config, lambda n: [wire.message(wire.PROBE, os.urandom(8)), wire.message(wire.PAD, bytes(60))])


def nonsense(peer, config):
    """Authentic frames of messages that are wrong, unknown, or do not fill them."""
    bodies = [
        b"\x01",
        b"\x01\xff\xff",
        wire.message(wire.PROBE, b"short"),
        wire.message(wire.PATHS, bytes(13)),
        wire.message(wire.RESULT, struct.pack(">III", 1, 5, 0xFFFFFFFF) + bytes(1000)),
        wire.message(wire.RESULT, struct.pack(">III", 1, 0xFFFFFFF0, 0xFFFFFFFF) + bytes(100)),
        wire.message(wire.REQUEST, bytes(7)),
        wire.message(200, bytes(1000)),
        b"",
    ]
    return storm(peer, config, lambda n: [bodies[n % len(bodies)]])


def identifiers(peer, config):
    """A path identifier of its own for each frame."""

    def make(n):
        path = 1 + n % 65_535
        frame = peer.keys.out.seal(peer.keys.peer, path, wire.message(wire.PROBE, os.urandom(8)) + wire.message(wire.PAD, bytes(60)))
        peer.send_frame(1, frame)

    return storm(peer, config, make)


def flapping(peer, config):
    """Each frame from another port, so that the path seems to move all the time."""
    import peer as peers

    sock, remote = peer.sockets[1]
    host = sock.getsockname()[0]
    others = [peers.bound(f"{host}:{port}") for port in range(20_000, 20_032)]

    def make(n):
        frame = peer.keys.out.seal(peer.keys.peer, 1, wire.message(wire.PROBE, os.urandom(8)) + wire.message(wire.PAD, bytes(60)))
        others[n % len(others)].sendto(wire.gre(0x88B5, peer.key) + frame, remote)

    done = storm(peer, config, make)
    for other in others:
        other.close()
    return done


def goodbyes(peer, config):
    """Goodbye and a new handshake, again and again."""
    start, sent = time.monotonic(), 0
    while time.monotonic() - start < config["seconds"]:
        for path in peer.sockets:
            peer.send(path, wire.message(wire.GOODBYE, b"\0"))
        peer.connect()
        sent += 1
        time.sleep(max(0, 1 / config["rate"]))
    return {"sent": sent, "rate": sent / (time.monotonic() - start)}


def initiations(peer, config):
    """Initiations with the right key and names of their own, none of them confirmed."""
    import peer as peers

    name = peer.name

    def make(n):
        peer.name = f"c{n}"
        peer.send_frame(1, peers.Attempt(peer, None).frame(1))

    # Each costs four multiplications here.
    done = storm(peer, {**config, "rate": min(config["rate"], 500)}, make)
    peer.name = name
    return done


def joins(peer, config):
    """Initiations with one token under ever other keys, none of them confirmed."""
    import peer as peers

    private = peer.private

    def make(n):
        peer.private = os.urandom(32)
        peer.send_frame(1, peers.Attempt(peer, None).frame(1))

    done = storm(peer, {**config, "rate": min(config["rate"], 500)}, make)
    peer.private = private
    return done


def join_requests(peer, config):
    """The request to join again and again, by hosts of all names."""
    names = ["", "a", "x" * 900, "../../etc", "a\nb", '"]\n[[client]]\nname = "b', "\u00fc" * 100, "a.b"]
    return in_a_row(peer, config, [{"join": {"host": name}} for name in names])


def in_a_row(peer, config, bodies):
    """Requests with ids in order, one body after the other."""
    bodies = [json.dumps(body).encode() for body in bodies]

    def make(n):
        peer.request = (peer.request + 1) & 0xFFFFFFFF
        return [wire.request(peer.request, 0, bodies[n % len(bodies)])]

    return storm(peer, config, make)


def creations(peer, config):
    """Its connection removed and created again, without end."""
    return in_a_row(peer, config, [{"delete": {}}, {"create": config["create"]}])


def speed_tests(peer, config):
    """One speed test after the other."""
    tests = [{"measure_start": {"test": n, "path": 1, "sender": "asked", "duration_ms": 1000, "limit": 1_000_000}} for n in range(1, 200)]
    return in_a_row(peer, config, tests)
