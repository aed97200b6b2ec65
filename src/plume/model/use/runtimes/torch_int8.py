"""torch with 8-bit weights, per channel, and activations quantised as they come: needs no other library, and less memory; slower than onnx-int8."""

from __future__ import annotations

import copy
import warnings
from threading import Lock

import torch
from torch import Tensor, nn

from plume.core.batch import Batch
from plume.core.errors import PlumeError
from plume.model.networks.model import Model
from plume.model.use.runtimes._graph import Build, Graph, Signature
from plume.model.use.runtimes.torch import TorchRuntime
from plume.nn.attention import Attention
from plume.nn.block import FeedForward
from plume.text.tokenizer import Tokenizer


def in_int8(model: nn.Module) -> nn.Module:
    """A copy whose attention and feed-forward layers multiply in 8 bits; heads and what reads weights itself stay as they are."""
    if next(model.parameters()).device.type != "cpu":
        raise PlumeError("torch computes in 8 bits on the CPU: leave out --device, or use the runtime torch.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated in favour of torchao, which is 20 times slower on a CPU
        from torch.ao.quantization import per_channel_dynamic_qconfig, quantize_dynamic

        chosen = {
            f"{name}.{inner}": per_channel_dynamic_qconfig
            for name, module in model.named_modules()
            if isinstance(module, Attention | FeedForward)
            for inner, child in module.named_children()
            if type(child) is nn.Linear and not any(part in f"{name}.{inner}." for part in Graph.precise)
        }
        if not chosen:
            raise PlumeError("This model has no layers that torch multiplies in 8 bits: Transformers have. Use the runtime torch.")
        made: nn.Module = quantize_dynamic(copy.deepcopy(model), chosen)  # type: ignore[no-untyped-call]
        return made


class TorchInt8Runtime(TorchRuntime):
    """`Model.encode` of such a copy."""

    def __init__(self, model: Model, tokenizer: Tokenizer) -> None:
        made = in_int8(model)
        assert isinstance(made, Model)
        super().__init__(made, tokenizer)


class TorchInt8Runner:
    """Runs the graphs of a model over such a copy. Several threads may share one."""

    def __init__(self, model: nn.Module, name: str, build: Build) -> None:
        self._model, self._build, self._lock = in_int8(model), build, Lock()
        self._made: dict[Signature, Graph] = {}

    @torch.inference_mode()
    def __call__(self, batch: Batch) -> Tensor:
        """The graph's first output."""
        signature = Signature.of(batch)
        with self._lock:
            if signature not in self._made:
                graph = self._build(signature)
                graph.model = self._model
                self._made[signature] = graph
        graph = self._made[signature]
        found: Tensor = graph(*graph.given(batch))[0]
        return found


RUNTIME: type[TorchRuntime] = TorchInt8Runtime
RUNNER = TorchInt8Runner
