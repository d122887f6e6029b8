# SPDX-License-Identifier: Apache-2.0
"""The critical path of a made-up job, from what its ranks did and when and from when its collectives were
(`ranktrace simulate --works --truth`): metrics.md, "Critical path"; simulate_truth.py uses it.

    rank 0    |==1000==|P c1|                J c1|=50=|E      back from the latest end of a step: own work to where
    rank 1    |=====1400=====|P c1|          J c1|=50=|E      the lane was held up, the transfer that did, own work
    c1                       |------300------|                of the rank that came to it last
"""
import bisect
import collections

from truth_tables import cause_of, host_calls, pieces_of_gap, windows_of

LANE_STREAM = 7
JOIN_NS = 20_000
CALL_NS = 1000  # a call that waits returns so long after
CAUSES = ("compute", "input", "host", "sync", "alloc", "copy", "launch", "other")

Transfer = collections.namedtuple("Transfer", "start end last_rank second_by")  # second_by: later than all others by so long
Hold = collections.namedtuple("Hold", "end transfer")  # of a lane, by a collective
Part = collections.namedtuple("Part", "start end cause")  # own work
Piece = collections.namedtuple("Piece", "start end rank cause second_by")  # cause None: a transfer, with its second_by


class Lane:
    """What one rank did one thing after the other: own work, in parts, and where it was held up."""

    def __init__(self, rank, met):
        """met: the rank's collectives, (start of its kernel, transfer)."""
        self.works = [work for work in rank.works if work.stream == LANE_STREAM]
        self.parts, self.holds = [], []
        self.ends = {transfer.end: transfer for _, transfer in met}
        self.met = sorted((transfer.end, start, transfer) for start, transfer in met)
        calls = host_calls(rank)
        waits = {call.end - CALL_NS for call in calls if cause_of(call) == "sync"}
        at = self.works[0].start
        for work in self.works:
            if work.start > at:
                self.add_gap(at, work, calls, waits)
            self.parts.append(Part(work.start, work.end, "copy" if work.what == "copy" else "compute"))
            at = work.end
        self.part_ends = [part.end for part in self.parts]
        self.hold_ends = [hold.end for hold in self.holds]

    def add_gap(self, at, work, calls, waits):
        """What ended as the work began, which had been launched (metrics.md: a join), or as a call of the host's ended its
        wait, held the lane up."""
        first = bisect.bisect_right(self.met, (at, float("inf")))
        for end, start, transfer in self.met[first:]:
            if end > work.start:
                break
            if (work.call_start < end and work.start - end < JOIN_NS) or end in waits:
                self.add_own(at, max(at, start), work, calls)
                self.holds.append(Hold(end, transfer))
                at = end
        self.add_own(at, work.start, work, calls)

    def add_own(self, start, end, work, calls):
        for piece in pieces_of_gap(start, work, calls) if end > start else []:
            if piece.start < end:
                cause = piece.cause if piece.cause in CAUSES else "other"
                self.parts.append(Part(piece.start, min(piece.end, end), cause))

    def held_until(self, time):
        """The last hold that had ended by then."""
        at = bisect.bisect_right(self.hold_ends, time) - 1
        return self.holds[at] if at >= 0 else None

    def own(self, start, end):
        """Parts of own work in [start, end)."""
        for part in self.parts[bisect.bisect_right(self.part_ends, start):]:
            if part.start >= end:
                return
            yield Part(max(part.start, start), min(part.end, end), part.cause)


def make_lanes(works, truth):
    met = collections.defaultdict(list)
    for known in truth["collectives"]:
        start = known["end_ns"] - known["transfer_ns"]
        last = known["wait_ns"].index(0)
        second_by = min(known["wait_ns"][:last] + known["wait_ns"][last + 1:], default=float("inf"))
        transfer = Transfer(start, known["end_ns"], known["ranks"][last], second_by)
        for rank, wait_ns in zip(known["ranks"], known["wait_ns"]):
            met[rank].append((start - wait_ns, transfer))
    return [Lane(rank, met[number]) for number, rank in enumerate(works)]


def walk(lanes, rank, time, since):
    """Pieces from there back to `since`, the last first."""
    while time > since:
        lane = lanes[rank]
        transfer = lane.ends.get(time)
        if transfer is None:
            hold = lane.held_until(time)
            begin = hold.end if hold else float("-inf")
            for part in reversed(list(lane.own(max(begin, since), time))):
                yield Piece(part.start, part.end, rank, part.cause, None)
            if begin <= since:
                return
            time, transfer = begin, hold.transfer
        yield Piece(max(transfer.start, since), time, rank, None, transfer.second_by)
        rank, time = transfer.last_rank, transfer.start


class Path:
    """That of all steps: sums, the pieces of each step, and what another clock may make of it."""

    def __init__(self, works, truth, steps, near_ns):
        """near_ns: clocks cannot tell who of two was last by less; what lies before then, in the step, is of either."""
        self.total_ns = self.transfer_ns = self.untold_ns = 0
        self.own_ns, self.rank_ns, self.pieces = dict.fromkeys(CAUSES, 0), [0] * len(works), {}
        windows, lanes = [windows_of(rank) for rank in works], make_lanes(works, truth)
        for step in steps:
            ends = [of_rank[step][1] for of_rank in windows]
            since, end = max(of_rank[step][0] for of_rank in windows), max(ends)
            pieces = list(walk(lanes, ends.index(end), end, since))
            self.add(pieces, near_ns)
            self.pieces[step] = [(piece.start - since, piece.end - since, piece) for piece in reversed(pieces)]

    def add(self, pieces, near_ns):
        is_told = True
        for piece in pieces:
            length = piece.end - piece.start
            self.total_ns += length
            self.untold_ns += 0 if is_told else length
            if piece.cause:
                self.own_ns[piece.cause] += length
                self.rank_ns[piece.rank] += length
            else:
                self.transfer_ns += length
                is_told = is_told and piece.second_by > near_ns

    def differs_ns(self, step, got):
        """For how long the report's pieces of that step run elsewhere: through another rank, or a transfer."""
        def owner(piece):
            return piece.rank if piece.cause else None
        same = sum(max(0, min(end, other["end_ns"]) - max(start, other["start_ns"])) for start, end, piece in self.pieces[step]
                   for other in got if owner(piece) == (other["rank"] if other["cause"] else None))
        return self.pieces[step][-1][1] - same
