#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job whose ranks meet as those of torch.distributed do: rank 0 listens on MASTER_PORT, the others
come to MASTER_ADDR. Rank 0 prints a line for each. It knows nothing of ranktrace.

  rank 2 of 4 on b, local 0 of 2, by MASTER_ADDR=a
"""
import os
import socket
import time

LIMIT_S = 30


def connect(address, port):
    deadline = time.monotonic() + LIMIT_S
    while True:
        try:
            return socket.create_connection((address, port), timeout=LIMIT_S)
        except ConnectionRefusedError:  # rank 0 is not that far yet
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def main():
    env = {name: os.environ[name] for name in
           ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")}
    port = int(env["MASTER_PORT"])
    line = ("rank {RANK} of {WORLD_SIZE} on %s, local {LOCAL_RANK} of {LOCAL_WORLD_SIZE}, "
            "by MASTER_ADDR={MASTER_ADDR}" % socket.gethostname()).format(**env)
    if int(env["RANK"]) > 0:
        with connect(env["MASTER_ADDR"], port) as peer:
            peer.sendall(line.encode())
        return
    print(line)
    with socket.create_server(("", port)) as server:
        server.settimeout(LIMIT_S)
        for _ in range(int(env["WORLD_SIZE"]) - 1):
            peer, _address = server.accept()
            with peer:
                print(b"".join(iter(lambda: peer.recv(4096), b"")).decode())


if __name__ == "__main__":
    main()
