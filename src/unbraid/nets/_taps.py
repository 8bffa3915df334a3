"""Sums over the taps of a convolution, held in registers: what compiled convolutions of 16 channels are made of."""
# ruff: noqa: ARG001 (numba asks for the arguments)

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

from unbraid.nets._lanes import LANES, Lanes, lanes_at, number_at, spread_number

__all__ = ["CHAINS", "tap_sums"]

CHAINS = 4
"""Partial sums: enough of them keep the multiplier busy even for one image."""


@intrinsic
def tap_sums(
    typing: Any, count: Any, a: Any, at: Any, step: Any, rows: Any, columns: Any, depth: Any, hops: Any, w: Any,
    w_at: Any, start: Any, out: Any, out_at: Any, out_step: Any,
) -> Any:  # fmt: skip
    """Sums for ``count`` images (a literal) of rows x columns x depth numbers times 16 weights, added to ``start``.

    Images are ``step`` apart in ``a``, their sums ``out_step`` in ``out``. ``hops`` are those from a row to the next
    and from a column to the next, in ``a`` and then in ``w``.
    """
    if not isinstance(count, types.IntegerLiteral):
        raise TypingError("count must be a literal")
    index = types.int64
    signature = types.void(
        count, a, index, index, index, index, index, types.UniTuple(index, 4), w, index, Lanes(), out, index, index
    )

    def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        _, a_, at_, step_, rows_, columns_, depth_, hops_, w_, w_at_, start_, out_, out_at_, out_step_ = given
        row_hop, column_hop, w_row_hop, w_column_hop = cgutils.unpack_tuple(builder, hops_, 4)
        whole, zero = at_.type, ir.Constant(start_.type, [0.0] * LANES)
        sums = [[cgutils.alloca_once(builder, zero.type) for _ in range(CHAINS)] for _ in range(count.literal_value)]
        for kept in (one for chains in sums for one in chains):
            builder.store(zero, kept)

        def place(first: Any, *hops: tuple[Any, Any]) -> Any:
            for times, hop in hops:
                first = builder.add(first, builder.mul(times, hop))
            return first

        def add(a_from: Any, w_from: Any, k: Any, chain: int) -> None:
            weights = builder.load(lanes_at(context, builder, w, w_, place(w_from, (k, whole(LANES)))), align=4)
            for image, chains in enumerate(sums):
                number = number_at(context, builder, a, a_, place(a_from, (k, whole(1)), (step_, whole(image))))
                product = builder.fmul(spread_number(builder, builder.load(number)), weights, flags=("contract",))
                kept = chains[chain]
                builder.store(builder.fadd(builder.load(kept), product, flags=("contract",)), kept)

        fours = builder.sdiv(depth_, whole(CHAINS))
        rest = builder.mul(fours, whole(CHAINS))
        with cgutils.for_range(builder, rows_) as row, cgutils.for_range(builder, columns_) as column:
            a_from = place(at_, (row.index, row_hop), (column.index, column_hop))
            w_from = place(w_at_, (row.index, w_row_hop), (column.index, w_column_hop))
            with cgutils.for_range(builder, fours) as four:
                for chain in range(CHAINS):
                    add(a_from, w_from, place(whole(chain), (four.index, whole(CHAINS))), chain)
            with cgutils.for_range(builder, builder.sub(depth_, rest)) as left:
                add(a_from, w_from, builder.add(rest, left.index), 0)
        for image, chains in enumerate(sums):
            p, q, r, s = (builder.load(kept) for kept in chains)
            found = builder.fadd(start_, builder.fadd(builder.fadd(p, q), builder.fadd(r, s)))
            to = lanes_at(context, builder, out, out_, place(out_at_, (out_step_, whole(image))))
            builder.store(found, to, align=4)
        return context.get_dummy_value()

    return signature, code
