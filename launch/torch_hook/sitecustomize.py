# SPDX-License-Identifier: Apache-2.0
"""Python runs this file at start because `ranktrace run` put its folder first on PYTHONPATH.

It arms the torch hook and then runs the sitecustomize that it stands in front of, if any. A
fault in here must never reach the program: everything is guarded.
"""
import importlib.machinery
import importlib.util
import os
import sys


def _run_the_one_behind():
    here = os.path.dirname(os.path.abspath(__file__))
    rest = [p for p in sys.path if os.path.abspath(p or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


if os.environ.get("RANKTRACE_SOCKET") and os.environ.get("RANKTRACE_TORCH_HOOK", "1") != "0":
    try:
        import ranktrace_torch

        ranktrace_torch.arm()
    except Exception as error:  # the program goes on without marks
        sys.stderr.write(f'level=warn comp=torch_hook msg="hook is off" error="{error}"\n')

_run_the_one_behind()
