"""Sends packets that were built before, at a rate: many with one system call."""
import ctypes
import time

BATCH = 64


class _Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


class _Header(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_void_p),
        ("name_length", ctypes.c_uint32),
        ("vectors", ctypes.POINTER(_Vector)),
        ("vector_count", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("control_length", ctypes.c_size_t),
        ("flags", ctypes.c_int),
    ]


class _Message(ctypes.Structure):
    _fields_ = [("header", _Header), ("sent", ctypes.c_uint)]


_sendmmsg = ctypes.CDLL(None, use_errno=True).sendmmsg


def run(sock, packets, rate, seconds):
    """Sends the packets, over and over again, on a connected or bound socket; none at a rate of 0. Returns how many were sent, and per second."""
    if rate == 0:
        time.sleep(seconds)
        return 0, 0.0
    buffers = [ctypes.create_string_buffer(packet, len(packet)) for packet in packets]
    # Whole batches from every place in the list.
    buffers = [buffers[n % len(buffers)] for n in range(len(buffers) + BATCH)]
    vectors = (_Vector * len(buffers))()
    messages = (_Message * len(buffers))()
    for vector, message, buffer in zip(vectors, messages, buffers):
        vector.base, vector.length = ctypes.addressof(buffer), len(buffer)
        message.header.vectors, message.header.vector_count = ctypes.pointer(vector), 1
    start, sent, at = time.monotonic(), 0, 0
    while (now := time.monotonic() - start) < seconds:
        due = min(int(rate * now) + 1 - sent, BATCH)
        if due <= 0:
            time.sleep(min(0.001, (sent + 1) / rate - now) if rate > 100 else min(0.05, 1 / rate))
            continue
        done = _sendmmsg(sock.fileno(), ctypes.byref(messages, at * ctypes.sizeof(_Message)), due, 0)
        # A full queue, or an answer of ICMP: it is counted as sent when it has been.
        done = max(done, 0)
        sent += done
        at = (at + done) % len(packets)
    return sent, sent / (time.monotonic() - start)
