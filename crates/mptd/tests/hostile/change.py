"""A router on a path that changes what it forwards, or drops some of it.

    change.py CONFIG

CONFIG is JSON: "ports" (from which, to which), "seconds", and either "find" and "write" (bytes of the same length in data packets) or "drop" ("data": only
control frames are forwarded). The way from the first port to the second has to be closed otherwise.
"""
import json
import socket
import sys
import time

import onpath

SOL_PACKET, QDISC_BYPASS = 263, 20


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        config = json.load(file)
    source, target = (onpath.listening(port) for port in config["ports"])
    target.setsockopt(SOL_PACKET, QDISC_BYPASS, 1)
    source.settimeout(0.1)
    print(json.dumps({"step": "listening"}), flush=True)
    find, write = (config.get(key, "").encode() for key in ("find", "write"))
    end = time.monotonic() + config["seconds"]
    while time.monotonic() < end:
        try:
            frame, origin = source.recvfrom(65535)
        except socket.timeout:
            continue
        if origin[2] == socket.PACKET_OUTGOING or len(frame) > 1514:
            continue
        if onpath.is_ours(frame):
            payload = frame[onpath.PAYLOAD :]
            if not onpath.is_control(frame):
                if config.get("drop") == "data":
                    continue
                if find in payload:
                    # The inner UDP checksum, too: 0 is none.
                    at = payload.index(find)
                    payload = payload[: at - 2] + b"\0\0" + write + payload[at + len(find) :]
            frame = onpath.rewritten(frame, payload)
        target.send(frame)


if __name__ == "__main__":
    main()
