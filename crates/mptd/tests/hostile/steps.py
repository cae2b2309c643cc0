"""What an honest peer does, step by step; each says what it saw."""
import os
import struct
import time

import wire


def connect(peer, _):
    """A session."""
    return {"seconds": peer.connect(), "cookies": peer.cookies_seen}


def create(peer, config):
    """The connection, where the peer makes it on demand."""
    granted = peer.ask({"create": config["create"]})
    assert "ok" in granted, granted
    created = granted["ok"]["created"]
    peer.key = created.get("key")
    return {"granted": created}


def up(peer, _):
    """Every path is proved and the table of paths acknowledged."""
    everywhere = lambda: set(peer.echoed) == set(peer.sockets) and peer.acknowledged == peer.generation
    assert peer.poll(20, done=everywhere), f"echoes {peer.echoed}, acknowledged {peer.acknowledged}"
    assert peer.poll(20, done=lambda: peer.tables), "no table of paths"
    missing = {wire.PROBE, wire.ECHO, wire.REPORT, wire.PATHS, wire.PATHS_ACK, wire.CLOCK} - set(peer.seen)
    assert not peer.poll(5, done=lambda: missing <= set(peer.seen)) or missing <= set(peer.seen), f"never seen: {missing}"
    generation, epoch, _, entries = peer.tables[-1]
    assert {entry[0] for entry in entries} == set(peer.sockets), entries
    return {"entries": entries}


def data(peer, config):
    """Datagrams to the echo service behind the other end, over all paths in turn, and back."""
    count, own, other = 60, config["inner"][0], config["inner"][1]
    sent = {}
    peer.inner.clear()
    for number in range(count):
        payload = os.urandom(40)
        sent[payload] = number
        path = 1 + number % len(peer.sockets)
        peer.send_inner(path, wire.inner_udp(own, other, (5000, 7), payload))
        peer.poll(0.005)
    answers = lambda: [it for it in peer.inner if it[2][9] == 17 and it[2][28:] in sent]
    assert peer.poll(20, done=lambda: len(answers()) >= count), f"{len(answers())} of {count} answers"
    numbers = [number for _, number, _ in answers()]
    assert len(set(numbers)) == count, "a number twice"
    # Gaps are the other end's own packets, such as those of its kernel.
    assert max(numbers) - min(numbers) < count + 50, numbers
    order = [sent[packet[28:]] for _, _, packet in sorted(answers(), key=lambda it: it[1])]
    assert order == list(range(count)), "they were delivered out of order"
    return {"paths": sorted({path for path, _, _ in answers()})}


def rekey(peer, _):
    """New keys in the same session, while the old ones are in use."""
    before, table = peer.keys, peer.tables[-1][1]
    took = peer.connect()
    assert peer.keys is not before
    peer.echoed.clear()
    up(peer, None)
    assert peer.tables[-1][1] == table, "the other end's numbers have begun anew"
    return {"seconds": took}


def down(peer, _):
    """The notice that path 1 is down: the other end sends no data on it any more."""
    peer.generation += 1
    peer.weights[1] = 1, 0, 1
    assert peer.poll(20, done=lambda: peer.acknowledged == peer.generation)
    time.sleep(0)
    return {}


def together(_, config):
    """The time that is agreed on with others (Unix time)."""
    time.sleep(max(0, config["at"] - time.time()))
    return {}


def join(peer, config):
    """The key of this host registered as that of a client, or why not (section 20.1)."""
    return {"answer": peer.ask({"join": {"host": config["host"]}})}


def other_requests(peer, config):
    """Nothing but joining is answered in a session of this kind."""
    codes = []
    for body in ({"create": config["create"]}, {"delete": {}}, "show", {"join": 7}):
        answer = peer.ask(body)
        assert "error" in answer, answer
        codes.append(answer["error"]["code"])
    return {"codes": codes}


def no_session(peer, _):
    """No session comes of any handshake: how many responses did not open."""
    try:
        peer.connect(patience=3)
    except TimeoutError:
        return {"unopened": peer.unopened}
    raise AssertionError("there is a session")


def bad_requests(peer, _):
    """Bodies that are no request get an error, and the session goes on."""
    codes = []
    for body in ({"nonsense": {}}, {"create": 7}, [], "x" * 900):
        answer = peer.ask(body)
        assert "error" in answer and "code" in answer["error"], answer
        codes.append(answer["error"]["code"])
    return {"codes": codes}


def goodbye(peer, _):
    """The end."""
    for path in peer.sockets:
        peer.send(path, wire.message(wire.GOODBYE, b"\0"))
    return {}


def alive(peer, _):
    """The other end still answers."""
    peer.echoed.clear()
    everywhere = lambda: set(peer.echoed) == set(peer.sockets)
    assert peer.poll(20, done=everywhere), f"echoes {peer.echoed}"
    return {}


def replayed(peer, _):
    """A frame sent twice is answered once (section 13.2)."""
    token = os.urandom(8)
    body = wire.message(wire.PROBE, token) + wire.message(wire.CLOCK, bytes(8)) + wire.message(wire.PAD, bytes(60))
    frame = peer.keys.out.seal(peer.keys.peer, 1, body)
    peer.poll(0.5)
    echoes = 0
    handle = peer.handle

    def count(path, received):
        nonlocal echoes
        try:
            index, = struct.unpack_from(">I", received, 2)
            if received[0] == wire.SEALED and index == peer.keys.own:
                kinds = wire.messages(peer.keys.back.open(received))
                echoes += (wire.ECHO, token) in kinds
        finally:
            handle(path, received)

    peer.handle = count
    for _ in range(5):
        peer.send_frame(1, frame)
    peer.poll(1)
    peer.handle = handle
    assert echoes == 1, f"{echoes} answers"
    return {}


def create_again(peer, config):
    """The connection removed and created again, no more often than a client may: how often the other end was too busy."""
    busy = 0
    for _ in range(4):
        assert "ok" in peer.ask({"delete": {}})
        peer.poll(1.2)
        answer = peer.ask({"create": config["create"]})
        while "error" in answer:
            assert answer["error"]["code"] == "busy", answer
            busy += 1
            peer.poll(0.1)
            answer = peer.ask({"create": config["create"]})
    return {"busy": busy}


def measure(peer, _):
    """Speed tests, each asked for until it is granted: how long that took."""
    waited = []
    for number in range(1, 4):
        start = time.monotonic()
        body = {"measure_start": {"test": number, "path": 1, "sender": "asked", "duration_ms": 200, "limit": 1_000_000}}
        while "error" in (answer := peer.ask(body)):
            assert answer["error"]["code"] == "busy", answer
            assert time.monotonic() - start < 20, "no speed test"
            peer.poll(0.1)
        waited.append(time.monotonic() - start)
        peer.poll(0.5)
    return {"waited": waited}
