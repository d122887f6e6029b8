# SPDX-License-Identifier: Apache-2.0
"""A job of `ranktrace simulate` with its truth, and the report on it; simulate_truth.py and straggler_truth.py use it."""
import json
import subprocess


class SimulatedJob:
    """One at a time: the next takes the place of the one before."""

    def __init__(self, ranktrace, folder):
        self.ranktrace, self.timeline, self.truth = ranktrace, folder / "run.rkt", folder / "truth.json"

    def simulate(self, settings, faults=()):
        """The truth."""
        lines = [*settings, *(f"fault = {fault}" for fault in faults)]
        options = [word for line in lines for word in ("--set", line)]
        subprocess.run([self.ranktrace, "simulate", "-f", "-o", self.timeline, "--truth", self.truth, *options],
                       check=True, stdout=subprocess.DEVNULL)
        return json.loads(self.truth.read_text(encoding="utf-8"))

    def report(self):
        done = subprocess.run([self.ranktrace, "report", "--format", "json", self.timeline], check=True,
                              stdout=subprocess.PIPE)
        return json.loads(done.stdout)
