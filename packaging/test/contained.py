"""Runs a command as a container engine would that was told `--cap-drop all --cap-add NET_ADMIN`: as root, in a root directory of its own, with this
one capability.

    contained.py ROOT COMMAND...
"""
import ctypes
import os
import sys

# linux/prctl.h, linux/capability.h
PR_CAPBSET_READ, PR_CAPBSET_DROP = 23, 24
CAP_NET_ADMIN = 12

root, command = sys.argv[1], sys.argv[2:]
libc = ctypes.CDLL(None, use_errno=True)
os.chroot(root)
os.chdir("/")
capability = 0
# Beyond the last one that the kernel knows it is an error.
while (bound := libc.prctl(PR_CAPBSET_READ, capability, 0, 0, 0)) >= 0:
    if bound and capability != CAP_NET_ADMIN and libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0):
        raise OSError(ctypes.get_errno(), f"capability {capability} cannot be dropped")
    capability += 1
# What a program that root starts gets is the bounding set (capabilities(7)).
os.execv(command[0], command)
