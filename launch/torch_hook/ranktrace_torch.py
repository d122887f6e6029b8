# SPDX-License-Identifier: Apache-2.0
"""Marks the steps of a PyTorch job for ranktrace, without a change to its script.

arm() waits for `import torch` and then wraps, from outside, what a training loop goes through:

  input       DataLoader's iterator           -> phase "input"
  forward     DistributedDataParallel.forward -> phase "forward"
  backward    torch.autograd.backward         -> phase "backward"
  optimizer   Optimizer.step                  -> phase "optimizer"
  step        ends when an optimizer returns, if there was a backward since it began; or, where
              GradScaler leaves the optimizer out, when the scaler is updated
  buckets     DDP's communication hook        -> hand-over and completion of each gradient bucket
  waits       Tensor.item and the like        -> the lines that wait for the GPU (ranktrace_sync.py)

Buckets are wrapped on CPU backends only (gloo, mpi): there the hook is the one place that sees
them, and it reduces exactly as DDP does by itself (sum of gradients times 1 / world size). On
NCCL nothing is registered: CUPTI and the NCCL profiler see the real kernels. A hook that the
user registers is kept and only timed.

Written for PyTorch 1.13 to 2.x. Each wrapper adds one or two calls into libranktrace.so (about
1 us each from Python). Code that torch.compile traces sees none of it: a wrapper first asks
torch.compiler.is_compiling(), which the compiler answers itself, and so leaves no graph break.
RANKTRACE_TORCH_HOOK=0 turns all of it off, RANKTRACE_BUCKETS=0 the communication hook alone,
RANKTRACE_SYNC_LINES=0 the search for lines that wait.
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
import weakref

import ranktrace_sync

FORWARD, BACKWARD, OPTIMIZER, INPUT, COMM_WAIT = 2, 3, 4, 5, 6
CPU_BACKENDS = {"gloo", "mpi"}
JOIN_SECONDS = 1.0
KEPT_MAX = 4096
PR_SET_NAME = 15  # of prctl


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
        # Never blocks, so it need not give up the interpreter's lock, which costs time.
        self.sync_call = ctypes.PyDLL(path).ranktrace_sync_call
        self.sync_call.argtypes = [ctypes.c_uint64, ctypes.c_char_p, ctypes.c_char_p]
        self.sync_call.restype = None
        lib.ranktrace_is_active()  # connects now, not inside a call of the above


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

    def __init__(self, marks, is_compiling):
        self.marks = marks
        self.is_compiling = is_compiling
        self.step = 0
        self.is_open = False
        self.saw_backward = False
        self.optimizer = None  # the id of the outermost one that steps
        self.waiting_thread = None  # the thread whose backward has handed over its last bucket
        self.waiter = Waiter()
        self.kept = collections.deque(maxlen=KEPT_MAX)  # buffers of the last backward's buckets

    def enter(self):
        """Something of an iteration begins: open the first step."""
        if not self.is_open:
            self.is_open = True
            self.marks.step(self.step)

    def begin_optimizer(self, optimizer):
        """Optimizers may be nested, as in ZeroRedundancyOptimizer: the outermost counts."""
        self.enter()
        if self.optimizer is None:
            self.optimizer = id(optimizer)
        elif self.optimizer == id(optimizer):
            self.marks.end(OPTIMIZER)  # its last step raised
        else:
            return
        self.marks.begin(OPTIMIZER)

    def end_optimizer(self, optimizer):
        if self.optimizer == id(optimizer):
            self.optimizer = None
            self.marks.end(OPTIMIZER)
            self.close_step()

    def close_step(self):
        if self.saw_backward:
            self.saw_backward = False
            self.step += 1
            self.marks.step(self.step)

    def hand_over(self, bucket):
        """Just before its collective starts. Returns the handle for bucket_end; 0: not told.

        The backend drops its reference to the buffer some time after the collective. Python has
        seen this buffer, so dropping the last reference needs the interpreter's lock: we keep one.
        """
        try:
            buffer = bucket.buffer()
            self.kept.append(buffer)
            return self.marks.bucket_begin(
                bucket.index(), buffer.numel() * buffer.element_size(), len(bucket.parameters())
            )
        except Exception as error:
            warn("gradient buckets are not timed", error)
            return 0

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
        is_compiling = hook.is_compiling

        @functools.wraps(call)
        def wrapped(*args, **kwargs):
            if is_compiling():
                return call(*args, **kwargs)
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
    if hasattr(base, "next"):  # until 2.0
        base.next = base.__next__


def names_its_threads(torch):
    """Autograd's threads carry names since 2.4, by which their kernels are known as backward."""
    version = str(getattr(torch, "__version__", "0")).split(".")
    try:
        return (int(version[0]), int(version[1])) >= (2, 4)
    except (ValueError, IndexError):
        return True


def name_backward_thread(roots):
    """Let the thread that carries out the backward of a GPU's tensor take the name of 2.4.

    A hook on the loss is the first that autograd runs, on the thread of the loss's device. Returns
    the hook's handle, or None.
    """
    root = next(iter(roots)) if isinstance(roots, (list, tuple)) else roots
    if not getattr(root, "is_cuda", False):
        return None
    caller = threading.get_native_id()
    name = f"pt_autograd_{root.device.index or 0}".encode()

    def take_name(_gradient):
        if threading.get_native_id() != caller:
            ctypes.CDLL(None).prctl(PR_SET_NAME, name, 0, 0, 0)

    return root.register_hook(take_name)


def wrap_backward(hook, torch):
    inner = torch.autograd.backward
    is_compiling = hook.is_compiling
    todo = [] if names_its_threads(torch) else [True]  # once is enough

    def name_thread(tensors):
        try:
            handle = name_backward_thread(tensors)
            if handle is not None:
                todo.clear()
            return handle
        except Exception as error:
            todo.clear()
            warn("autograd's threads keep their names", error)
            return None

    @functools.wraps(inner)
    def backward(*args, **kwargs):
        if is_compiling():
            return inner(*args, **kwargs)
        handle = name_thread(args[0] if args else kwargs.get("tensors")) if todo else None
        hook.enter()
        hook.kept.clear()
        hook.marks.begin(BACKWARD)
        try:
            return inner(*args, **kwargs)
        finally:
            hook.end_wait()
            hook.marks.end(BACKWARD)
            hook.saw_backward = True
            if handle is not None:
                handle.remove()

    torch.autograd.backward = backward


def wrap_optimizer(hook, torch):
    """By PyTorch's own hooks around every optimizer's step, where it has them (2.0)."""
    module = getattr(torch.optim, "optimizer", None)
    before = getattr(module, "register_optimizer_step_pre_hook", None)
    after = getattr(module, "register_optimizer_step_post_hook", None)
    if before is None or after is None:
        wrap_optimizer_classes(hook, torch)
        return
    is_compiling = hook.is_compiling

    def begin(optimizer, _args, _kwargs):
        if not is_compiling():
            hook.begin_optimizer(optimizer)

    def end(optimizer, _args, _kwargs):
        if not is_compiling():
            hook.end_optimizer(optimizer)

    before(begin)
    after(end)


def wrap_optimizer_classes(hook, torch):
    """Every optimizer class overrides step: wrap each class once, when first made."""
    inner_init = torch.optim.Optimizer.__init__

    def wrap_class(cls):
        inner = cls.step

        @functools.wraps(inner)
        def step(self, *args, **kwargs):
            hook.begin_optimizer(self)
            try:
                return inner(self, *args, **kwargs)
            finally:
                hook.end_optimizer(self)

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


def wrap_scaler(hook, torch):
    """A scaler that met an overflow leaves the optimizer out; its update still ends the step."""
    scaler = getattr(getattr(torch, "amp", None), "GradScaler", None)
    if scaler is None:
        from torch.cuda.amp import GradScaler as scaler
    inner = scaler.update
    is_compiling = hook.is_compiling

    @functools.wraps(inner)
    def update(*args, **kwargs):
        try:
            return inner(*args, **kwargs)
        finally:
            if not is_compiling():
                hook.close_step()

    scaler.update = update


def timed(hook, call):
    """A communication hook that also tells when a bucket is handed over and done."""

    def communicate(state, bucket):
        handle = hook.hand_over(bucket)
        future = call(state, bucket)
        if handle != 0:
            hook.waiter.submit(future.wait, lambda _error: hook.marks.bucket_end(handle))
        hook.handed_over(bucket)
        return future

    return communicate


class Replaceable:
    """The hook that DDP holds when it is ours: a program that brings its own later takes its place.

    DDP takes one hook only, once; ours must not be the reason that a program's is refused.
    """

    def __init__(self, call):
        self.call = call
        self.is_replaced = False

    def communicate(self, state, bucket):
        return self.call(state, bucket)

    def replace(self, state, call):
        self.call = lambda _state, bucket: call(state, bucket)
        self.is_replaced = True


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

    if not dist.is_available():
        return
    from torch.nn.parallel import DistributedDataParallel as DDP

    inner_forward, inner_register = DDP.forward, DDP.register_comm_hook
    inner_builtin = DDP._register_builtin_comm_hook
    is_compiling = hook.is_compiling
    # Models whose hook is settled; with ours, if DDP holds it. Not in the models: they are pickled.
    settled = weakref.WeakKeyDictionary()

    def register(self, state, hook_function):
        ours = settled.get(self)
        if callable(hook_function) and is_cpu_group(dist, self.process_group):
            annotated = functools.wraps(hook_function)(timed(hook, hook_function))
        else:
            annotated = hook_function
        if ours is None or ours.is_replaced:
            settled[self] = None
            return inner_register(self, state, annotated)
        self._check_comm_hook(hook_function)
        return ours.replace(state, annotated)

    def register_builtin(self, *args, **kwargs):
        settled[self] = None  # C++ inside: kept as it is, not timed
        return inner_builtin(self, *args, **kwargs)

    def hook_up(self):
        settled[self] = None
        if os.environ.get("RANKTRACE_BUCKETS", "1") == "0":
            return
        if is_cpu_group(dist, self.process_group) and self.require_backward_grad_sync:
            ours = Replaceable(reduce_as_ddp_does(hook, torch, dist, self.process_group))
            inner_register(self, None, ours.communicate)
            settled[self] = ours

    @functools.wraps(inner_forward)
    def forward(self, *args, **kwargs):
        if is_compiling():
            return inner_forward(self, *args, **kwargs)
        if self not in settled:
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


def wrap_waits(hook, torch):
    ranktrace_sync.install(torch, hook.marks.sync_call, warn, hook.is_compiling)


def compiler_asks(torch):
    """torch.compiler.is_compiling: true while torch.compile reads the code that asks."""
    compiler = getattr(torch, "compiler", None)
    return getattr(compiler, "is_compiling", None) or (lambda: False)


def install(torch):
    """Called once, right after `import torch`."""
    marks = Marks(library_path())
    hook = Hook(marks, compiler_asks(torch))
    for wrap in (wrap_input, wrap_backward, wrap_optimizer, wrap_scaler, wrap_ddp, wrap_waits):
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
