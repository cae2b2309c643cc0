#!/usr/bin/python3
"""Runs a command as a service manager would: gives it NOTIFY_SOCKET (and WATCHDOG_USEC, unless 0), prints what it says there, passes SIGTERM
on, and ends with its exit status.

    packaging/test/notify.py SOCKET WATCHDOG_USEC COMMAND...
"""
import os
import signal
import socket
import subprocess
import sys

path, watchdog, command = sys.argv[1], sys.argv[2], sys.argv[3:]
if os.path.exists(path):
    os.unlink(path)
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind(path)
os.chmod(path, 0o666)
manager.settimeout(0.1)
# The command may be in a root of its own, in which the socket is in the same directory.
environment = dict(os.environ, NOTIFY_SOCKET="/run/" + os.path.basename(path))
if watchdog != "0":
    environment["WATCHDOG_USEC"] = watchdog
process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL)
signal.signal(signal.SIGTERM, lambda *_: process.send_signal(signal.SIGTERM))
while process.poll() is None:
    try:
        print(manager.recv(4096).decode().strip(), flush=True)
    except TimeoutError:
        pass
sys.exit(process.returncode)
