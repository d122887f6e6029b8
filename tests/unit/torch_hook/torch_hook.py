#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The torch hook against a stand-in for PyTorch 2.x (fake_torch.py): what it marks, and that the
program sees nothing of it. The same hook runs with the real PyTorch of the machine in tests/e2e."""
import copy
import os
import pickle
import sys
import threading
import time
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "..", "launch", "torch_hook")]
import fake_torch  # noqa: E402
import ranktrace_sync  # noqa: E402
import ranktrace_torch  # noqa: E402

FORWARD, BACKWARD, OPTIMIZER, INPUT, COMM_WAIT = 2, 3, 4, 5, 6


class Recorder:
    """In the place of ranktrace_torch.Marks: writes down what the library would be told."""

    def __init__(self, _path=None):
        self.log = []
        self.waits = []
        self.ended = threading.Event()

    def step(self, number):
        self.log.append(("step", number))

    def step_end(self):
        self.log.append("step_end")

    def begin(self, phase):
        self.log.append(("begin", phase))

    def end(self, phase):
        self.log.append(("end", phase))

    def bucket_begin(self, index, size, count):
        self.log.append(("bucket", index, size, count))
        return index + 1

    def bucket_end(self, handle):
        self.log.append(("bucket_end", handle))
        self.ended.set()

    def sync_call(self, start_ns, call, site):
        self.waits.append((call.decode(), site.decode(), start_ns))


class Case(unittest.TestCase):
    def install(self, mode="1", warned=(), **kind):
        self.torch = fake_torch.make(**kind)
        self.marks = Recorder()
        self.warned = []
        with mock.patch.object(ranktrace_torch, "Marks", lambda _path: self.marks), mock.patch.object(
            ranktrace_torch, "library_path", lambda: None
        ), mock.patch.object(ranktrace_torch.atexit, "register", lambda *_: None), mock.patch.object(
            ranktrace_torch, "warn", lambda *what: self.warned.append(what)
        ), mock.patch.dict(os.environ, {"RANKTRACE_SYNC_LINES": mode}):
            ranktrace_torch.install(self.torch)
        self.assertEqual([about for _, about in self.warned], list(warned))
        return self.torch


class Steps(Case):
    def loss(self, device="cpu"):
        return self.torch.Tensor(1, device)

    def test_an_iteration_is_marked_by_its_phases(self):
        torch = self.install()
        loader = torch.utils = sys.modules["torch.utils.data.dataloader"]._BaseDataLoaderIter([7])
        model = torch.nn.parallel.DistributedDataParallel()
        optimizer = torch.optim.Optimizer()
        self.assertEqual(next(loader.batches), 7)
        loader.batches = iter([8])
        self.assertEqual(loader.__next__(), 8)
        self.assertEqual(model.forward(1, a=2), ("out", (1,)))
        torch.autograd.backward(self.loss())
        optimizer.step()
        self.assertEqual(
            self.marks.log,
            [
                ("step", 0),
                ("begin", INPUT),
                ("end", INPUT),
                ("begin", FORWARD),
                ("end", FORWARD),
                ("begin", BACKWARD),
                ("end", BACKWARD),
                ("begin", OPTIMIZER),
                ("end", OPTIMIZER),
                ("step", 1),
            ],
        )

    def test_an_optimizer_that_raised_does_not_end_the_steps(self):
        torch = self.install()
        optimizer = torch.optim.Optimizer(fails=True)
        torch.autograd.backward(self.loss())
        with self.assertRaisesRegex(RuntimeError, "out of memory"):
            optimizer.step()
        optimizer.fails = False
        optimizer.step()
        self.assertEqual(self.marks.log.count(("begin", OPTIMIZER)), 2)
        self.assertEqual(self.marks.log.count(("end", OPTIMIZER)), 2)
        self.assertEqual(self.marks.log[-1], ("step", 1))

    def test_an_optimizer_inside_another_is_one(self):
        torch = self.install()
        inner, outer = torch.optim.Optimizer(), torch.optim.Optimizer()
        torch.autograd.backward(self.loss())
        outer.step(inner.step)
        self.assertEqual(self.marks.log.count(("begin", OPTIMIZER)), 1)
        self.assertEqual(self.marks.log[-2:], [("end", OPTIMIZER), ("step", 1)])

    def test_a_step_that_the_scaler_left_out_ends_with_its_update(self):
        torch = self.install()
        scaler = torch.amp.GradScaler()
        torch.autograd.backward(self.loss())
        self.assertEqual(scaler.update(5), 5)  # an overflow: the optimizer did not step
        torch.autograd.backward(self.loss())
        torch.optim.Optimizer().step()
        scaler.update()
        self.assertEqual([x for x in self.marks.log if x[0] == "step"],
                         [("step", 0), ("step", 1), ("step", 2)])

    def test_code_that_is_compiled_sees_nothing(self):
        torch = self.install()
        torch.state.is_compiling = True
        model = torch.nn.parallel.DistributedDataParallel()
        model.forward(1)
        torch.autograd.backward(self.loss())
        torch.optim.Optimizer().step()
        torch.cuda.synchronize()
        torch.amp.GradScaler().update()
        self.assertEqual(self.marks.log, [])
        self.assertEqual(self.marks.waits, [])
        self.assertIsNone(model.hook)

    def test_older_autograd_threads_take_the_name_of_newer_ones(self):
        for version, is_named in (("2.3.1+cu121", True), ("2.4.0", False), ("odd", False)):
            torch = self.install(version=version)
            names = []
            loss = self.loss("cuda")
            with mock.patch.object(ranktrace_torch.ctypes, "CDLL") as library:
                torch.autograd.backward((loss,))
                torch.autograd.backward((loss,))
                names = [call.args[1] for call in library.return_value.prctl.call_args_list]
            self.assertEqual(names, [b"pt_autograd_0"] if is_named else [], version)
            self.assertEqual(loss.hooks, [])

    def test_a_thread_that_called_backward_itself_keeps_its_name(self):
        torch = self.install(version="1.13.0")
        with mock.patch.object(ranktrace_torch.ctypes, "CDLL") as library:
            torch.autograd.backward(tensors=self.loss("cpu"))
            library.return_value.prctl.assert_not_called()


class Buckets(Case):
    def run_bucket(self, model):
        self.marks.ended.clear()
        result = model.backward_of_bucket(fake_torch.GradBucket(0, True))
        self.assertTrue(self.marks.ended.wait(10))
        return result

    def test_ours_reduces_and_tells_each_bucket(self):
        torch = self.install()
        model = torch.nn.parallel.DistributedDataParallel()
        model.forward()
        self.assertEqual(self.run_bucket(model).wait(), "reduced")
        self.assertIn(("bucket", 0, 4000, 3), self.marks.log)
        self.assertIn(("begin", COMM_WAIT), self.marks.log)

    def test_a_programs_hook_takes_the_place_of_ours(self):
        torch = self.install()
        model = torch.nn.parallel.DistributedDataParallel()
        model.forward()  # ours is registered
        future = torch.futures.Future()
        future.set_result("theirs")

        def theirs(state, bucket):
            self.assertEqual(state, "their state")
            return future

        model.register_comm_hook("their state", theirs)
        self.assertEqual(self.run_bucket(model).wait(), "theirs")
        with self.assertRaisesRegex(RuntimeError, "once"):
            model.register_comm_hook(None, theirs)
        with self.assertRaises(TypeError):
            torch.nn.parallel.DistributedDataParallel().register_comm_hook(None, "no function")

    def test_a_programs_first_hook_and_builtin_stay(self):
        torch = self.install()
        first = torch.nn.parallel.DistributedDataParallel()
        future = torch.futures.Future()
        future.set_result("first")
        first.register_comm_hook(None, lambda state, bucket: future)
        first.forward()
        self.assertEqual(self.run_bucket(first).wait(), "first")
        builtin = torch.nn.parallel.DistributedDataParallel()
        builtin._register_builtin_comm_hook("fp16")
        builtin.forward()
        self.assertIsNone(builtin.hook)

    def test_nothing_is_registered_on_nccl(self):
        torch = self.install(backend="nccl")
        model = torch.nn.parallel.DistributedDataParallel()
        model.forward()
        self.assertIsNone(model.hook)

        def theirs(state, bucket):
            return None

        model.register_comm_hook(None, theirs)
        self.assertIs(model.hook[1], theirs)

    def test_a_model_holds_nothing_of_ours(self):
        torch = self.install(backend="nccl")
        model = torch.nn.parallel.DistributedDataParallel()
        before = dict(model.__dict__)
        model.forward()
        self.assertEqual(model.__dict__, before)

    def test_a_bucket_of_another_kind_is_not_timed_and_goes_on(self):
        torch = self.install()
        model = torch.nn.parallel.DistributedDataParallel()
        future = torch.futures.Future()
        model.register_comm_hook(None, lambda state, bucket: future)
        odd = fake_torch.GradBucket(0, False)
        odd.buffer = None
        with mock.patch.object(ranktrace_torch, "warn") as warn:
            self.assertIs(model.backward_of_bucket(odd), future)
            warn.assert_called_once()


class Waits(Case):
    def assert_wait(self, call, back):
        site = f"{sys._getframe(1).f_code.co_filename}:{sys._getframe(1).f_lineno - back}"
        self.assertEqual(len(self.marks.waits), 1, self.marks.waits)
        told_call, told_site, start_ns = self.marks.waits.pop()
        self.assertEqual(told_call, call)
        self.assertTrue(site.endswith(told_site), (site, told_site))
        now_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        self.assertTrue(0 < start_ns <= now_ns)

    def test_each_call_on_a_gpu_is_told_with_its_line(self):
        torch = self.install()
        gpu = torch.Tensor(5, "cuda")
        self.assertEqual(gpu.item(), 5)
        self.assert_wait("Tensor.item", 1)
        self.assertEqual(gpu.tolist(), [5])
        self.assert_wait("Tensor.tolist", 1)
        self.assertEqual(not gpu, False)
        self.assert_wait("Tensor.__bool__", 1)
        self.assertEqual(int(gpu), 5)
        self.assert_wait("Tensor.__int__", 1)
        self.assertEqual(float(gpu), 5.0)
        self.assert_wait("Tensor.__float__", 1)
        self.assertEqual(list(range(9))[gpu], 5)
        self.assert_wait("Tensor.__index__", 1)
        self.assertFalse(gpu.cpu(memory_format=None).is_cuda)
        self.assert_wait("Tensor.cpu", 1)
        self.assertEqual(gpu.numpy(force=True), 5)
        self.assert_wait("Tensor.numpy", 1)
        self.assertTrue(gpu.nonzero(as_tuple=True))
        self.assert_wait("Tensor.nonzero", 1)
        torch.cuda.synchronize("cuda:1")
        self.assert_wait("torch.cuda.synchronize", 1)
        torch.cuda.Stream().synchronize()
        self.assert_wait("torch.cuda.Stream.synchronize", 1)
        torch.cuda.Event().synchronize()
        self.assert_wait("torch.cuda.Event.synchronize", 1)
        self.assertEqual(torch.cuda.waits, [("device", "cuda:1"), "stream", "event"])

    def test_a_parameter_is_a_tensor(self):
        torch = self.install()
        self.assertEqual(torch.nn.Parameter(2, "cuda").item(), 2)
        self.assert_wait("Tensor.item", 1)

    def test_the_line_is_the_first_outside_pytorch(self):
        torch = self.install()
        inside = os.path.join(fake_torch.FOLDER, "optim", "adam.py")
        space = {}
        exec(compile("def value_of(x):\n    return x.item()\n", inside, "exec"), space)
        gpu = torch.Tensor(1, "cuda")
        space["value_of"](gpu)
        self.assert_wait("Tensor.item", 1)
        for _ in range(2):  # the same place in PyTorch, from two lines
            space["value_of"](gpu)
            self.assert_wait("Tensor.item", 1)
        space["value_of"](gpu)
        self.assert_wait("Tensor.item", 1)

    def test_calls_on_a_cpu_are_not_told_but_on_request(self):
        torch = self.install()
        torch.Tensor(5).item()
        self.assertTrue(torch.Tensor(1))
        self.assertEqual(self.marks.waits, [])
        self.install(mode="all").Tensor(5).item()
        self.assertEqual(len(self.marks.waits), 1)

    def test_an_unknown_mode_is_said_and_taken_for_on(self):
        self.install(mode="maybe", warned=["maybe"]).Tensor(5, "cuda").item()
        self.assertEqual(len(self.marks.waits), 1)

    def test_off_leaves_everything_as_it_was(self):
        torch = self.install(mode="0")
        self.assertNotIn("item", torch.Tensor.__dict__)
        torch.cuda.synchronize()
        self.assertEqual(self.marks.waits, [])

    def test_exceptions_pass_through_and_are_not_told(self):
        torch = self.install()
        with self.assertRaisesRegex(TypeError, "can't convert cuda"):
            torch.Tensor(1, "cuda").numpy()
        error = KeyboardInterrupt()
        with self.assertRaises(KeyboardInterrupt) as caught:
            torch.Tensor(error, "cuda").item()
        self.assertIs(caught.exception, error)
        with self.assertRaises(TypeError):
            torch.Tensor(1, "cuda").item(1)
        self.assertEqual(self.marks.waits, [])

    def test_a_library_that_fails_ends_the_notes_only(self):
        torch = self.install()
        self.marks.waits = None  # telling raises
        with mock.patch.object(ranktrace_torch, "warn"):
            self.assertEqual(torch.Tensor(5, "cuda").item(), 5)
            self.assertEqual(torch.Tensor(6, "cuda").item(), 6)

    def test_subclasses_are_left_alone(self):
        torch = self.install()

        class Logged(torch.Tensor):
            asked = 0

            @property
            def is_cuda(self):
                Logged.asked += 1
                return True

        self.assertEqual(Logged(3, "cuda").item(), 3)
        self.assertTrue(Logged(3, "cuda"))
        self.assertEqual((Logged.asked, self.marks.waits), (0, []))

        class Own(torch.Tensor):
            def item(self):
                return "own"

        self.assertEqual(Own(3).item(), "own")

    def test_tensors_are_copied_and_methods_pickled_as_before(self):
        torch = self.install()
        tensor = torch.Tensor(4, "cuda")
        self.assertEqual(copy.copy(tensor).value, 4)
        self.assertEqual(copy.deepcopy(tensor).value, 4)
        self.assertIs(pickle.loads(pickle.dumps(torch.Tensor.item)), torch.Tensor.item)
        self.assertIs(pickle.loads(pickle.dumps(torch.cuda.synchronize)), torch.cuda.synchronize)
        self.assertEqual(torch.Tensor.item.__qualname__, "Tensor.item")

    def test_torchscript_still_knows_its_builtin(self):
        torch = self.install()
        found = torch.jit._builtins._find_builtin(torch.cuda.synchronize)
        self.assertEqual(found, "cuda::synchronize")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
