#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sums up JUnit files of ctest: what a preset leaves out, each skipped test with its reason, then
one closing line."""
import json
import pathlib
import sys
import xml.etree.ElementTree as ET


def reason(case):
    """The last line that the test printed: tests say there why they skip."""
    out = case.findtext("system-out") or ""
    lines = [line.strip() for line in out.splitlines() if line.strip()]
    return lines[-1] if lines else "it gave no reason"


def left_out():
    """By preset: the labels of tests that it does not run, and why."""
    presets = json.loads((pathlib.Path(__file__).parent.parent / "CMakePresets.json").read_text())
    filters = {preset["name"]: preset for preset in presets["testPresets"]}
    return {name: f"tests of {preset['filter']['exclude']['label'].replace('|', ', ')}: "
                  f"{preset['description']}"
            for name, preset in filters.items() if "exclude" in preset.get("filter", {})}


def main():
    passed = failed = skipped = 0
    without = left_out()
    for path in sys.argv[1:]:
        preset = pathlib.Path(path).stem
        if preset in without:
            print(f"left out: {preset}: {without[preset]}")
        for case in ET.parse(path).getroot().iter("testcase"):
            if case.find("skipped") is not None or case.get("status") in {"notrun", "disabled"}:
                skipped += 1
                print(f"skipped: {preset}: {case.get('name')}: {reason(case)}")
            elif case.find("failure") is not None or case.get("status") == "fail":
                failed += 1
                print(f"failed: {preset}: {case.get('name')}")
            else:
                passed += 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")


if __name__ == "__main__":
    main()
