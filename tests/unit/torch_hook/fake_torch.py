# SPDX-License-Identifier: Apache-2.0
"""What the torch hook touches of PyTorch 2.x, small enough to read, for machines without it.

make() builds a fresh `torch` package and puts it into sys.modules. Names, signatures and the order
of calls are those of 2.4 and later; what they compute is not.
"""
import os
import sys
import threading
import types

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "site", "torch")


class TensorBase:
    """Stands for the C class: its methods take a Tensor and know nothing of Python's."""

    def __init__(self, value=0, device="cpu", group=None):
        self.value = value
        self.device = types.SimpleNamespace(type=device, index=0)
        self.hooks = []

    @property
    def is_cuda(self):
        return self.device.type == "cuda"

    def item(self):
        if isinstance(self.value, BaseException):
            raise self.value
        return self.value

    def tolist(self):
        return [self.value]

    def __bool__(self):
        return bool(self.value)

    def __int__(self):
        return int(self.value)

    def __float__(self):
        return float(self.value)

    def __index__(self):
        return int(self.value)

    def cpu(self, memory_format=None):
        return type(self)(self.value)

    def numpy(self, *, force=False):
        if self.is_cuda and not force:
            raise TypeError("can't convert cuda:0 device type tensor to numpy")
        return self.value

    def nonzero(self, *, as_tuple=False):
        return as_tuple

    def register_hook(self, hook):
        self.hooks.append(hook)
        return types.SimpleNamespace(remove=lambda: self.hooks.remove(hook))


def module(name, **members):
    made = types.ModuleType(name)
    made.__file__ = os.path.join(FOLDER, "__init__.py")
    for key, value in members.items():
        setattr(made, key, value)
    sys.modules[name] = made
    return made


def make_optim(torch):
    before, after = {}, {}
    optimizer = module("torch.optim.optimizer")

    class Optimizer:
        def __init__(self, fails=False):
            self.fails = fails

        def step(self, closure=None):
            for hook in list(before.values()):
                hook(self, (closure,), {})
            if closure is not None:
                closure()
            if self.fails:
                raise RuntimeError("out of memory")
            for hook in list(after.values()):
                hook(self, (closure,), {})

    def register_pre(hook):
        before[len(before)] = hook

    def register_post(hook):
        after[len(after)] = hook

    optimizer.Optimizer = Optimizer
    optimizer.register_optimizer_step_pre_hook = register_pre
    optimizer.register_optimizer_step_post_hook = register_post
    return module("torch.optim", optimizer=optimizer, Optimizer=Optimizer)


class GradBucket:
    def __init__(self, index, is_last):
        self.number, self.last = index, is_last

    def index(self):
        return self.number

    def is_last(self):
        return self.last

    def parameters(self):
        return [1, 2, 3]

    def buffer(self):
        return types.SimpleNamespace(
            numel=lambda: 1000, element_size=lambda: 4, mul_=lambda _factor: "reduced"
        )


class Future:
    def __init__(self):
        self.done = threading.Event()
        self.then_call = None

    def set_result(self, value):
        self.result = value
        self.done.set()

    def wait(self):
        self.done.wait()
        return self.result

    value = wait

    def then(self, call):
        chained = Future()
        threading.Thread(target=lambda: chained.set_result(call(self))).start()
        return chained


def make_distributed(backend):
    class Work:
        def wait(self):
            return True

    return module(
        "torch.distributed",
        is_available=lambda: True,
        get_backend=lambda _group: backend,
        get_world_size=lambda _group: 2,
        all_reduce=lambda _buffer, group, async_op: Work(),
        GradBucket=GradBucket,
    )


class DistributedDataParallel:
    """Takes one hook, once, as the real one does; a plain module in all else."""

    def __init__(self):
        self.process_group = "group"
        self.require_backward_grad_sync = True
        self.hook = None
        self.builtin = None

    def forward(self, *inputs, **kwargs):
        return ("out", inputs)

    def register_comm_hook(self, state, hook):
        self._check_comm_hook(hook)
        name = hook.__qualname__  # which it logs
        if self.hook is not None or self.builtin is not None:
            raise RuntimeError("register_comm_hook can only be called once")
        self.hook = (state, hook, name)

    def _register_builtin_comm_hook(self, kind):
        if self.hook is not None or self.builtin is not None:
            raise RuntimeError("register_comm_hook can only be called once")
        self.builtin = kind

    def _check_comm_hook(self, hook):
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")

    def backward_of_bucket(self, bucket):
        state, hook, _name = self.hook
        return hook(state, bucket)


def make_cuda(torch):
    waits = []

    def synchronize(device=None):
        waits.append(("device", device))

    class Stream:
        def synchronize(self):
            waits.append("stream")

    class Event:
        def synchronize(self):
            waits.append("event")

    return module("torch.cuda", synchronize=synchronize, Stream=Stream, Event=Event, waits=waits)


def make_jit(torch):
    table = {id(torch.cuda.synchronize): "cuda::synchronize"}
    builtins = module(
        "torch.jit._builtins",
        _find_builtin=lambda function: table.get(id(function)),
        _register_builtin=lambda function, operator: table.__setitem__(id(function), operator),
    )
    return module("torch.jit", _builtins=builtins)


def make(version="2.9.0", backend="gloo"):
    for name in [name for name in sys.modules if name.split(".")[0] == "torch"]:
        del sys.modules[name]
    torch = module("torch", __version__=version)
    Tensor = type("Tensor", (TensorBase,), {"__module__": "torch"})
    Parameter = type("Parameter", (Tensor,), {"__module__": "torch.nn.parameter"})
    state = types.SimpleNamespace(is_compiling=False)

    def backward(tensors, *_args, **_kwargs):
        roots = tensors if isinstance(tensors, (list, tuple)) else [tensors]

        def engine():
            for root in roots:
                for hook in list(root.hooks):
                    hook("gradient")

        if any(root.is_cuda for root in roots):  # on a thread of the device, as the engine does
            thread = threading.Thread(target=engine)
            thread.start()
            thread.join()
        else:
            engine()

    class BaseIter:
        def __init__(self, batches):
            self.batches = iter(batches)

        def __next__(self):
            return next(self.batches)

    class GradScaler:
        def update(self, new_scale=None):
            return new_scale

    torch.Tensor = Tensor
    torch.state = state
    torch.compiler = module("torch.compiler", is_compiling=lambda: state.is_compiling)
    torch.autograd = module("torch.autograd", backward=backward)
    torch.optim = make_optim(torch)
    torch.amp = module("torch.amp", GradScaler=GradScaler)
    torch.cuda = make_cuda(torch)
    torch.jit = make_jit(torch)
    torch.futures = module("torch.futures", Future=Future)
    torch.distributed = make_distributed(backend)
    ddp = type(
        "DistributedDataParallel",
        (DistributedDataParallel,),
        {
            name: DistributedDataParallel.__dict__[name]
            for name in ("forward", "register_comm_hook", "_register_builtin_comm_hook")
        },
    )
    torch.nn = module("torch.nn", Parameter=Parameter)
    torch.nn.parallel = module("torch.nn.parallel", DistributedDataParallel=ddp)
    dataloader = module("torch.utils.data.dataloader", _BaseDataLoaderIter=BaseIter)
    module("torch.utils.data", dataloader=dataloader)
    module("torch.utils")
    return torch
