"""ONNX Runtime with 8-bit weights and activations."""

from __future__ import annotations

from plume.model.use.runtimes._onnx_files import OnnxRunner, OnnxRuntime


class OnnxInt8Runner(OnnxRunner):
    """Quantised per channel, activations as they come."""

    int8 = True


class OnnxInt8Runtime(OnnxRuntime):
    """The same, of a language model."""

    runner = OnnxInt8Runner


RUNTIME, RUNNER = OnnxInt8Runtime, OnnxInt8Runner
