"""8-bit weights for an ONNX file, and activations that suffer little from it.

ONNX Runtime quantises the activations of a batch with one scale, so that a few large channels leave the others few steps. SmoothQuant
(arXiv:2211.10438) divides a channel by a factor and multiplies the weights that read it: the product is the same, and both fit 8 bits better. How
large a channel is, sample texts say. The second layers of the feed-forward networks read what no factor makes even: single tokens are far larger
than the rest of the batch. There each row gets a scale for every 128 channels (ONNX Runtime's MatMulNBits), at the same speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plume.model.use.runtimes._onnx_library import library

Floats = NDArray[np.float32]
Feeds = Sequence[dict[str, NDArray]]
_STRENGTH = 0.65  # the activations' share in the factor (the paper's alpha): at .5 and .8 MiniLM's vectors are worse
_BLOCK = 128  # channels that share a scale; 32 are as near, and slower
_INT8 = 4  # the "accuracy level" that computes with 8-bit activations


def quantise(whole: Path, path: Path, *, samples: Feeds, keep: set[str]) -> None:
    """Write `whole` with 8-bit matrices, a scale for each column, or for each block of one. `keep`: names of inputs of matrix products that stay
    as they are."""
    onnx, quantization = library("onnx"), library("onnxruntime.quantization")
    model = onnx.load(str(whole))
    _name_products(model)
    kept = {node.name for nodes in _products(model).values() for node in nodes if keep & _around(model, node)}
    model = _in_blocks(model, kept)
    chosen = {source: rest for source, nodes in _products(model).items() if (rest := [node for node in nodes if node.name not in kept])}
    _smooth(model, chosen, _largest(model, list(chosen), samples, onnx), onnx)
    onnx.save(model, str(whole))
    quantization.quantize_dynamic(
        str(whole), str(path), per_channel=True, weight_type=quantization.QuantType.QInt8, op_types_to_quantize=["MatMul"],
        nodes_to_exclude=sorted(kept),
    )  # fmt: skip


def _name_products(model: Any) -> None:
    for number, node in enumerate(model.graph.node):
        if node.op_type == "MatMul":
            node.name = node.name or f"product_{number}"


def _in_blocks(model: Any, kept: set[str]) -> Any:
    """With 8 bits for the products that read more than they write: those behind an activation, whose inputs no factor makes even."""
    blocks = library("onnxruntime.quantization.matmul_nbits_quantizer")
    sizes = {one.name: one.dims for one in model.graph.initializer if len(one.dims) == 2}
    products = {node.name: sizes.get(node.input[1], (0, 0)) for node in model.graph.node if node.op_type == "MatMul"}
    others = {name for name, (rows, columns) in products.items() if rows <= columns}
    how = blocks.DefaultWeightOnlyQuantConfig(block_size=_BLOCK, is_symmetric=True, accuracy_level=_INT8, bits=8)
    made = blocks.MatMulNBitsQuantizer(model, algo_config=how, nodes_to_exclude=sorted(others | kept))
    made.process()
    return made.model.model


def _products(model: Any) -> dict[str, list[Any]]:
    """The products with a matrix of weights, by what they read."""
    weights = {one.name for one in model.graph.initializer}
    found: dict[str, list[Any]] = {}
    for node in model.graph.node:
        if node.op_type == "MatMul" and node.input[1] in weights:
            found.setdefault(node.input[0], []).append(node)
    return found


def _around(model: Any, node: Any) -> set[str]:
    """Names of the product's weights, and of the bias added to it, which has kept its name."""
    added = [other for other in model.graph.node if other.op_type == "Add" and node.output[0] in other.input]
    return {node.input[1], *(name for other in added for name in other.input)}


def _largest(model: Any, sources: list[str], samples: Feeds, onnx: Any) -> dict[str, Floats]:
    """[D] how large each channel gets that a product reads, over the sample texts."""
    runtime = library("onnxruntime")
    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    shown.graph.output.extend(onnx.helper.make_tensor_value_info(one, onnx.TensorProto.FLOAT, None) for one in sources)
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session = runtime.InferenceSession(shown.SerializeToString(), options, providers=["CPUExecutionProvider"])
    read = {one.name for one in session.get_inputs()}
    largest: dict[str, Floats] = {}
    for feed in samples:
        found = session.run(sources, {name: value for name, value in feed.items() if name in read})
        for source, value in zip(sources, found, strict=True):
            own = np.abs(value.reshape(-1, value.shape[-1])).max(0)
            largest[source] = np.maximum(largest.get(source, own), own)
    return largest


def _smooth(model: Any, products: dict[str, list[Any]], largest: dict[str, Floats], onnx: Any) -> None:
    """Put a factor for each channel before the products, and the inverse into their weights."""
    initial = {one.name: one for one in model.graph.initializer}
    after: dict[str, Any] = {}
    for source, nodes in products.items():
        weights = [onnx.numpy_helper.to_array(initial[node.input[1]]) for node in nodes]
        factor = _factor(largest[source], np.max([np.abs(weight).max(1) for weight in weights], axis=0))
        model.graph.initializer.append(onnx.numpy_helper.from_array(1 / factor, f"{source}_factor"))
        after[source] = onnx.helper.make_node("Mul", [source, f"{source}_factor"], [f"{source}_smooth"], name=f"{source}_smoothing")
        for node, weight in zip(nodes, weights, strict=True):
            node.input[0], node.input[1] = f"{source}_smooth", f"{node.name}_weight"  # which several products may have shared
            model.graph.initializer.append(onnx.numpy_helper.from_array(weight * factor[:, None], node.input[1]))
    ordered = [one for node in model.graph.node for one in (node, *(after[name] for name in node.output if name in after))]
    del model.graph.node[:]
    model.graph.node.extend(ordered)


def _factor(activation: Floats, weight: Floats) -> Floats:
    """[D] of the largest activation and weight of each channel; their mean is 1, so that nothing else changes its size."""
    logarithm = _STRENGTH * np.log(np.maximum(activation, 1e-5)) - (1 - _STRENGTH) * np.log(np.maximum(weight, 1e-5))
    return np.exp(logarithm - logarithm.mean()).astype(np.float32)
