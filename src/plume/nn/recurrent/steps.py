"""The steps of an LSTM and of a GRU through time, with the backward pass written by hand.

Neither torch's kernels nor plain autograd serve here. The kernels cannot clip, and with a projection torch has none that is fused for a CPU.
Autograd over single steps multiplies and adds up the weights' gradients once a step. Here a step makes only the products that depend on the
step before; all others (the input's, and every weight's gradient) are one product over the whole sequence. Several networks of one shape
(ELMo's two directions) take each step together, in half the calls. N networks, T time, B batch, P output, H width.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

_IN_CACHE = 1 << 18  # elements that a processor's own cache holds
_FEW = 4  # with fewer steps than this a copy of the weights costs more than it saves

_clipped = torch.ops.aten.hardtanh_backward.default  # zero where the value lies at a bound, as it does if it was clipped
_sigmoid_backward = torch.ops.aten.sigmoid_backward
_tanh_backward = torch.ops.aten.tanh_backward


def _turned(weight: Tensor, steps: int) -> Tensor:
    """The transpose, laid out anew where many steps multiply by it: a product of few rows is a quarter faster so."""
    return weight.mT if steps < _FEW else weight.mT.contiguous()


def _reached(value: Tensor, bound: float | None) -> bool:
    """Was anything clipped? If not, nothing needs to be done about it step by step."""
    return bound is not None and float(value.abs().amax()) >= bound


def _lstm_factors(gates: Tensor, past: Tensor, tanhs: Tensor, into: Tensor) -> Tensor:
    """What the gradients of some steps' gates are multiples of: the output gate's of the output's gradient, the others' of the cell's.

    They need nothing of later steps, so a few steps are made at once. Returns what the output's gradient adds to the cell's.
    """
    opens, enters, keeps, new = gates.chunk(4, dim=-1)
    *sigmoids, candidate = into.chunk(4, dim=-1)
    for gradient, gate, factor in zip(sigmoids, (opens, enters, keeps), (tanhs, new, past), strict=True):
        _sigmoid_backward.grad_input(factor, gate, grad_input=gradient)
    _tanh_backward.grad_input(enters, new, grad_input=candidate)
    return _tanh_backward(opens, tanhs)


def _over_time(gradient: Tensor, value: Tensor) -> Tensor:
    """[N, D, K] a weight's gradient, from [N, T, B, D] and [N, T, B, K]."""
    return torch.bmm(gradient.flatten(1, 2).mT, value.flatten(1, 2))


class _LSTMSteps(torch.autograd.Function):
    @staticmethod
    def forward(context, gates, recurrent, projection, hidden, cell, cell_clip, projection_clip):  # type: ignore[no-untyped-def]
        networks, steps, rows, width = gates.shape[0], gates.shape[1], gates.shape[2], cell.shape[2]
        turned = _turned(recurrent, steps)
        down = None if projection is None else _turned(projection, steps)
        hiddens, cells = (gates.new_empty(networks, steps + 1, rows, first.shape[2]) for first in (hidden, cell))
        hiddens[:, 0], cells[:, 0] = hidden, cell
        tanhs = gates.new_empty(networks, steps, rows, width)
        inner = hiddens[:, 1:] if down is None else torch.empty_like(tanhs)  # the output before its projection
        outputs, nows = hiddens.unbind(1), cells.unbind(1)  # all views at once: many times cheaper than one by one
        parts = (gates, gates[..., : 3 * width], *gates.chunk(4, dim=3), tanhs, inner)
        each = zip(*(part.unbind(1) for part in parts), strict=True)
        for step, (gate, sigmoids, opens, enters, keeps, new, tanh, made) in enumerate(each):
            output, now = outputs[step + 1], nows[step + 1]
            if networks == 1:
                gate.baddbmm_(outputs[step], turned)
            else:  # into a place that is not one piece, torch multiplies one network after the other
                gate.add_(torch.bmm(outputs[step], turned))
            sigmoids.sigmoid_()
            new.tanh_()
            torch.mul(keeps, nows[step], out=now).addcmul_(enters, new)
            if cell_clip is not None:
                now.clamp_(-cell_clip, cell_clip)
            torch.mul(opens, torch.tanh(now, out=tanh), out=made)
            if down is not None:
                torch.bmm(made, down, out=output)
                if projection_clip is not None:
                    output.clamp_(-projection_clip, projection_clip)
        context.save_for_backward(gates, recurrent, projection, hiddens, cells, tanhs, None if down is None else inner)
        context.clips = cell_clip, projection_clip
        context.set_materialize_grads(False)
        return hiddens[:, 1:], cells[:, 1:]

    @staticmethod
    @once_differentiable
    def backward(context, hidden_gradient, cell_gradient):  # type: ignore[no-untyped-def]
        gates, recurrent, projection, hiddens, cells, tanhs, inner = context.saved_tensors
        made = (cells[:, 1:], hiddens[:, 1:])
        cell_clip, projection_clip = (clip if _reached(value, clip) else None for value, clip in zip(made, context.clips, strict=True))
        steps, width = gates.shape[1], cells.shape[3]
        gradient, outputs = torch.empty_like(gates), torch.empty_like(made[1])  # of the gates, of each output
        after, carried = torch.zeros_like(outputs[:, 0]), torch.zeros_like(cells[:, 0])
        if hidden_gradient is None:
            hidden_gradient = torch.zeros_like(outputs)
        others = gradient.view(*gradient.shape[:3], 4, width)[..., 1:, :]  # all gates that act on the cell
        parts = (gates[..., 2 * width : 3 * width], hidden_gradient, outputs, gradient, gradient[..., :width], others)
        keeps, given, of_output, of_gates, of_opens, of_others = (part.unbind(1) for part in parts)
        block = max(1, _IN_CACHE // gates[:, 0].numel())
        for last in range(steps, 0, -block):
            span = slice(max(0, last - block), last)
            of_cell = _lstm_factors(gates[:, span], cells[:, span], tanhs[:, span], gradient[:, span])
            for step, factor in zip(range(last - 1, span.start - 1, -1), reversed(of_cell.unbind(1)), strict=True):
                output = torch.add(given[step], after, out=of_output[step])
                if projection_clip is not None:
                    output.copy_(_clipped(output, hiddens[:, step + 1], -projection_clip, projection_clip))
                if projection is not None:
                    output = torch.bmm(output, projection)
                of_opens[step].mul_(output)
                carried.addcmul_(output, factor)
                if cell_gradient is not None:
                    carried.add_(cell_gradient[:, step])
                if cell_clip is not None:
                    carried = _clipped(carried, cells[:, step + 1], -cell_clip, cell_clip)
                of_others[step].mul_(carried[:, :, None])
                carried.mul_(keeps[step])
                after = torch.bmm(of_gates[step], recurrent)
        of_projection = None if projection is None else _over_time(outputs, inner)
        return gradient, _over_time(gradient, hiddens[:, :-1]), of_projection, after, carried, None, None


class _GRUSteps(torch.autograd.Function):
    @staticmethod
    def forward(context, gates, recurrent, hidden):  # type: ignore[no-untyped-def]
        steps, rows, width = len(gates), hidden.shape[0], hidden.shape[1]
        turned = _turned(recurrent, steps)
        hiddens = gates.new_empty(steps + 1, rows, width)
        hiddens[0] = hidden
        remembered = gates.new_empty(steps, rows, width)  # what the candidate takes from the past, before the reset gate
        for step in range(steps):
            gate, past = gates[step], hiddens[step] @ turned
            both, candidate = gate[:, : 2 * width], gate[:, 2 * width :]
            resets, keeps = both.add_(past[:, : 2 * width]).sigmoid_().chunk(2, dim=1)
            remembered[step] = past[:, 2 * width :]
            candidate.addcmul_(resets, remembered[step]).tanh_()
            torch.lerp(candidate, hiddens[step], keeps, out=hiddens[step + 1])
        context.save_for_backward(gates, recurrent, hiddens, remembered)
        return hiddens[1:]

    @staticmethod
    @once_differentiable
    def backward(context, hidden_gradient):  # type: ignore[no-untyped-def]
        gates, recurrent, hiddens, remembered = context.saved_tensors
        width = hiddens.shape[2]
        gradient = torch.empty_like(gates)  # of what the input adds to the gates
        of_past = torch.empty_like(gates)  # of what the step before adds: the same but for the candidate
        after = torch.zeros_like(hiddens[0])
        for step in reversed(range(len(gates))):
            resets, keeps, candidate = gates[step].chunk(3, dim=1)
            of_resets, of_keeps, of_candidate = gradient[step].chunk(3, dim=1)
            output = after.add_(hidden_gradient[step])
            _sigmoid_backward.grad_input(output * (hiddens[step] - candidate), keeps, grad_input=of_keeps)
            _tanh_backward.grad_input(output * (1 - keeps), candidate, grad_input=of_candidate)
            _sigmoid_backward.grad_input(of_candidate * remembered[step], resets, grad_input=of_resets)
            past = of_past[step]
            past[:, : 2 * width] = gradient[step, :, : 2 * width]
            torch.mul(of_candidate, resets, out=past[:, 2 * width :])
            after = (output * keeps).addmm_(past, recurrent)
        return gradient, of_past.flatten(0, 1).t() @ hiddens[:-1].flatten(0, 1), after


def lstm_steps(
    gates: Tensor,
    *,
    recurrent: Tensor,
    projection: Tensor | None,
    hidden: Tensor,
    cell: Tensor,
    cell_clip: float | None = None,
    projection_clip: float | None = None,
) -> tuple[Tensor, Tensor]:
    """[N, T, B, P] outputs and [N, T, B, H] cells from what the inputs add to the gates, [N, T, B, 4H], which is overwritten.

    The gates lie in the order output, input, forget, candidate: three sigmoids side by side, and the three that act on the cell too.
    recurrent [N, 4H, P], projection [N, P, H] or None (then P = H). Clipping as TensorFlow's LSTMCell does it for ELMo: the cell
    before it is read, the output after its projection (and only if there is one); what was clipped has no gradient.
    """
    outputs: tuple[Tensor, Tensor] = _LSTMSteps.apply(gates, recurrent, projection, hidden, cell, cell_clip, projection_clip)  # type: ignore[no-untyped-call]
    return outputs


def gru_steps(gates: Tensor, *, recurrent: Tensor, hidden: Tensor) -> Tensor:
    """[T, B, H] outputs from what the inputs add to the gates, [T, B, 3H], which is overwritten; reset, update, candidate.

    The reset gate acts on the product with the state, not on the state before it: so the code of Skip-Thought, and torch.
    """
    outputs: Tensor = _GRUSteps.apply(gates, recurrent, hidden)  # type: ignore[no-untyped-call]
    return outputs
