"""Eight topics at once where the compiler does not dare to use vectors: for all it knows, the arrays overlap."""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

LANES = 8
_EIGHT = ir.VectorType(ir.FloatType(), LANES)


def weigh(doc, word, inverse, alpha, eta, first, weights):
    """Fill eight `weights`, from `first` on, with (doc + alpha) (word + eta) inverse; return their sum.

    All arrays are contiguous and in single precision. Compiled code runs `_weigh` instead.
    """
    eight = slice(first, first + LANES)
    weights[eight] = (doc[eight] + alpha) * (word[eight] + eta) * inverse[eight]
    four = weights[first : first + 4] + weights[first + 4 : first + 8]
    two = four[:2] + four[2:]
    return two[0] + two[1]


@intrinsic
def _weigh(_, doc, word, inverse, alpha, eta, first, weights):
    """`weigh` in vector instructions."""
    signature = types.float32(doc, word, inverse, alpha, eta, types.intp, weights)

    def generate(context, builder, signature, arguments):
        doc, word, inverse, alpha, eta, first, weights = arguments

        def place(array, kind):
            data = context.make_array(kind)(context, builder, array).data
            return builder.bitcast(builder.gep(data, [first]), _EIGHT.as_pointer())

        def eight_of(array, kind):
            return builder.load(place(array, kind), align=4)

        def everywhere(number):
            lanes = ir.Constant(_EIGHT, ir.Undefined)
            for i in range(LANES):
                lanes = builder.insert_element(lanes, number, ir.Constant(ir.IntType(32), i))
            return lanes

        kinds = signature.args
        x = builder.fadd(eight_of(doc, kinds[0]), everywhere(alpha))
        y = builder.fadd(eight_of(word, kinds[1]), everywhere(eta))
        x = builder.fmul(builder.fmul(x, y), eight_of(inverse, kinds[2]))
        builder.store(x, place(weights, kinds[6]), align=4)
        for width in (4, 2, 1):
            back = [(i + width) % LANES for i in range(LANES)]
            back = ir.Constant(ir.VectorType(ir.IntType(32), LANES), back)
            x = builder.fadd(x, builder.shuffle_vector(x, x, back))
        return builder.extract_element(x, ir.Constant(ir.IntType(32), 0))

    return signature, generate


@overload(weigh, jit_options={"forceinline": True})
def _compiled_weigh(doc, word, inverse, alpha, eta, first, weights):
    def compiled(doc, word, inverse, alpha, eta, first, weights):
        return _weigh(doc, word, inverse, alpha, eta, first, weights)

    return compiled
