"""Tensors of which every process may hold a part (FSDP); a plain one is its own whole. Told by their attributes: importing DTensor is slow."""

from __future__ import annotations

from torch import Tensor


def whole(tensor: Tensor) -> Tensor:
    """A tensor as one process would hold it; every process must call this."""
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def beside(value: Tensor, tensor: Tensor) -> Tensor:
    """`value`, which every process has whole, as an operand beside `tensor`."""
    if not hasattr(tensor, "device_mesh"):
        return value
    from torch.distributed.tensor import DTensor, Replicate

    mesh = tensor.device_mesh
    return DTensor.from_local(value, mesh, [Replicate()] * mesh.ndim, run_check=False)
