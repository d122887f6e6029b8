# SPDX-License-Identifier: Apache-2.0
"""Marks the steps of a PyTorch job for ranktrace, without a change to its script.

arm() waits for `import torch` and then wraps, from outside, what a training loop goes through:

  input       DataLoader's iterator           -> phase "input"
  forward     DistributedDataParallel.forward -> phase "forward"
  backward    torch.autograd.backward         -> phase "backward"
  optimizer   Optimizer.step                  -> phase "optimizer"
  step        ends when an optimizer returns, if there was a backward since it began
  buckets     DDP's communication hook        -> hand-over and completion of each gradient bucket

Buckets are wrapped on CPU backends only (gloo, mpi): there the hook is the one place that sees
them, and it reduces exactly as DDP does by itself (sum of gradients times 1 / world size). On
NCCL nothing is registered: CUPTI and the NCCL profiler see the real kernels. A hook that the
user registers is kept and only timed.

Written for PyTorch 1.13 to 2.x. Each wrapper adds one or two calls into libranktrace.so (about
1 us each from Python). RANKTRACE_TORCH_HOOK=0 turns all of it off, RANKTRACE_BUCKETS=0 the
communication hook alone.
"""
import atexit
import collections
import ctypes
import functools
import importlib.machinery
import os
import queue
import sys
import threading

FORWARD, BACKWARD, OPTIMIZER, INPUT, COMM_WAIT = 2, 3, 4, 5, 6
CPU_BACKENDS = {"gloo", "mpi"}
JOIN_SECONDS = 1.0
KEPT_MAX = 4096


def warn(message, error):
    """One line, once per message; the program goes on."""
    if message not in warn.said:
        warn.said.add(message)
        sys.stderr.write(f'level=warn comp=torch_hook msg="{message}" error="{error}"\n')


warn.said = set()


class Marks:
    """The calls of ranktrace.h, through ctypes."""

    def __init__(self, path):
        lib = ctypes.CDLL(path)
        self.step = lib.ranktrace_step
        self.step.argtypes, self.step.restype = [ctypes.c_uint64], None
        self.step_end = lib.ranktrace_step_end
        self.step_end.argtypes, self.step_end.restype = [], None
        self.begin = lib.ranktrace_phase_begin
        self.begin.argtypes, self.begin.restype = [ctypes.c_int], None
        self.end = lib.ranktrace_phase_end
        self.end.argtypes, self.end.restype = [ctypes.c_int], None
        self.bucket_begin = lib.ranktrace_bucket_begin
        self.bucket_begin.argtypes = [ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint32]
        self.bucket_begin.restype = ctypes.c_uint64
        self.bucket_end = lib.ranktrace_bucket_end
        self.bucket_end.argtypes, self.bucket_end.restype = [ctypes.c_uint64], None


def library_path():
    """RANKTRACE_LIBRARY, else the file that `run` set for CUDA or NCCL."""
    for name in ("RANKTRACE_LIBRARY", "CUDA_INJECTION64_PATH", "NCCL_PROFILER_PLUGIN"):
        path = os.environ.get(name, "")
        if os.path.basename(path).startswith("libranktrace.so"):
            return path
    raise OSError("RANKTRACE_LIBRARY is not set")


class Waiter:
    """A thread of ours that waits for buckets, in the order in which they were handed over.

    In place of callbacks on the collectives' futures, which the backend's own threads would run
    and drop. A thread of the backend must not need the interpreter's lock: PyTorch ends these
    threads in destructors that hold it (a model that goes out of scope: the job would hang) or
    after the interpreter's end (it would abort).
    """

    def __init__(self):
        self.items = queue.SimpleQueue()
        self.thread = None

    def submit(self, wait, finish):
        """Call finish(error or None) once wait() has returned."""
        if self.thread is None:
            self.thread = threading.Thread(target=self.run, name="ranktrace", daemon=True)
            self.thread.start()
            atexit.register(self.stop)
        self.items.put((wait, finish))

    def run(self):
        while (item := self.items.get()) is not None:
            wait, finish = item
            error = None
            try:
                wait()
            except Exception as failure:
                error = failure
            finish(error)
            del item, wait, finish, error  # not until the next bucket

    def stop(self):
        self.items.put(None)
        self.thread.join(JOIN_SECONDS)  # longer only when a collective never ends


class Hook:
    """State of one process. The training loop is one thread; buckets may end on others."""

    def __init__(self, marks):
        self.marks = marks
        self.step = 0
        self.is_open = False
        self.saw_backward = False
        self.waiting_thread = None  # the thread whose backward has handed over its last bucket
        self.waiter = Waiter()
        self.kept = collections.deque(maxlen=KEPT_MAX)  # buffers of the last backward's buckets

    def enter(self):
        """Something of an iteration begins: open the first step."""
        if not self.is_open:
            self.is_open = True
            self.marks.step(self.step)

    def close_step(self):
        if self.saw_backward:
            self.saw_backward = False
            self.step += 1
            self.marks.step(self.step)

    def hand_over(self, bucket):
        """Just before its collective starts. Returns the handle for bucket_end.

        The backend drops its reference to the buffer some time after the collective. Python has
        seen this buffer, so dropping the last reference needs the interpreter's lock: we keep one.
        """
        buffer = bucket.buffer()
        self.kept.append(buffer)
        return self.marks.bucket_begin(
            bucket.index(), buffer.numel() * buffer.element_size(), len(bucket.parameters())
        )

    def handed_over(self, bucket):
        if bucket.is_last():
            self.waiting_thread = threading.get_ident()
            self.marks.begin(COMM_WAIT)

    def keep_for_ever(self):
        """At exit: the interpreter ends, the backend's threads may go on for a moment."""
        for buffer in self.kept:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(buffer))

    def end_wait(self):
        if self.waiting_thread == threading.get_ident():
            self.waiting_thread = None
            self.marks.end(COMM_WAIT)


def phase(hook, number):
    """A wrapper that puts a call into a phase."""

    def wrap(call):
        @functools.wraps(call)
        def wrapped(*args, **kwargs):
            hook.enter()
            hook.marks.begin(number)
            try:
                return call(*args, **kwargs)
            finally:
                hook.marks.end(number)

        return wrapped

    return wrap


def wrap_input(hook, torch):
    from torch.utils.data import dataloader

    base = dataloader._BaseDataLoaderIter
    base.__next__ = phase(hook, INPUT)(base.__next__)
    base.next = base.__next__


def wrap_backward(hook, torch):
    inner = torch.autograd.backward

    @functools.wraps(inner)
    def backward(*args, **kwargs):
        hook.enter()
        hook.kept.clear()
        hook.marks.begin(BACKWARD)
        try:
            return inner(*args, **kwargs)
        finally:
            hook.end_wait()
            hook.marks.end(BACKWARD)
            hook.saw_backward = True

    torch.autograd.backward = backward


def wrap_optimizer(hook, torch):
    """Every optimizer class overrides step: wrap each class once, when first made."""
    inner_init = torch.optim.Optimizer.__init__

    def wrap_class(cls):
        inner = cls.step

        @functools.wraps(inner)
        def step(*args, **kwargs):
            hook.enter()
            hook.marks.begin(OPTIMIZER)
            try:
                return inner(*args, **kwargs)
            finally:
                hook.marks.end(OPTIMIZER)
                hook.close_step()

        step.ranktrace_wrapped = True
        # PyTorch's own profiling wrapper asks for this; a class without it is wrapped again.
        step.hooked = getattr(inner, "hooked", None)
        cls.step = step

    @functools.wraps(inner_init)
    def init(self, *args, **kwargs):
        inner_init(self, *args, **kwargs)
        cls = type(self)
        if not getattr(cls.step, "ranktrace_wrapped", False):
            wrap_class(cls)

    torch.optim.Optimizer.__init__ = init


def timed(hook, call):
    """A communication hook that also tells when a bucket is handed over and done."""

    def communicate(state, bucket):
        handle = hook.hand_over(bucket)
        future = call(state, bucket)
        hook.waiter.submit(future.wait, lambda _error: hook.marks.bucket_end(handle))
        hook.handed_over(bucket)
        return future

    return communicate


def value_or_raise(future):
    value = future.value()
    if isinstance(value, Exception):
        raise value
    return value


def reduce_as_ddp_does(hook, torch, dist, group):
    """DDP's own reduction as a timed communication hook: sum of gradients times 1 / world size."""
    factor = 1.0 / dist.get_world_size(group)

    def communicate(_state, bucket):
        handle = hook.hand_over(bucket)
        buffer = bucket.buffer().mul_(factor)
        work = dist.all_reduce(buffer, group=group, async_op=True)
        reduced = torch.futures.Future()
        result = reduced.then(value_or_raise)  # which runs where the result is set: below

        def finish(error):
            hook.marks.bucket_end(handle)
            reduced.set_result(buffer if error is None else error)

        hook.waiter.submit(work.wait, finish)
        hook.handed_over(bucket)
        return result

    return communicate


def is_cpu_group(dist, group):
    return str(dist.get_backend(group)) in CPU_BACKENDS


def wrap_ddp(hook, torch):
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel as DDP

    inner_forward, inner_register = DDP.forward, DDP.register_comm_hook
    inner_builtin = DDP._register_builtin_comm_hook

    def register(self, state, hook_function):
        self._ranktrace_hooked = True
        if is_cpu_group(dist, self.process_group):
            annotated = functools.wraps(hook_function)(timed(hook, hook_function))
            return inner_register(self, state, annotated)
        return inner_register(self, state, hook_function)

    def register_builtin(self, *args, **kwargs):
        self._ranktrace_hooked = True  # C++ inside: kept as it is, not timed
        return inner_builtin(self, *args, **kwargs)

    def hook_up(self):
        self._ranktrace_hooked = True
        if os.environ.get("RANKTRACE_BUCKETS", "1") == "0":
            return
        if is_cpu_group(dist, self.process_group) and self.require_backward_grad_sync:
            inner_register(self, None, reduce_as_ddp_does(hook, torch, dist, self.process_group))

    @functools.wraps(inner_forward)
    def forward(self, *args, **kwargs):
        if not getattr(self, "_ranktrace_hooked", False):
            try:
                hook_up(self)
            except Exception as error:
                warn("gradient buckets are not timed", error)
        hook.enter()
        hook.marks.begin(FORWARD)
        try:
            return inner_forward(self, *args, **kwargs)
        finally:
            hook.marks.end(FORWARD)

    DDP.forward = forward
    DDP.register_comm_hook = functools.wraps(inner_register)(register)
    DDP._register_builtin_comm_hook = functools.wraps(inner_builtin)(register_builtin)


def install(torch):
    """Called once, right after `import torch`."""
    marks = Marks(library_path())
    hook = Hook(marks)
    for wrap in (wrap_input, wrap_backward, wrap_optimizer, wrap_ddp):
        try:
            wrap(hook, torch)
        except Exception as error:  # another PyTorch: keep the other wrappers
            warn(f"{wrap.__name__} does not fit this PyTorch", error)
    atexit.register(marks.step_end)
    atexit.register(hook.keep_for_ever)


class TorchFinder:
    """Finds `torch` as Python would, and calls install() when its import has ended."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)  # the search below must not meet us again
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        inner = spec.loader.exec_module

        def exec_module(module):
            inner(module)
            try:
                install(module)
            except Exception as error:
                warn("hook is off", error)

        spec.loader.exec_module = exec_module
        return spec


def arm():
    if "torch" in sys.modules:
        install(sys.modules["torch"])
    else:
        sys.meta_path.insert(0, TorchFinder())
