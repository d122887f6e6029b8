# SPDX-License-Identifier: Apache-2.0
"""A job of `ranktrace simulate` with its truth, and the report on it; simulate_truth.py and straggler_truth.py use it."""
import json
import subprocess


class SimulatedJob:
    """One at a time: the next takes the place of the one before."""

    def __init__(self, ranktrace, folder):
        self.ranktrace, self.timeline, self.truth = ranktrace, folder / "run.rkt", folder / "truth.json"
        self.works = folder / "works.csv"

    def simulate(self, settings, faults=(), has_works=False):
        """The truth. has_works: what ranks did and when is in self.works, too."""
        lines = [*settings, *(f"fault = {fault}" for fault in faults)]
        options = [word for line in lines for word in ("--set", line)]
        options += ["--works", self.works] if has_works else []
        subprocess.run([self.ranktrace, "simulate", "-f", "-o", self.timeline, "--truth", self.truth, *options],
                       check=True, stdout=subprocess.DEVNULL)
        return json.loads(self.truth.read_text(encoding="utf-8"))

    def report(self, *options):
        return json.loads(self.report_text("--format", "json", *options))

    def report_text(self, *options):
        return subprocess.run([self.ranktrace, "report", *options, self.timeline], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
