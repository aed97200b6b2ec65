"""ONNX Runtime in float32."""

from __future__ import annotations

from plume.model.use.runtimes._onnx_files import OnnxRunner, OnnxRuntime

RUNTIME, RUNNER = OnnxRuntime, OnnxRunner
