#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports of Nsight Systems import: made up ones whole, part of a table or damaged; public ones to the nanosecond."""

import gzip
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

from public_traces import SHARED, run

EPOCH = 1700000000000000000
PIDS = (4000, 5000)
STRINGS = {1: "void gemm<float>(int)", 2: "gemm", 3: "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
           4: "cudaLaunchKernel_v7000", 5: "cudaDeviceSynchronize_v3020", 6: "forward", 7: "pt_autograd_0", 8: "cuLaunchKernel"}

SCHEMA = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT, name TEXT, nameEnum INTEGER, value TEXT);
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, busLocation TEXT, uuid TEXT, cuDevice INTEGER);
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, registersPerThread INTEGER, gridX INTEGER,
  gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER,
  dynamicSharedMemory INTEGER, graphNodeId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, value INTEGER, bytes INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, syncType INTEGER, eventId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER,
  nameId INTEGER, returnValue INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, textId INTEGER,
  domainId INTEGER, uint64Value INTEGER);
CREATE TABLE OSRT_API (start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER);
"""


def fill_process(db, index, steps):
    """One rank on device `index`: per step a launch, a kernel, a collective, copies and a synchronisation."""
    pid, tid = (1 << 48) + (PIDS[index] << 24), (1 << 48) + (PIDS[index] << 24) + PIDS[index] + 1
    db.execute("INSERT INTO PROCESSES VALUES (?, ?, ?)", (pid, PIDS[index], f"python {index}"))
    db.execute("INSERT INTO ThreadNames VALUES (7, 0, ?)", (tid,))
    db.execute("INSERT INTO NVTX_EVENTS VALUES (1, NULL, 75, 'NCCL', ?, NULL, 3, NULL)", (tid,))
    for step in range(steps):
        at, corr = 1_000_000 * (step + 1) + index * 50, 10 * step + 1
        db.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, NULL, ?, 6, 0, ?)", (at, at + 900_000, tid, step))
        db.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, 'ncclAllReduce', ?, NULL, 3, NULL)", (at + 100, at + 900, tid))
        db.execute("INSERT INTO NVTX_EVENTS VALUES (?, NULL, 34, 'a mark', ?, NULL, 0, NULL)", (at + 50, tid))
        for k, name in enumerate((1, 3)):
            db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, 4, 0)", (at + k * 10, at + k * 10 + 5, tid, corr + k))
            start = at + 1000 + k * 100_000
            db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?,?,?,1,?,?,?,?,2,32,64,1,1,256,1,1,0,1024,NULL)",
                       (start, start + 80_000, index, 7 + k, corr + k, pid, name))
        db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?,?,?,1,7,?,?,4096,1,0,2)", (at + 300_000, at + 310_000, index, corr + 2, pid))
        db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (?,?,?,1,7,?,?,0,64)", (at + 320_000, at + 321_000, index, corr + 3, pid))
        db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, 5, 0)", (at + 400_000, at + 500_000, tid, corr + 4))
        db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (?,?,?,1,4294967295,?,?,4,4294967295)",
                   (at + 400_000, at + 500_000, index, corr + 4, pid))
    db.execute("INSERT INTO OSRT_API VALUES (5, 6, ?, 6)", (tid,))
    db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (9000,8000,?,1,7,900,?,1,2,32,1,1,1,1,1,1,0,0,NULL)", (index, pid))


def make(path, process_count, steps=40):
    path.unlink(missing_ok=True)
    db = sqlite3.connect(path)
    db.executescript(SCHEMA)
    db.executemany("INSERT INTO StringIds VALUES (?, ?)", STRINGS.items())
    db.execute("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_VERSION', '2024.5.1.113')")
    db.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?, '', '')", (EPOCH,))
    db.execute("INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (0, '', 'Hostname', 1, 'node7')")
    for index in range(process_count):
        db.execute("INSERT INTO TARGET_INFO_GPU VALUES (?, 'GPU X', '0000:C1:00.0', '74e128b2-90b6-b409-07c8-33bee5ff6f88', ?)", (index, index))
    for index in reversed(range(process_count)): # the order is by device, not by row
        fill_process(db, index, steps)
    db.commit()
    db.close()
    return path


def work_of(build, store):
    ranks = {}
    for line in run(build / "tests" / "dump_work", store).splitlines():
        word = line.split()
        if word[1] != "left_out":
            ranks.setdefault(int(word[0]), []).append((int(word[1]), int(word[2]), word[3]))
    return {rank: sorted(work) for rank, work in ranks.items()}


def expected(index, steps=40):
    work = []
    for step in range(steps):
        at = EPOCH + 1_000_000 * (step + 1) + index * 50
        work += [(at + 1000, at + 81_000, "compute"), (at + 101_000, at + 181_000, "comm"),
                 (at + 300_000, at + 310_000, "copy"), (at + 320_000, at + 321_000, "copy")]
    return sorted(work)


class Check:
    def __init__(self, build, folder):
        self.build, self.folder, self.faults = build, folder, []
        self.merge, self.store = build / "bin" / "ranktrace-merge", folder / "out.rkt"

    def expect(self, what, is_right, said):
        if not is_right:
            self.faults.append(f"{what}: {said}")

    def run_merge(self, code, trace):
        done = subprocess.run([self.merge, "--force", "-o", self.store, trace], capture_output=True, text=True)
        self.expect(f"{trace}", done.returncode == code, f"exit code {done.returncode}: {done.stderr}")
        return done.stdout + done.stderr

    def made_up(self):
        one = make(self.folder / "rank3.sqlite", 1)
        said = self.run_merge(0, one)
        self.expect("one process", work_of(self.build, self.store) == {3: expected(0)}, "other work than was made")
        self.expect("one process", "443 read = 440 stored + 1 names and labels + 1 left out by design + 1 rejected" in said, said)
        said = self.run_merge(0, make(self.folder / "node.db", 2))
        self.expect("two processes", work_of(self.build, self.store) == {0: expected(0), 1: expected(1)}, "other work than was made")
        self.expect("two processes", "node.db (process 2 of 2)" in said, said)
        report = run(self.build / "bin" / "ranktrace-report", "--step-range", "forward", self.store)
        self.expect("the report", "2 ranks" in report and "1 host" in report and "steps: 40, from" in report, report)

    def parts_missing(self):
        path = make(self.folder / "less.sqlite", 1)
        db = sqlite3.connect(path)
        for table in ("NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME", "TARGET_INFO_GPU", "ThreadNames", "OSRT_API"):
            db.execute(f"DROP TABLE {table}")
        db.execute("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN graphNodeId")
        db.execute("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN demangledName")
        db.commit()
        db.close()
        self.run_merge(0, path)
        want = [(a, b, "compute" if kind == "comm" else kind) for a, b, kind in expected(0)] # the name told it
        self.expect("tables missing", work_of(self.build, self.store) == {0: want}, "other work than was made")

    def damaged(self):
        whole = make(self.folder / "whole.sqlite", 1, steps=4000).read_bytes()
        bad = self.folder / "bad.sqlite"
        middle = len(whole) // 2 // 4096 * 4096
        bad.write_bytes(whole[:middle] + b"\xff" * 8192 + whole[middle + 8192:])
        said = self.run_merge(1, bad)
        self.expect("a damaged file", "kept what could be read" in said, said)
        self.expect("a damaged file", sum(map(len, work_of(self.build, self.store).values())) > 100, "too little was kept")
        other = self.folder / "other.sqlite"
        db = sqlite3.connect(other)
        db.execute("CREATE TABLE notes (text)")
        db.commit()
        db.close()
        said = self.run_merge(1, other)
        self.expect("another SQLite file", "other.sqlite: is an SQLite file without the tables of Nsight Systems" in said, said)
        mixed = self.folder / "mixed"
        mixed.mkdir()
        make(mixed / "rank3.sqlite", 1)
        other.rename(mixed / "other.sqlite")
        said = self.run_merge(0, mixed)
        self.expect("another one in a folder", "only exports of Nsight Systems are read" in said, said)

    def packed(self):
        """They would have to be unpacked to a file first: that is left to the user, and said."""
        text = make(self.folder / "whole.sqlite", 1).read_bytes()
        packed = self.folder / "whole.sqlite.gz"
        packed.write_bytes(gzip.compress(text))
        said = self.run_merge(1, packed)
        self.expect("a packed export", "a compressed SQLite export: unpack it first" in said and "build" not in said, said)

    def public(self):
        """Each row of the public files, by a query of Python's own."""
        for packed in sorted((SHARED / "data" / "nsight_sqlite").glob("*.sqlite.gz")):
            path = self.folder / packed.stem
            path.write_bytes(gzip.decompress(packed.read_bytes()))
            self.run_merge(0, path)
            db, want = sqlite3.connect(path), []
            epoch = db.execute("SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME").fetchone()[0]
            tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master")]
            for table, kind in (("KERNEL", "compute"), ("MEMCPY", "copy"), ("MEMSET", "copy")):
                if f"CUPTI_ACTIVITY_KIND_{table}" in tables:
                    want += [(epoch + a, epoch + b, kind) for a, b in db.execute(f"SELECT start, end FROM CUPTI_ACTIVITY_KIND_{table}")]
            db.close()
            self.expect(packed.name, work_of(self.build, self.store) == {0: sorted(want)}, f"not its {len(want)} works")
            print(f"{packed.name}: {len(want)} works")


def main():
    build = pathlib.Path(sys.argv[1])
    if not (build / "bin" / "ranktrace-merge").exists():
        print("skipped: this build has no ranktrace-merge (no simdjson)")
        return 77
    if "RKT_WITH_SQLITE:STRING=OFF" in (build / "CMakeCache.txt").read_text() or \
            "SQLite3_INCLUDE_DIR:PATH=SQLite3_INCLUDE_DIR-NOTFOUND" in (build / "CMakeCache.txt").read_text():
        print("skipped: this build has no SQLite")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        check = Check(build, pathlib.Path(folder))
        check.made_up()
        check.parts_missing()
        check.damaged()
        check.packed()
        if SHARED.is_dir():
            check.public()
        else:
            print(f"no {SHARED}: the public files were not looked at")
    print("\n".join(check.faults))
    return 1 if check.faults else 0


if __name__ == "__main__":
    sys.exit(main())
