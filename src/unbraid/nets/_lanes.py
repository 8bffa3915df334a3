"""Sixteen floats in one register, for code compiled by numba that must not depend on what its compiler finds.

``Lanes`` add, subtract and multiply, and are read from and written to flat float32 arrays at any index, unchecked, or
int16 arrays that hold the bits of bfloat16 numbers. numba keeps machine code on disk until the file that calls it
changes; whoever changes this one touches that too.
"""
# ruff: noqa: ARG001, ARG005 (numba asks for the arguments)

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, lower_builtin, models, register_model, type_callable

__all__ = [
    "LANES",
    "Lanes",
    "at_least",
    "if_above",
    "if_equal",
    "load",
    "load_where",
    "positive",
    "spread",
    "spread_at",
    "store",
    "total",
    "two_to_the",
    "where_positive",
]

LANES = 16

_VECTOR = ir.VectorType(ir.FloatType(), LANES)
_WORDS, _HALVES = ir.VectorType(ir.IntType(32), LANES), ir.VectorType(ir.IntType(16), LANES)


class Lanes(types.Type):
    """16 floats in one register, as compiled code sees them; they add, subtract and multiply."""

    def __init__(self) -> None:
        super().__init__("Lanes")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


_LANES = Lanes()


def spread_number(builder: Any, number: Any) -> Any:
    index = ir.IntType(32)
    first = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), number, index(0))
    return builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(index, LANES), [0] * LANES))


def number_at(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    return builder.gep(cgutils.create_struct_proxy(kind)(context, builder, array).data, [index])


def lanes_at(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    content = _HALVES if kind.dtype == types.int16 else _VECTOR
    return builder.bitcast(number_at(context, builder, kind, array, index), content.as_pointer())


def _all(number: int) -> Any:
    return ir.Constant(_WORDS, [number] * LANES)


@intrinsic
def spread(typing: Any, number: Any) -> Any:
    """A number, 16 times."""
    return _LANES(types.float32), lambda context, builder, signature, given: spread_number(builder, *given)


@intrinsic
def spread_at(typing: Any, array: Any, index: Any) -> Any:
    """A number of an array, 16 times."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return spread_number(builder, builder.load(number_at(context, builder, array, *given)))

    return _LANES(array, types.int64), code


@intrinsic
def load(typing: Any, array: Any, index: Any) -> Any:
    """16 numbers of an array from the index on."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        place = lanes_at(context, builder, array, *given)
        if array.dtype == types.int16:
            halves = builder.zext(builder.load(place, align=2), _WORDS)
            return builder.bitcast(builder.shl(halves, _all(16)), _VECTOR)
        return builder.load(place, align=4)

    return _LANES(array, types.int64), code


@intrinsic
def load_where(typing: Any, inside: Any, array: Any, index: Any, other: Any) -> Any:
    """16 numbers of an array from the index on, or the first 16 of another; without a jump."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        here = lanes_at(context, builder, array, *given[1:3])
        there = lanes_at(context, builder, other, given[3], ir.IntType(64)(0))
        return builder.load(builder.select(given[0], here, there), align=4)

    return _LANES(types.boolean, array, types.int64, other), code


@intrinsic
def store(typing: Any, array: Any, index: Any, lanes: Any) -> Any:
    """Put 16 numbers into an array from the index on; bfloat16 is the nearest, ties to even."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        place = lanes_at(context, builder, array, *given[:2])
        if array.dtype == types.int16:
            bits = builder.bitcast(given[2], _WORDS)
            half = builder.add(builder.and_(builder.lshr(bits, _all(16)), _all(1)), _all(0x7FFF))
            rounded = builder.lshr(builder.add(bits, half), _all(16))
            builder.store(builder.trunc(rounded, _HALVES), place, align=2)
        else:
            builder.store(given[2], place, align=4)
        return context.get_dummy_value()

    return types.void(array, types.int64, _LANES), code


@intrinsic
def positive(typing: Any, lanes: Any) -> Any:
    """ReLU; what is not a number stays."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        zero = ir.Constant(_VECTOR, [0.0] * LANES)
        return builder.select(builder.fcmp_unordered(">", given[0], zero), given[0], zero)

    return _LANES(_LANES), code


def _selected(symbol: str, given: Any, builder: Any) -> Any:
    a, b, then, other = given
    return builder.select(builder.fcmp_ordered(symbol, a, b), then, other)


@intrinsic
def if_above(typing: Any, a: Any, b: Any, then: Any, other: Any) -> Any:
    """In each lane ``then`` where a > b, and ``other`` elsewhere."""
    return _LANES(*[_LANES] * 4), lambda context, builder, signature, given: _selected(">", given, builder)


@intrinsic
def if_equal(typing: Any, a: Any, b: Any, then: Any, other: Any) -> Any:
    """In each lane ``then`` where a = b, and ``other`` elsewhere."""
    return _LANES(*[_LANES] * 4), lambda context, builder, signature, given: _selected("==", given, builder)


@intrinsic
def where_positive(typing: Any, lanes: Any, yes: Any, no: Any) -> Any:
    """Numbers of ``yes`` where ``lanes`` are above zero, else of ``no``."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        zero = ir.Constant(_VECTOR, [0.0] * LANES)
        return builder.select(builder.fcmp_ordered(">", given[0], zero), *given[1:])

    return _LANES(_LANES, _LANES, _LANES), code


@intrinsic
def at_least(typing: Any, lanes: Any, least: Any) -> Any:
    """The greater of two; what is not a number stays in ``lanes``."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.select(builder.fcmp_ordered("<", *given), given[1], given[0])

    return _LANES(_LANES, _LANES), code


@intrinsic
def two_to_the(typing: Any, lanes: Any) -> Any:
    """Powers of two, of whole numbers -126 to 127 to which 3 * 2^22 + 127 was added: their last bits are exponents."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        whole = ir.VectorType(ir.IntType(32), LANES)
        bits = builder.shl(builder.bitcast(given[0], whole), ir.Constant(whole, [23] * LANES))
        return builder.bitcast(bits, _VECTOR)

    return _LANES(_LANES), code


@intrinsic
def total(typing: Any, lanes: Any) -> Any:
    """The sum of all 16: halves added to halves."""

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        index, lanes = ir.IntType(32), given[0]
        for half in (8, 4, 2, 1):
            kind = ir.VectorType(index, half)
            low, high = (ir.Constant(kind, list(range(start, start + half))) for start in (0, half))
            lanes = builder.fadd(builder.shuffle_vector(lanes, lanes, low), builder.shuffle_vector(lanes, lanes, high))
        return builder.extract_element(lanes, index(0))

    return types.float32(_LANES), code


def _operator(symbol: Any, instruction: str) -> None:
    @type_callable(symbol)
    def known(context: Any) -> Any:
        return lambda a, b: _LANES if isinstance(a, Lanes) and isinstance(b, Lanes) else None

    @lower_builtin(symbol, Lanes, Lanes)
    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return getattr(builder, instruction)(*given, flags=("contract",))  # product and sum may be one instruction


for _symbol, _instruction in ((operator.add, "fadd"), (operator.sub, "fsub"), (operator.mul, "fmul")):
    _operator(_symbol, _instruction)
