#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Comparisons of made-up jobs whose every number is known.

    compare_truth.py BUILD_FOLDER

A change of known size, weak and strong series, an outlook that larger runs are held against, and what is
refused. The jobs are the same in each run of this test: no number in it depends on the machine.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXTRA_NS = 4_000_000
FAULT = "fault = extra-work rank=2 amount=4ms"

failures = []


def check(what, holds):
    if not holds:
        failures.append(what)


def near(got, want, share):
    return abs(got - want) <= share * abs(want)


def median(values):
    return sorted(values)[(len(values) - 1) // 2]


class Runs:
    """Made-up jobs in a folder, and what their truth says of a step."""

    def __init__(self, ranktrace, folder):
        self.ranktrace, self.folder = ranktrace, folder

    def make(self, name, *settings):
        timeline, truth = self.folder / f"{name}.rkt", self.folder / f"{name}.truth"
        options = [word for line in settings for word in ("--set", line)]
        subprocess.run([self.ranktrace, "simulate", "-o", timeline, "--truth", truth, *options], check=True,
                       stdout=subprocess.DEVNULL)
        steps = json.loads(truth.read_text(encoding="utf-8"))["steps"]
        # the first has no end before it
        return timeline, median([max(rank["window_ns"] for rank in step["ranks"]) for step in steps[1:]])

    def report(self, timeline):
        path = timeline.with_suffix(".json")
        subprocess.run([self.ranktrace, "report", "--format", "json", "-o", path, timeline], check=True)
        return path

    def compare(self, *words):
        done = subprocess.run([self.ranktrace, "compare", "--format", "json", *words], check=True,
                              stdout=subprocess.PIPE)
        return json.loads(done.stdout)

    def fails(self, what, code, said, *words):
        done = subprocess.run([self.ranktrace, "compare", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, check=False)
        check(f"{what}: code {done.returncode}, not {code}", done.returncode == code)
        check(f"{what}: '{done.stderr}' lacks '{said}'", said in done.stderr)
        check(f"{what}: not one line: {done.stderr}", len(done.stderr.splitlines()) == 1)


def check_change(runs):
    """One rank has 4 ms more to do in each step: the step is longer by that, and it is said why."""
    before, before_ns = runs.make("before")
    after, after_ns = runs.make("after", FAULT)
    result = runs.compare(before, after)
    change = result["comparisons"][0]
    step = change["metrics"]["step_ns"]
    check("no series", result["series"] is None)
    check(f"before: {step['before']}, truth {before_ns}", near(step["before"], before_ns, 0.002))
    check(f"after: {step['after']}, truth {after_ns}", near(step["after"], after_ns, 0.002))
    check(f"the change: {step['change']}", near(step["change"], EXTRA_NS, 0.05))
    check(f"the interval: {step}", step["low"] <= after_ns - before_ns <= step["high"] and step["is_real"])
    extra = change["kernels"][0]
    others = [kernel for kernel in change["kernels"] if kernel["before"] and kernel["kind"] == "compute"]
    if extra["kind"] == "comm":  # the others wait for rank 2
        extra = change["kernels"][1]
    check(f"the new kernel: {extra}",
          extra["before"] is None and near(extra["after"]["step_ns"], EXTRA_NS / 4, 0.05))
    check("other kernels", others and all(abs(kernel["one_change_ns"]) <= 1000 for kernel in others))
    check(f"its verdict: {extra}", not extra["is_real"] and extra["low_ns"] is None)
    check(f"others' verdicts: {others}", not any(kernel["is_real"] for kernel in others) and
          all(kernel["low_ns"] <= kernel["median_change_ns"] <= kernel["high_ns"] for kernel in others))
    check("kernels that were judged", change["judged_kernel_count"] == len(others) == 3)
    check("AllReduce", all(not row["is_real"] and row["change_ns"] == 0 for row in change["collectives"]))
    check(f"the straggler: {result['runs'][1]}", result["runs"][1]["straggler_rank"] == 2)
    check("its loss", change["metrics"]["straggler_loss"]["is_real"])
    return before, after


def check_kernels(runs, before):
    """Backward's kernels take 100 us more a step: they changed, by that, and no others. What only varies did not."""
    slower, _ = runs.make("slower", "fault = slow-compute amount=100us")
    varied, _ = runs.make("varied", "step-jitter-ppm = 2000")
    for run, real in ((slower, ["backward_gemm"]), (varied, [])):
        kernels = runs.compare(before, run)["comparisons"][0]["kernels"]
        check(f"kernels that changed: {kernels}", [k["name"] for k in kernels if k["is_real"]] == real)
        for kernel in kernels:
            if kernel["is_real"]:
                check(f"by how much: {kernel}", kernel["low_ns"] <= 100_000 <= kernel["high_ns"] and
                      near(kernel["median_change_ns"], 100_000, 0.15))


def check_same(runs, before, after):
    """A run is no different from itself, nor a timeline from its report."""
    same = runs.compare(before, before)["comparisons"][0]["metrics"]
    check("a run against itself", not any(metric["is_real"] or metric["change"] for metric in same.values()))
    of_timelines = runs.compare(before, after)
    of_reports = runs.compare(runs.report(before), runs.report(after))
    check("reports", of_reports["comparisons"][0]["metrics"] == of_timelines["comparisons"][0]["metrics"])
    three = runs.compare(before, after, before)
    check("three runs", [row["after"] for row in three["comparisons"]] == [str(after), str(before)])


def check_series(runs, scaling, settings_of, sizes, larger):
    """Efficiencies as the truth has them; larger runs are as far from the fit as it says."""
    made = {n: runs.make(f"{scaling}{n}", f"ranks = {n}", *settings_of(n)) for n in sizes + larger}
    series = runs.compare(*[made[n][0] for n in reversed(sizes)])["series"]
    check(f"{scaling}: {series['scaling']}", series["scaling"] == scaling and not series["is_told"])
    base, base_ns = sizes[0], made[sizes[0]][1]
    for row, n in zip(series["rows"], sizes):
        truth = base_ns / made[n][1] * (1 if scaling == "weak" else base / n)
        what = f"{scaling}, {n} ranks: {row['efficiency']}, truth {truth}"
        check(what, row["rank_count"] == n and near(row["efficiency"]["value"], truth, 0.003))
        check(what, row["efficiency"]["low"] <= row["efficiency"]["value"] <= row["efficiency"]["high"])
        check(f"{what}: speedup", near(row["speedup"]["value"], row["efficiency"]["value"] * n / base, 1e-4))
        product = row["balance"] * row["serial"] * row["transfer"]
        check(f"{what}: factors {product}", near(product, row["parallel"], 0.02))
    fit = series["fit"]
    # the bandwidth of the scenario is 20 GB/s; its constant time of a collective is in neither model
    check(f"{scaling}: {fit}", fit["model"] == "ring" and near(fit["beta_ns_per_byte"], 0.05, 0.02))
    for outlook, n in zip(series["outlook"], larger):
        check(f"{scaling}: {outlook}, truth {made[n][1]}",
              outlook["rank_count"] == n and outlook["step_low_ns"] * 0.999 <= made[n][1] <= outlook["step_high_ns"])
    return [made[n][0] for n in sizes]


def check_refusals(runs, before, after, series):
    text = runs.report(before).read_text(encoding="utf-8")
    cut, other, bare = (runs.folder / name for name in ("cut.json", "other.json", "bare.json"))
    cut.write_text(text[:len(text) // 2], encoding="utf-8")
    other.write_text('{"traceEvents": []}', encoding="utf-8")
    report = json.loads(text)
    for rank in report["ranks"]:
        rank["step_source"] = "window"
    bare.write_text(json.dumps(report), encoding="utf-8")
    runs.fails("one run", 2, "give two runs or more", before)
    runs.fails("both kinds", 2, "not both", "--weak", "--strong", before, after)
    runs.fails("format", 2, "unknown format 'xml'", "--format", "xml", before, after)
    runs.fails("condition", 2, "no number comparisons[0].nothing", "-o", "/dev/null", "--fail-if",
               "comparisons[0].nothing > 1", before, after)
    runs.fails("no file", 1, "none.rkt", before, runs.folder / "none.rkt")
    runs.fails("no rank", 2, "after.rkt: option '--ranks': there is no rank 7", "--ranks", "0,7", series[3], after)
    runs.fails("cut", 1, "cut.json: byte", before, cut)
    runs.fails("no report", 1, "no report of 'ranktrace report'", before, other)
    runs.fails("a limit", 3, "change_share is 0.1", "--fail-if", "comparisons[0].metrics.step_ns.change_share > 5%",
               before, after)
    runs.fails("a limit of a series", 3, "series.rows[3].efficiency.value is 0.9", "-o", "/dev/null", "--fail-if",
               "series.rows[*].efficiency.value < 92%", *series)
    step = runs.compare(before, bare)["comparisons"][0]["metrics"]["step_ns"]
    check(f"no steps: {step}", step["after"] is None and step["change"] is None
          and step["why_not"] == "no steps were found")
    page = subprocess.run([runs.ranktrace, "compare", before, bare], stdout=subprocess.PIPE, text=True, check=True)
    check(f"no steps on the page: {page.stdout}", "  No change of the step time: no steps were found\n" in page.stdout
          and "bare.json: no steps were found" in page.stdout)
    told = runs.compare("--strong", *series)["series"]
    check("told", told["scaling"] == "strong" and told["is_told"])
    twice = runs.compare("--weak", before, after)["series"]
    check(f"twice: {twice['cautions']}", len(twice["rows"]) == 2 and "another has, too" in twice["cautions"][0])


def check_text(runs, before, after, series):
    for words, said in (((before, after), (r"step time +\S+ ms +\S+ ms +\+\S+ ms +\+14\.\d% .* worse\n", r"KERNELS")),
                        (series, (r"SCALING: weak;", r"\n +8 .* \(\S+-\S+\) .*%", r"OUTLOOK, a model"))):
        done = subprocess.run([runs.ranktrace, "compare", *words], stdout=subprocess.PIPE, text=True, check=True)
        for pattern in said:
            check(f"the page lacks {pattern}:\n{done.stdout}", re.search(pattern, done.stdout))
        check("the page's lines", all(line == line.rstrip() and len(line) <= 100 for line in done.stdout.splitlines()))


def keys_of(value):
    if isinstance(value, list):
        return set().union(*map(keys_of, value))
    return set(value).union(*map(keys_of, value.values())) if isinstance(value, dict) else set()


def check_schema(runs, before, after, series):
    text = (ROOT / "analysis" / "doc" / "report-schema.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"`([A-Za-z_]+)`", text))
    for words in ((before, after), series):
        missing = sorted(keys_of(runs.compare(*words)) - documented)
        check(f"not in report-schema.md: {missing}", not missing)


def main():
    ranktrace = pathlib.Path(sys.argv[1]) / "bin" / "ranktrace"
    with tempfile.TemporaryDirectory() as name:
        runs = Runs(ranktrace, pathlib.Path(name))
        before, after = check_change(runs)
        check_same(runs, before, after)
        check_kernels(runs, before)
        weak = check_series(runs, "weak", lambda n: [], [1, 2, 4, 8], [16, 32])
        check_series(runs, "strong", lambda n: [f"kernel = {3200 // n}us"], [2, 4, 8], [16, 32])
        check_refusals(runs, before, after, weak)
        check_text(runs, before, after, weak)
        check_schema(runs, before, after, weak)
    for failure in failures:
        print("FAIL:", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
