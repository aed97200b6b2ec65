"""ONNX Runtime with 8-bit weights and activations."""

from __future__ import annotations

from plume.model.use.runtimes._onnx_files import OnnxRuntime


class OnnxInt8Runtime(OnnxRuntime):
    """Quantised per channel, activations as they come."""

    int8 = True


RUNTIME = OnnxInt8Runtime
