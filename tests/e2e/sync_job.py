# SPDX-License-Identifier: Apache-2.0
"""Calls that would wait for a GPU, on CPU tensors; a marker comment stands on each line that must
be told. Whatever the hook could break is tried beside: subclasses, copies, exceptions, TorchScript."""
import copy
import io
import pickle

import torch


class Logged(torch.Tensor):
    seen = []

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        Logged.seen.append(getattr(function, "__name__", str(function)))
        return super().__torch_function__(function, types, args, kwargs or {})


@torch.jit.script
def scripted(x: torch.Tensor) -> float:
    return float(x.item()) + 1.0


tensor = torch.tensor([3.0], requires_grad=True)
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = model(torch.ones(1, 1)).sum()
    loss.backward()
    optimizer.step()
    total = loss.item()  # told
value = tensor.detach().tolist()  # told
assert value == [3.0]
if tensor > 2:  # told
    pass
number = int(tensor) + float(tensor)  # told
assert number == 6.0
host = tensor.detach().cpu().numpy()  # told
assert host[0] == 3.0

logged = torch.ones(1).as_subclass(Logged)
assert logged.item() == 1.0
assert Logged.seen == ["item"], Logged.seen
assert torch.equal(copy.deepcopy(tensor), tensor)
buffer = io.BytesIO()
torch.save(model, buffer)
buffer.seek(0)
assert torch.equal(torch.load(buffer).weight, model.weight)
assert pickle.loads(pickle.dumps(torch.Tensor.item)) is torch.Tensor.item
assert scripted(torch.ones(1)) == 2.0
try:
    torch.ones(2).item()
    raise AssertionError("two elements are no item")
except (ValueError, RuntimeError):
    pass
