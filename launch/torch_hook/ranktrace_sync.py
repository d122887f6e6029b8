# SPDX-License-Identifier: Apache-2.0
"""Notes the lines of a PyTorch program whose calls wait for the GPU.

`loss.item()` looks free and stops the program until the GPU has caught up. The calls that do so are
wrapped from outside; each that was made on a tensor of a GPU is told to libranktrace.so with its
duration and with the file and line that made it: of the first frame outside PyTorch.

A wrapper looks at nothing before the call but the tensor's class and device, passes arguments and
exceptions through as they are, and tells only of calls that returned. Subclasses of Tensor are left
alone: to ask one for its device would show up in its __torch_function__. A call costs less than 1 us
more on a GPU tensor, and about 0.1 us on others (tests/bench/sync_lines.py).

RANKTRACE_SYNC_LINES=0 turns it off; "all" notes calls on CPU tensors, too, for tests.
"""
import os
import sys
import time

TENSOR_CALLS = ("item", "tolist", "__bool__", "__int__", "__float__", "__index__")
TENSOR_CALLS_WITH_ARGUMENTS = ("cpu", "numpy", "nonzero")
SITES_MAX = 4096
UNKNOWN = b"?"
INSIDE = b""  # PyTorch's own code: look at who called it


class Sites:
    """Where calls are made, as b"train.py:123". One entry per place in a function's code."""

    def __init__(self, torch):
        self.known = {}
        self.kept = []  # code objects whose ids are keys: an id must not be used again
        self.folders = tuple(
            os.path.dirname(os.path.abspath(file)) + os.sep for file in (torch.__file__, __file__)
        )
        self.here = os.getcwd() + os.sep

    def find(self, frame):
        known = self.known
        while frame is not None:
            code = frame.f_code
            site = known.get((id(code), frame.f_lasti))
            if site is None:
                site = self.add(frame)
            if site:
                return site
            frame = frame.f_back
        return UNKNOWN

    def add(self, frame):
        code = frame.f_code
        file = code.co_filename
        if os.path.abspath(file).startswith(self.folders):
            site = INSIDE
        else:
            name = file[len(self.here) :] if file.startswith(self.here) else file
            site = f"{name}:{frame.f_lineno}".encode(errors="replace")
        if len(self.known) < SITES_MAX:
            self.kept.append(code)
            self.known[(id(code), frame.f_lasti)] = site
        return site


class Notes:
    """Tells of calls; whatever goes wrong here ends the notes, not the program."""

    def __init__(self, torch, sync_call, warn):
        self.sites = Sites(torch)
        self.sync_call = sync_call
        self.warn = warn
        self.has_failed = False

    def teller(self, call):
        """tell(start_ns) for a wrapper of `call`: of the frame that called the wrapper."""
        known, find, sync_call, frame_at = (
            self.sites.known,
            self.sites.find,
            self.sync_call,
            sys._getframe,
        )

        def tell(start_ns):
            try:
                frame = frame_at(2)
                site = known.get((id(frame.f_code), frame.f_lasti)) or find(frame)
                sync_call(start_ns, call, site)
            except Exception as error:
                self.fail(error)

        return tell

    def fail(self, error):
        if not self.has_failed:
            self.has_failed = True
            self.warn("a line that waits was not noted", error)


def named_like(wrapper, name, owner):
    """So that it is found, and pickled, as what it stands for."""
    wrapper.__name__ = name
    wrapper.__qualname__ = f"{owner.__qualname__}.{name}" if isinstance(owner, type) else name
    wrapper.__module__ = owner.__module__ if isinstance(owner, type) else owner.__name__
    wrapper.__doc__ = getattr(owner, name).__doc__


def wrap_tensor_call(torch, owner, name, notes, takes_all):
    inner = getattr(owner, name)
    plain = frozenset((torch.Tensor, torch.nn.Parameter))
    tell = notes.teller(f"Tensor.{name}".encode())
    clock, raw = time.clock_gettime_ns, time.CLOCK_MONOTONIC_RAW

    def without_arguments(self):
        if type(self) not in plain or not (takes_all or self.is_cuda):
            return inner(self)
        start_ns = clock(raw)
        result = inner(self)
        tell(start_ns)
        return result

    def with_arguments(self, *args, **kwargs):
        if type(self) not in plain or not (takes_all or self.is_cuda):
            return inner(self, *args, **kwargs)
        start_ns = clock(raw)
        result = inner(self, *args, **kwargs)
        tell(start_ns)
        return result

    wrapper = with_arguments if name in TENSOR_CALLS_WITH_ARGUMENTS else without_arguments
    named_like(wrapper, name, owner)
    setattr(owner, name, wrapper)


def wrap_wait(owner, name, label, notes, is_compiling):
    """torch.cuda.synchronize and the like: they wait whatever they are given."""
    inner = getattr(owner, name)
    tell = notes.teller(label.encode())
    clock, raw = time.clock_gettime_ns, time.CLOCK_MONOTONIC_RAW

    def wrapper(*args, **kwargs):
        if is_compiling():
            return inner(*args, **kwargs)
        start_ns = clock(raw)
        result = inner(*args, **kwargs)
        tell(start_ns)
        return result

    named_like(wrapper, name, owner)
    setattr(owner, name, wrapper)
    return inner, wrapper


def tell_torchscript(torch, inner, wrapper):
    """TorchScript knows its builtins by the function's identity."""
    builtins = torch.jit._builtins
    operator = builtins._find_builtin(inner)
    if operator is not None:
        builtins._register_builtin(wrapper, operator)


def install(torch, sync_call, warn, is_compiling):
    mode = os.environ.get("RANKTRACE_SYNC_LINES", "1")
    if mode == "0":
        return
    if mode not in ("", "1", "all"):
        warn("RANKTRACE_SYNC_LINES is taken as 1: there are 0, 1 and all", mode)
    notes = Notes(torch, sync_call, warn)
    for name in TENSOR_CALLS + TENSOR_CALLS_WITH_ARGUMENTS:
        if hasattr(torch.Tensor, name):
            wrap_tensor_call(torch, torch.Tensor, name, notes, mode == "all")
    cuda = getattr(torch, "cuda", None)
    if cuda is None:
        return
    if callable(getattr(cuda, "synchronize", None)):
        inner, wrapper = wrap_wait(
            cuda, "synchronize", "torch.cuda.synchronize", notes, is_compiling
        )
        tell_torchscript(torch, inner, wrapper)
    for name in ("Stream", "Event"):
        owner = getattr(cuda, name, None)
        if isinstance(owner, type) and callable(getattr(owner, "synchronize", None)):
            wrap_wait(owner, "synchronize", f"torch.cuda.{name}.synchronize", notes, is_compiling)
