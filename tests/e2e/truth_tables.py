# SPDX-License-Identifier: Apache-2.0
"""Key tables as they have to be, counted by brute force over what the ranks of a made-up job did and when
(`ranktrace simulate --works`); simulate_truth.py uses it. The formulas are those of metrics.md, "Key tables" and
"Idle"; nothing here comes from the records that the report reads.
"""
import bisect
import collections
import csv
import itertools

SHORT_NS = 3000
DEVICE_PACE_NS = 2000
BLOCKING = ("cudaStreamSynchronize",)

Work = collections.namedtuple("Work", "step what name phase stream start end call_start call_end bytes shape")
Call = collections.namedtuple("Call", "step name start end")  # of the host alone; input: its range
Operator = collections.namedtuple("Operator", "step name phase start end inputs")
Piece = collections.namedtuple("Piece", "start end cause call kind")  # of idle time; kind: idle or tail, of a call that waits


class RankWorks:
    """What one rank did, in order of time."""

    def __init__(self):
        self.works, self.calls, self.operators = [], [], []
        self.memory = []  # (time, reserved, allocated), each from then on

    def add(self, row):
        times = [int(row[key] or 0) for key in ("start_ns", "end_ns", "call_start_ns", "call_end_ns", "bytes", "shape")]
        if row["what"] == "operator":
            self.operators.append(Operator(int(row["step"]), row["name"], row["phase"], *times[:2], times[-1]))
        elif row["what"] == "memory":
            if row["name"] == "reserved memory":
                self.memory.append([times[0], times[4], None])
            else:
                self.memory[-1][2] = times[4]
        elif row["stream"]:
            self.works.append(Work(int(row["step"]), row["what"], row["name"], row["phase"], int(row["stream"]), *times))
        else:
            self.calls.append(Call(int(row["step"]), row["name"] or "input", *times[:2]))


def read_works(path):
    """By rank."""
    ranks = collections.defaultdict(RankWorks)
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            ranks[int(row["rank"])].add(row)
    for rank in ranks.values():
        rank.works.sort(key=lambda work: (work.start, work.end))
    return [ranks[number] for number in sorted(ranks)]


def windows_of(rank):
    """By step: from the latest end of compute or communication up to the step before to that of the step; the first begins
    with the step itself, which begins with the input, and no earlier than work does."""
    ends = {}
    for work in rank.works:
        if work.what != "copy":
            ends[work.step] = max(ends.get(work.step, 0), work.end)
    at, windows = max(min(call.start for call in rank.calls if call.name == "input"), rank.works[0].start), {}
    for step in sorted(ends):
        windows[step] = (at, max(at, ends[step]))
        at = windows[step][1]
    return windows


# ---- idle time ----

def cause_of(call):
    return {"input": "input", "cudaMalloc": "alloc"}.get(call.name, "sync")


def host_calls(rank):
    """What the host did but launch and go on; a copy that it waited for is a call that waits."""
    waited = [Call(work.step, "cudaMemcpyAsync", work.call_start, work.call_end) for work in rank.works
              if work.what == "copy" and work.call_end >= work.end]
    return sorted(rank.calls + waited, key=lambda call: call.start)


def pieces_before_launch(start, end, calls):
    """[start, end) in which the next launch has not begun: by what the host did, the tail of a wait after it."""
    pieces, at, wait, lead = [], start, None, 0

    def add_rest(until):
        nonlocal at, lead
        tail = min(until - at, lead)
        if tail > 0:
            pieces.append(Piece(at, at + tail, "sync", wait, "tail"))
            lead -= tail
        if until > at + max(tail, 0):
            pieces.append(Piece(at + max(tail, 0), until, "host", None, None))
        at = until

    for call in calls:
        first, last = max(call.start, start), min(call.end, end)
        if last <= first:
            continue
        add_rest(first)
        cause = cause_of(call)
        pieces.append(Piece(first, last, cause, call if cause == "sync" else None, "idle" if cause == "sync" else None))
        at = last
        if cause == "sync":
            wait, lead = call, max(start - call.start, 0)
    add_rest(end)
    return pieces


def pieces_of_gap(start, work, calls):
    """The gap from start to the begin of `work`, in pieces of one cause each."""
    called = min(max(work.call_start, start), work.start)
    launched = min(max(work.call_end, called), work.start)
    is_pace = work.call_end <= start and work.start - start < DEVICE_PACE_NS
    pieces = pieces_before_launch(start, called, calls)
    pieces.append(Piece(called, launched, "launch", None, None))
    pieces.append(Piece(launched, work.start, "device" if is_pace else "dependency", None, None))
    return [piece for piece in pieces if piece.end > piece.start]


def idle_pieces(works, calls):
    """All gaps between works that are in order of time."""
    ends, pieces, busy_until = [call.end for call in calls], [], works[0].end if works else 0
    for work in works:
        if work.start > busy_until:
            near = calls[bisect.bisect_right(ends, busy_until):bisect.bisect_left(calls, work.start, key=lambda c: c.start)]
            pieces += pieces_of_gap(busy_until, work, near)
        busy_until = max(busy_until, work.end)
    return pieces


# ---- tables of one rank ----

MOST = ("max_ns", "depth_max", "step_count", "shape_count", "shape_changes")  # the others are added


class Table(dict):
    """Rows of numbers by key."""

    def add(self, key, **values):
        row = self.setdefault(key, {})
        for name, value in values.items():
            choose = min if name == "min_ns" else max if name in MOST else None
            if name not in row:
                row[name] = value
            else:
                row[name] = choose(row[name], value) if choose else row[name] + value


def add_shapes(table, seen, steps):
    """seen: by key, by step, the shapes that it had; all steps count for how many there are."""
    for key, by_step in seen.items():
        before, changes = None, 0
        for step in sorted(by_step):
            changes += step in steps and before is not None and by_step[step] != before
            before = by_step[step]
        if key in table:
            table.add(key, step_count=len(steps & set(by_step)), shape_count=len(set.union(*by_step.values())),
                      shape_changes=changes)


def shapes_by_step(items):
    """(key, step, shape) in lists of sets; 0 is none."""
    seen = collections.defaultdict(lambda: collections.defaultdict(set))
    for key, step, shape in items:
        if shape:
            seen[key][step].add(shape)
    return seen


def kernels(rank, steps):
    table = Table()
    for work in rank.works:
        if work.step in steps and work.what != "copy":
            length = work.end - work.start
            table.add((work.what, work.name), count=1, total_ns=length, min_ns=length, max_ns=length,
                      short_count=int(length <= SHORT_NS), launch_count=1, launch_ns=work.call_end - work.call_start)
    add_shapes(table, shapes_by_step(((work.what, work.name), work.step, work.shape) for work in rank.works), steps)
    return table


def operators(rank, steps):
    """Work, and time of the host, are the innermost operator's that was open on the thread."""
    table = Table()
    for is_backward in (False, True):
        lane = sorted((op for op in rank.operators if (op.phase == "backward") == is_backward),
                      key=lambda op: (op.start, -op.end))
        launches = sorted((work.call_start, work.end - work.start) for work in rank.works
                          if (work.phase == "backward") == is_backward)
        starts = [start for start, _ in launches]
        for number, op in enumerate(lane):
            inside = [other for other in itertools.takewhile(lambda other, op=op: other.start < op.end, lane[number + 1:])]
            children, at = [], op.start
            for other in inside:
                if other.start >= at:
                    children.append(other)
                    at = other.end
            mine = launches[bisect.bisect_left(starts, op.start):bisect.bisect_left(starts, op.end)]
            own = [length for start, length in mine if not any(child.start <= start < child.end for child in children)]
            if op.step in steps:
                table.add(("operator", op.name), count=1, total_ns=op.end - op.start, launch_count=len(own),
                          self_host_ns=op.end - op.start - sum(child.end - child.start for child in children),
                          device_ns=sum(length for _, length in mine), self_device_ns=sum(own))
    add_shapes(table, shapes_by_step((("operator", op.name), op.step, op.inputs) for op in rank.operators), steps)
    return table


def copies(rank, steps):
    """They share the stream of the kernels, and run beside no communication: all of a copy is exposed."""
    table = Table()
    for work in rank.works:
        if work.step in steps and work.what == "copy":
            table.add(("HtoD", f"{work.name} to device", 1 << work.bytes.bit_length() - 1), count=1,
                      total_ns=work.end - work.start, bytes=work.bytes, exposed_ns=work.end - work.start,
                      wait_count=int(work.call_end >= work.end), shared_count=1)
    return table


def launch_name(work):
    return {"copy": "cudaMemcpyAsync", "comm": "cuLaunchKernelEx"}.get(work.what, "cudaLaunchKernel")


def calls(rank, steps, pieces, windows):
    table = Table()
    made = [(work.step, "blocking" if work.what == "copy" and work.call_end >= work.end else "launch", launch_name(work),
             work.call_end - work.call_start) for work in rank.works]
    made += [(call.step, "alloc" if call.name == "cudaMalloc" else "blocking", call.name, call.end - call.start)
             for call in rank.calls if call.name != "input"]
    for step, kind, name, length in made:
        if step in steps:
            table.add((kind, name), count=1, total_ns=length, max_ns=length, idle_ns=0, tail_ns=0)
    for piece in pieces:
        if piece.call and is_within(piece, windows):
            table.add(("blocking", piece.call.name), **{f"{piece.kind}_ns": piece.end - piece.start})
    return table


def streams(rank, steps, window_ns):
    table = Table()
    by_stream = collections.defaultdict(list)
    for work in rank.works:
        by_stream[work.stream].append(work)
    for stream, works in by_stream.items():
        starts, busy_until = [work.start for work in works], float("inf")  # what the first finds is not known
        key = ("main GPU", f"stream {stream}")
        table.add(key, window_ns=window_ns)
        for number, work in enumerate(works, 1):
            length, call, is_kernel = work.end - work.start, work.call_end - work.call_start, work.what != "copy"
            is_short = is_kernel and length <= SHORT_NS
            is_empty = busy_until <= work.call_start
            busy_until = work.end if number == 1 else max(busy_until, work.end)
            if work.step in steps:
                table.add(key, count=1, total_ns=length, short_count=int(is_short), short_ns=is_short * length,
                          short_launch_ns=is_short * call, launch_count=1, launch_ns=call,
                          queued_ns=work.start - work.call_start,
                          depth_max=number - min(number, bisect.bisect_right(starts, work.call_start)),
                          found_empty_count=int(is_empty), found_empty_launch_ns=is_empty * call,
                          blocking_count=int(is_kernel and work.call_end >= work.end))
    return table


def is_within(piece, windows):
    """No window begins inside a gap."""
    at = bisect.bisect_right(windows, (piece.start, float("inf"))) - 1
    return at >= 0 and piece.start < windows[at][1]


def idle(pieces, windows):
    """Neighbours of one cause are one stretch."""
    table, before = Table(), None
    stretches = []
    for piece in pieces:
        if before and before.end == piece.start and before.cause == piece.cause:
            stretches[-1] = before = before._replace(end=piece.end)
        else:
            before = piece
            stretches.append(piece)
    for piece in stretches:
        if is_within(piece, windows):
            table.add(("idle", piece.cause), count=1, total_ns=piece.end - piece.start, max_ns=piece.end - piece.start)
    return table


def tables_of(rank, steps):
    """Over these steps."""
    windows = [window for step, window in sorted(windows_of(rank).items()) if step in steps]
    pieces = idle_pieces(rank.works, host_calls(rank))
    window_ns = sum(end - start for start, end in windows)
    return {"kernels": kernels(rank, steps), "operators": operators(rank, steps), "copies": copies(rank, steps),
            "calls": calls(rank, steps, pieces, windows),
            "streams": streams(rank, steps, window_ns), "idle": idle(pieces, windows)}


def allocator(rank, steps):
    """The most that is reserved, and allocated, the widest gap and when that was first, from the first of these steps on;
    None where nothing is known."""
    windows = windows_of(rank)
    start, end = windows[min(steps)][0], windows[max(steps)][1]
    levels = [(max(at, start), until, reserved, allocated) for (at, reserved, allocated), until in
              zip(rank.memory, [at for at, _, _ in rank.memory[1:]] + [end]) if until > start and at < end]
    if not levels:
        return None
    gap = max(reserved - allocated for _, _, reserved, allocated in levels)
    first = next(at for at, _, reserved, allocated in levels if reserved - allocated == gap)
    return {"reserved_bytes": max(level[2] for level in levels), "allocated_bytes": max(level[3] for level in levels),
            "gap_bytes": gap, "gap_ns": first - start}


# ---- of all ranks ----

def merge(of_ranks):
    """One set of tables, each row with its total by rank (None: has no such row)."""
    merged = {name: Table() for name in of_ranks[0]}
    for position, tables in enumerate(of_ranks):
        for name, table in tables.items():
            for key, row in table.items():
                merged[name].add(key, **row)
                totals = merged[name][key].setdefault("total_ns_by_rank", [None] * len(of_ranks))
                totals[position] = row.get("total_ns", 0)
    for name, table in merged.items():
        derive(name, table)
    return merged


def derive(name, table):
    shared = "self_device_ns" if name == "operators" else "total_ns"
    total = sum(row[shared] for row in table.values())
    for row in table.values():
        if name in ("kernels", "operators"):
            for number in ("step_count", "shape_count", "shape_changes"):
                row.setdefault(number, None)
        if name == "operators":
            row["host_minus_device_ns"] = row["self_host_ns"] - row["self_device_ns"]
        elif name != "streams":
            row["mean_ns"] = (2 * row["total_ns"] + row["count"]) // (2 * row["count"])
        if name in ("kernels", "operators", "idle"):
            row["share"] = row[shared] / total
        if name == "copies":
            row["bytes_per_s"] = row["bytes"] / row["total_ns"] * 1e9
        if name == "streams":
            row["depth_mean"] = row["queued_ns"] / row["window_ns"]


def key_of(name, row):
    return (row["kind"], row["name"], row["from_bytes"]) if name == "copies" else (row["kind"], row["name"])


# ---- their order ----

def label_of(name, key):
    """As the page shows a row, or the begin of it."""
    return " ".join(key[:2]) if name in ("copies", "streams") else key[1]


def labels_in_order(name, table, column):
    """Largest first, ties by kind and name."""
    keys = sorted(table, key=lambda key: (table[key][column] is None, -(table[key][column] or 0), key))
    return [label_of(name, key) for key in keys]
