#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which folder may include what: the direction of common/doc/architecture.md, held.

  check_includes.py [ROOT]     prints one line per breach; exit code 1 if there is any
"""
import pathlib
import re
import sys

# A folder of the product -> the folders whose headers it may include.
ALLOWED = {
    "common": {"common"},
    "agent": {"agent", "common"},
    "aggregator": {"aggregator", "common"},
    "analysis": {"analysis", "common"},
    "launch": {"launch", "agent", "aggregator", "analysis", "common"},
    "tests": {"tests", "launch", "agent", "aggregator", "analysis", "common"},
}

# Within agent, capture lives in the training process and sidecar outside it.
FORBIDDEN = [("agent/capture/", "agent/sidecar/"), ("agent/sidecar/", "agent/capture/")]

# A foreign header -> the only product files that may include it.
OWNERS = {
    "mpi.h": r"common/transport_mpi\.c",
    "pmix.h": r"launch/leave_main\.c",
    "msgpack.h": r"common/(codec|descriptor|msgpack)[a-z_]*\.[ch]|common/store_[a-z_]*\.[ch]",
    "zstd.h": r"common/pack\.c|analysis/import/text_source\.c",
    "zlib.h": r"common/frame\.c|analysis/import/[a-z_]*\.c",
    "simdjson.h": r"analysis/import/[a-z_]*\.cc",
    "cupti.h": r"agent/capture/cupti_[a-z_]*\.[ch]|agent/capture/cuda_api/.*",
    "cuda.h": r"agent/capture/cu[a-z_]*\.[ch]|agent/capture/cuda_api/.*",
    "nccl.h": r"agent/capture/nccl_api/.*",
    "nvToolsExt.h": r"agent/capture/nvtx_api/.*",
    "nvml.h": r"agent/sidecar/nvml_api/.*",
    "sqlite3.h": r"analysis/(import|export)/[a-z_]*\.c",
}

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')


def breaches(root, path):
    relative = path.relative_to(root).as_posix()
    folder = relative.split("/")[0]
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        header = match.group(1)
        target = header.split("/")[0]
        where = f"{relative}:{number}"
        if "/" in header and target in ALLOWED and target not in ALLOWED[folder]:
            yield f"{where}: {folder} may not include {header}: it may use {sorted(ALLOWED[folder])}"
        for source, goal in FORBIDDEN:
            if relative.startswith(source) and header.startswith(goal):
                yield f"{where}: {source} may not include {header}: they are different processes"
        owner = OWNERS.get(header)
        if owner and folder != "tests" and not re.fullmatch(owner, relative):
            yield f"{where}: only {owner} may include {header}"
        if header.endswith(".c"):
            yield f"{where}: a source file is included: {header}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    found = []
    files = 0
    for folder in ALLOWED:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in {".c", ".h", ".cc"} and path.is_file():
                files += 1
                found.extend(breaches(root, path))
    if files == 0:
        sys.exit(f"{root}: no source files found")
    print("\n".join(found) if found else f"{files} files: every include goes the right way")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
