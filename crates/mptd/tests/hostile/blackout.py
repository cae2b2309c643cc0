"""Forges data packets with the numbers that are due, so that the genuine ones are dropped as duplicates (docs/protocol.md, section 7).

    blackout.py CONFIG

CONFIG is JSON: "from" and "to" (the ends of a path), "networks" (inner addresses), "first" (the number due), "count" (how many at once), "more" (how
many afterwards, one every 0.9 s). With "index" they look like sealed packets with this data index.
"""
import json
import socket
import sys
import time

import offpath
import wire


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        config = json.load(file)
    source, target = offpath.endpoint(config["from"]), offpath.endpoint(config["to"])
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    raw.connect((target[0], 0))
    inner = wire.inner_udp(*config["networks"], (9, 9), b"forged")
    first, count, more = config["first"], config["count"], config["more"]
    index = config.get("index")
    start = time.monotonic()
    for number in range(count + more):
        if number >= count:
            time.sleep(max(0, start + 0.9 * (number - count + 1) - time.monotonic()))
        header = wire.gre(0x0800, sequence=first + number) if index is None else wire.gre(0x88B6, key=index, sequence=first + number)
        tag = b"" if index is None else bytes(16)
        raw.send(offpath.udp(source, target, header + inner + tag))
        if number < count and number % 50 == 49:
            # The receiver's socket buffer is no part of this.
            time.sleep(0.001)
    print(json.dumps({"step": "forged", "sent": count + more, "seconds": time.monotonic() - start}), flush=True)


if __name__ == "__main__":
    main()
