"""The three loops over a vector's components that all trainers spend their time in, written as LLVM vector instructions.

Rows are padded with zeros to whole blocks of 16 floats (64 bytes, a cache line), so that there is no remainder and no need to prove that rows do not
overlap, which is what stops LLVM from vectorising the same loops written in Python: the fused update is 8 times faster than those.
Matrices are passed flat; `offset` is a row's first element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils as untyped
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

BLOCK = 16
cgutils: Any = untyped
written: Callable[[Callable[..., Any]], Callable[..., Any]] = intrinsic  # called in kernels without the first argument
_FLOAT, _INT = ir.FloatType(), ir.IntType(64)
_VECTOR = ir.VectorType(_FLOAT, BLOCK)
_ZERO = ir.Constant(_VECTOR, [0.0] * BLOCK)


def padded(rows: int, dimension: int) -> NDArray[np.float32]:
    """[rows, whole blocks] zeros whose rows begin at cache lines; a trainer's array is its first `dimension` columns."""
    width = -(-dimension // BLOCK) * BLOCK
    raw = np.zeros(rows * width + BLOCK, np.float32)
    shift = (-raw.ctypes.data % 64) // 4
    return raw[shift : shift + rows * width].reshape(rows, width)


def flat(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """The storage of a padded matrix as one row of floats, without a copy."""
    return matrix.reshape(-1)


def _data(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return cgutils.create_struct_proxy(kind)(context, builder, value).data


def _load(builder: Any, pointer: Any, index: Any) -> Any:
    return builder.load(builder.bitcast(builder.gep(pointer, [index]), _VECTOR.as_pointer()), align=4)


def _store(builder: Any, value: Any, pointer: Any, index: Any) -> None:
    builder.store(value, builder.bitcast(builder.gep(pointer, [index]), _VECTOR.as_pointer()), align=4)


def _multiply_add(builder: Any, left: Any, right: Any, addend: Any) -> Any:
    return builder.fadd(addend, builder.fmul(left, right, flags=["fast"]), flags=["fast"])


def _spread(builder: Any, number: Any) -> Any:
    first = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), number, ir.IntType(32)(0))
    return builder.shuffle_vector(first, ir.Constant(_VECTOR, ir.Undefined), ir.Constant(ir.VectorType(ir.IntType(32), BLOCK), [0] * BLOCK))


def _blocks(builder: Any, width: Any) -> Any:
    return cgutils.for_range_slice(builder, _INT(0), width, _INT(BLOCK))


@written
def dot(typing_context: Any, left: Any, left_offset: Any, right: Any, right_offset: Any, width: Any) -> Any:
    """The inner product of two rows."""
    signature = types.float32(left, types.intp, right, types.intp, types.intp)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        one = builder.gep(_data(context, builder, signature.args[0], arguments[0]), [arguments[1]])
        other = builder.gep(_data(context, builder, signature.args[2], arguments[2]), [arguments[3]])
        sum_ = cgutils.alloca_once_value(builder, _ZERO)
        with _blocks(builder, arguments[4]) as (block, _):
            builder.store(_multiply_add(builder, _load(builder, one, block), _load(builder, other, block), builder.load(sum_)), sum_)
        kind = ir.FunctionType(_FLOAT, [_FLOAT, _VECTOR])
        reduce = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.fadd.v{BLOCK}f32")
        return builder.call(reduce, [_FLOAT(0.0), builder.load(sum_)], fastmath=["fast"])

    return signature, generate


@written
def add(typing_context: Any, row: Any, row_offset: Any, other: Any, other_offset: Any, scale: Any, width: Any) -> Any:
    """row += scale · other."""
    signature = types.void(row, types.intp, other, types.intp, types.float32, types.intp)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target = builder.gep(_data(context, builder, signature.args[0], arguments[0]), [arguments[1]])
        source = builder.gep(_data(context, builder, signature.args[2], arguments[2]), [arguments[3]])
        factor = _spread(builder, arguments[4])
        with _blocks(builder, arguments[5]) as (block, _):
            _store(builder, _multiply_add(builder, factor, _load(builder, source, block), _load(builder, target, block)), target, block)
        return context.get_dummy_value()

    return signature, generate


@written
def update(
    typing_context: Any,
    hidden: Any,
    hidden_offset: Any,
    error: Any,
    error_offset: Any,
    output: Any,
    offsets: Any,
    steps: Any,
    count: Any,
    width: Any,
) -> Any:
    """One prediction's gradient step in one pass: error += Σ steps[k] · output[k]; output[k] += steps[k] · hidden.

    All steps were computed before any row is changed: word2vec.c scores a negative that is drawn twice anew, which is the only difference.
    `error` may be `hidden` itself; then the input row takes its step as well.
    """
    signature = types.void(hidden, types.intp, error, types.intp, output, offsets, steps, types.intp, types.intp)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = [_data(context, builder, signature.args[i], arguments[i]) for i in (0, 2, 4, 5, 6)]
        source, target = builder.gep(data[0], [arguments[1]]), builder.gep(data[1], [arguments[3]])
        _, _, rows, starts, sizes = data
        gradient = cgutils.alloca_once(builder, _VECTOR)
        with _blocks(builder, arguments[8]) as (block, _):
            vector = _load(builder, source, block)
            builder.store(_load(builder, target, block), gradient)
            with cgutils.for_range(builder, arguments[7]) as loop:
                row = builder.gep(rows, [builder.load(builder.gep(starts, [loop.index]))])
                step = _spread(builder, builder.load(builder.gep(sizes, [loop.index])))
                weights = _load(builder, row, block)
                builder.store(_multiply_add(builder, step, weights, builder.load(gradient)), gradient)
                _store(builder, _multiply_add(builder, step, vector, weights), row, block)
            _store(builder, builder.load(gradient), target, block)
        return context.get_dummy_value()

    return signature, generate


@written
def adagrad(
    typing_context: Any,
    row: Any,
    squares: Any,
    offset: Any,
    other: Any,
    other_squares: Any,
    other_offset: Any,
    slope: Any,
    rate: Any,
    clip: Any,
    width: Any,
) -> Any:
    """GloVe's step of a word's and a context's row: each by the other, over the root of its summed squares, which then take the step's square."""
    signature = types.void(
        row, squares, types.intp, other, other_squares, types.intp, types.float32, types.float32, types.float32, types.intp
    )

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = [_data(context, builder, signature.args[i], arguments[i]) for i in (0, 1, 3, 4)]
        pointers = [builder.gep(one, [arguments[place]]) for one, place in zip(data, (2, 2, 5, 5), strict=True)]
        slope, rate, clip = (_spread(builder, arguments[place]) for place in (6, 7, 8))
        root = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_VECTOR, [_VECTOR]), f"llvm.sqrt.v{BLOCK}f32")
        below = builder.fsub(_ZERO, clip)

        def move(vector: Any, sums: Any, against: Any, index: int, block: Any) -> None:
            gradient = builder.fmul(slope, against, flags=["fast"])
            gradient = builder.select(builder.fcmp_ordered("<", gradient, clip, flags=["fast"]), gradient, clip)
            gradient = builder.select(builder.fcmp_ordered(">", gradient, below, flags=["fast"]), gradient, below)
            step = builder.fmul(gradient, rate, flags=["fast"])
            scaled = builder.fdiv(step, builder.call(root, [sums], fastmath=["fast"]), flags=["fast"])
            _store(builder, builder.fsub(vector, scaled, flags=["fast"]), pointers[index], block)
            _store(builder, _multiply_add(builder, step, step, sums), pointers[index + 1], block)

        with _blocks(builder, arguments[9]) as (block, _):
            one, one_sums, two, two_sums = (_load(builder, pointer, block) for pointer in pointers)
            move(one, one_sums, two, 0, block)
            move(two, two_sums, one, 2, block)
        return context.get_dummy_value()

    return signature, generate


@written
def prefetch(typing_context: Any, matrix: Any, offset: Any, width: Any) -> Any:
    """Ask for a row that will soon be needed."""
    signature = types.void(matrix, types.intp, types.intp)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        start = builder.gep(_data(context, builder, signature.args[0], arguments[0]), [arguments[1]])
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        fetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        with _blocks(builder, arguments[2]) as (block, _):
            builder.call(fetch, [builder.bitcast(builder.gep(start, [block]), byte), number(1), number(3), number(1)])
        return context.get_dummy_value()

    return signature, generate
