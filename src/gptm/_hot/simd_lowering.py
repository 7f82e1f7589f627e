"""What the functions of `vectors` are in compiled code: a type, and the instructions for each of them."""

import operator

from llvmlite import ir
from numba import types
from numba.extending import lower_builtin, models, register_model, type_callable

from gptm._hot.simd import (
    LANES,
    get,
    greatest,
    larger,
    put,
    root,
    smaller,
    spread,
    total,
    totals,
    where_above,
    whole_product,
)


class Vector(types.Type):
    """Eight numbers of one kind, float64 or float32."""

    def __init__(self, dtype):
        self.dtype = dtype
        super().__init__(name=f"Vector({dtype}, {LANES})")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, dmm, kind):
        element = dmm.lookup(kind.dtype).get_value_type()
        super().__init__(dmm, kind, ir.VectorType(element, LANES))


_NUMBERS = (types.Float, types.Integer)
_MASK = ir.VectorType(ir.IntType(32), LANES)
_FIRST = ir.Constant(ir.IntType(32), 0)


def is_vector(kind):
    return isinstance(kind, Vector)


def _is_row(kind):
    floats = isinstance(kind, types.Array) and isinstance(kind.dtype, types.Float)
    return floats and kind.ndim == 1 and kind.layout == "C"


def compiled(function, *kinds):
    """Decorates a function that returns what stands for `function` of such arguments: their typing, and code."""

    def register(pair):
        typed, generate = pair()
        type_callable(function)(lambda context: typed)
        lower_builtin(function, *kinds)(generate)
        return pair

    return register


def _vector_of(context, builder, value, kind, wanted):
    """A value as a vector; a number is spread."""
    if is_vector(kind):
        return value
    number = context.cast(builder, value, kind, wanted.dtype)
    undefined = ir.Constant(context.get_value_type(wanted), ir.Undefined)
    first = builder.insert_element(undefined, number, _FIRST)
    return builder.shuffle_vector(first, undefined, ir.Constant(_MASK, [0] * LANES))


def _all_vectors(context, builder, signature, arguments):
    """The arguments as vectors of the kind that is returned."""
    pairs = zip(arguments, signature.args, strict=True)
    return [_vector_of(context, builder, *pair, signature.return_type) for pair in pairs]


def _register_arithmetic(function, instruction):
    """Vectors with vectors and with numbers; the vector says of what kind the result is."""

    @type_callable(function)
    def typed(context):
        def result(x, y):
            vectors = [kind for kind in (x, y) if is_vector(kind)]
            others = [kind for kind in (x, y) if not is_vector(kind)]
            if not vectors or not all(isinstance(kind, _NUMBERS) for kind in others):
                return None
            return vectors[0] if all(kind == vectors[0] for kind in vectors) else None

        return result

    def generate(context, builder, signature, arguments):
        x, y = _all_vectors(context, builder, signature, arguments)
        return getattr(builder, instruction)(x, y)

    lower_builtin(function, Vector, Vector)(generate)
    for number in _NUMBERS:
        lower_builtin(function, Vector, number)(generate)
        lower_builtin(function, number, Vector)(generate)


for _function, _instruction in (
    (operator.add, "fadd"),
    (operator.iadd, "fadd"),
    (operator.sub, "fsub"),
    (operator.isub, "fsub"),
    (operator.mul, "fmul"),
    (operator.imul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _register_arithmetic(_function, _instruction)


def _place(context, builder, kind, array, i):
    data = context.make_array(kind)(context, builder, array).data
    vector = context.get_value_type(Vector(kind.dtype))
    return builder.bitcast(builder.gep(data, [i]), vector.as_pointer())


def _size(context, kind):
    """Bytes of one number: an array begins at a multiple of that, and of no more for all we know."""
    return context.get_abi_sizeof(context.get_value_type(kind.dtype))


@compiled(get, types.Array, types.Integer)
def _get():
    def typed(array, i):
        return Vector(array.dtype) if _is_row(array) else None

    def generate(context, builder, signature, arguments):
        kind = signature.args[0]
        place = _place(context, builder, kind, *arguments)
        return builder.load(place, align=_size(context, kind))

    return typed, generate


@compiled(put, types.Array, types.Integer, Vector)
def _put():
    def typed(array, i, x):
        writable = _is_row(array) and array.mutable
        return types.none if writable and x == Vector(array.dtype) else None

    def generate(context, builder, signature, arguments):
        kind = signature.args[0]
        place = _place(context, builder, kind, *arguments[:2])
        builder.store(arguments[2], place, align=_size(context, kind))
        return context.get_dummy_value()

    return typed, generate


@compiled(spread, types.Float)
def _spread():
    def typed(number):
        return Vector(number) if isinstance(number, types.Float) else None

    def generate(context, builder, signature, arguments):
        return _vector_of(context, builder, arguments[0], signature.args[0], signature.return_type)

    return typed, generate


def _choose(builder, sign, x, y):
    """y where it is larger, or smaller, than x, and x elsewhere."""
    return builder.select(builder.fcmp_ordered(sign, y, x), y, x)


def _alike(x, *others):
    """The kind of x, if that is a vector and the others are vectors like it, or numbers."""
    fits = all(kind == x or isinstance(kind, _NUMBERS) for kind in others)
    return x if is_vector(x) and fits else None


def _register_choice(function, sign):
    """`larger` and `smaller`."""

    @compiled(function, Vector, types.Any)
    def _choice():
        def typed(x, y):
            return _alike(x, y)

        def generate(context, builder, signature, arguments):
            x, y = _all_vectors(context, builder, signature, arguments)
            return _choose(builder, sign, x, y)

        return typed, generate


_register_choice(larger, ">")
_register_choice(smaller, "<")


@compiled(where_above, Vector, types.Any, types.Any, types.Any)
def _where_above():
    def typed(x, limit, above, else_):
        return _alike(x, limit, above, else_)

    def generate(context, builder, signature, arguments):
        x, limit, above, else_ = _all_vectors(context, builder, signature, arguments)
        return builder.select(builder.fcmp_ordered(">", x, limit), above, else_)

    return typed, generate


@compiled(root, Vector)
def _root():
    def typed(x):
        return x if is_vector(x) else None

    def generate(context, builder, signature, arguments):
        (x,) = arguments
        name = f"llvm.sqrt.v{LANES}f{signature.return_type.dtype.bitwidth}"
        kind = ir.FunctionType(x.type, [x.type])
        return builder.call(builder.module.declare_intrinsic(name, fnty=kind), [x])

    return typed, generate


def _register_fold(function, combine):
    """All eight into one: four with four, two with two, one with one."""

    @compiled(function, Vector)
    def _fold():
        def typed(x):
            return x.dtype if is_vector(x) else None

        def generate(context, builder, signature, arguments):
            (x,) = arguments
            for width in (4, 2, 1):
                turned = [(i + width) % LANES for i in range(LANES)]
                x = combine(builder, x, builder.shuffle_vector(x, x, ir.Constant(_MASK, turned)))
            return builder.extract_element(x, _FIRST)

        return typed, generate


_register_fold(total, lambda builder, x, y: builder.fadd(x, y))
_register_fold(whole_product, lambda builder, x, y: builder.fmul(x, y))
_register_fold(greatest, lambda builder, x, y: _choose(builder, ">", x, y))


# Which numbers of two vectors, counted through, are added to which: neighbours, then pairs, then halves.
_ADDED = (
    ([0, 8, 2, 10, 4, 12, 6, 14], [1, 9, 3, 11, 5, 13, 7, 15]),
    ([0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15]),
    ([0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]),
)


@compiled(totals, *[Vector] * LANES)
def _totals():
    def typed(a, b, c, d, e, f, g, h):
        return _alike(a, b, c, d, e, f, g, h)

    def generate(context, builder, signature, arguments):
        vectors = arguments
        for ones, others in _ADDED:
            masks = [ir.Constant(_MASK, places) for places in (ones, others)]
            vectors = [
                builder.fadd(*(builder.shuffle_vector(x, y, mask) for mask in masks))
                for x, y in zip(vectors[::2], vectors[1::2], strict=True)
            ]
        return vectors[0]

    return typed, generate
