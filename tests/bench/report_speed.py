#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast traces become a report: events per second of one core, and times what HTA takes. One logfmt line each.

    report_speed.py BUILD_FOLDER [TRACE.json[.gz]]

1. 8 ranks of 216,000 simulated events from a store: the report by one process, in CPU time. At least 5 million
   events per second are asked for.
2. The same by a process per core, in wall time: at most 0.5 s on 2 cores is asked for. Nothing else may run beside it.
   Then 5 of the 763 steps, which the marks and the spans of batches make cheap: CPU time as a part of the whole's.
3. 8 ranks of a JSON trace (TRACE, else made up), each with it as its own: merge and report, in CPU time.
4. The same work by Holistic Trace Analysis, as it was measured on the traces of its own tests: it loads 27,000 to 34,000
   events per CPU second, then takes 2 to 3 s for each analysis of 1.7 million events. Counted for it is the
   least: 34,000, and one analysis of 2 s for every 1.7 million, of the many that a report holds.
   times_hta_json is that over merge and report; times_hta_store over the report alone, as HTA
   keeps nothing that it could start from. At least 50 is asked for.

Each number is the best of some rounds, all of them load, analysis and text of one program's whole run.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from bench_import import RANKS, run

STEPS = 763  # 216,000 events of a rank
HTA_LOAD_EVENTS_PER_S = 34000
HTA_ANALYSIS_S_PER_EVENT = 2 / 1.7e6


def count_events(report, store):
    said = subprocess.run([report, "--format", "json", store], capture_output=True, check=True, text=True)
    return json.loads(said.stdout)["run"]["event_count"]


def bench_store(report, store, name):
    """CPU seconds of a report by one process; then by one per core."""
    events = count_events(report, store)
    _, cpu_s, _ = run(report, "--jobs", "1", store)
    print(f"bench=report_speed input={name} ranks={RANKS} events={events} jobs=1 cpu_s={cpu_s:.3f} "
          f"cpu_ns_per_event={cpu_s * 1e9 / events:.0f} mevents_per_cpu_s={events / cpu_s / 1e6:.2f}", flush=True)
    jobs = len(os.sched_getaffinity(0))
    wall_s, all_cpu_s, _ = run(report, "--jobs", jobs, store)
    print(f"bench=report_speed input={name} ranks={RANKS} events={events} jobs={jobs} wall_s={wall_s:.3f} "
          f"cpu_s={all_cpu_s:.3f} load={os.getloadavg()[0]:.1f}", flush=True)
    return events, cpu_s


def bench_part(report, store, whole_cpu_s):
    first = STEPS // 2
    _, cpu_s, peak_kib = run(report, "--jobs", "1", "--steps", f"{first}:{first + 5}", store)
    print(f"bench=report_part steps=5 of={STEPS} cpu_s={cpu_s:.3f} part_of_whole={cpu_s / whole_cpu_s:.3f} "
          f"peak_mib={peak_kib / 1024:.0f}", flush=True)


def main():
    build = pathlib.Path(sys.argv[1])
    simulate, merge, report = (build / "bin" / f"ranktrace-{name}" for name in ("simulate", "merge", "report"))
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        store = folder / "simulated.rkt"
        subprocess.run([simulate, "-o", store, "-s", f"ranks={RANKS}", "-s", f"steps={STEPS}", "-s",
                        "fault = slow-compute rank=2 amount=3ms"], stdout=subprocess.DEVNULL, check=True)
        _, whole_cpu_s = bench_store(report, store, "simulated")
        bench_part(report, store, whole_cpu_s)

        maker = pathlib.Path(__file__).with_name("bench_import.py")
        subprocess.run([sys.executable, maker, "--make", folder, *sys.argv[2:3]], check=True)
        store = folder / "imported.rkt"
        _, merge_s, _ = run(merge, "-q", "-f", "-o", store, folder / "ranks")
        events, report_s = bench_store(report, store, "json")
        hta_s = events / HTA_LOAD_EVENTS_PER_S + events * HTA_ANALYSIS_S_PER_EVENT
        print(f"bench=report_speed input=json merge_cpu_s={merge_s:.3f} report_cpu_s={report_s:.3f} "
              f"hta_least_cpu_s={hta_s:.1f} times_hta_json={hta_s / (merge_s + report_s):.0f} "
              f"times_hta_store={hta_s / report_s:.0f}")


if __name__ == "__main__":
    main()
