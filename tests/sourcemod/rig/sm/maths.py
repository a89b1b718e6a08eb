"""Float natives (SourcePawn 1.11 has no float instructions), vectors, and seeded random numbers."""

import math
from collections.abc import Callable

from ..binding import Call, native
from ..machine import NativeError
from ..memory import Ref, cell_to_float, float_to_cell


def _divide(a: float, b: float) -> float:
    if b:
        return a / b
    return math.nan if not a or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)


ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "FloatAdd": lambda a, b: a + b,
    "FloatSub": lambda a, b: a - b,
    "FloatMul": lambda a, b: a * b,
    "FloatDiv": _divide,
    "Pow": lambda a, b: a**b,
    "ArcTangent2": math.atan2,
}
COMPARISON: dict[str, Callable[[float, float], bool]] = {
    "__FLOAT_GT__": lambda a, b: a > b,
    "__FLOAT_GE__": lambda a, b: a >= b,
    "__FLOAT_LT__": lambda a, b: a < b,
    "__FLOAT_LE__": lambda a, b: a <= b,
    "__FLOAT_EQ__": lambda a, b: a == b,
    "__FLOAT_NE__": lambda a, b: a != b,
}
FUNCTION: dict[str, Callable[[float], float]] = {
    "FloatAbs": abs,
    "FloatFraction": lambda a: a - math.floor(a),
    "SquareRoot": math.sqrt,
    "Exponential": math.exp,
    "Sine": math.sin,
    "Cosine": math.cos,
    "Tangent": math.tan,
    "ArcSine": math.asin,
    "ArcCosine": math.acos,
    "ArcTangent": math.atan,
}
ROUNDING: dict[str, Callable[[float], int]] = {
    "RoundToNearest": lambda a: math.floor(a + 0.5),
    "RoundToFloor": math.floor,
    "RoundToCeil": math.ceil,
    "RoundToZero": math.trunc,
}


def _provide(name: str, operate: Callable[..., float], arity: int) -> None:
    if arity == 2:

        @native(name)
        def binary(call: Call, a: float, b: float) -> float:
            return operate(a, b)
    else:

        @native(name)
        def unary(call: Call, a: float) -> float:
            return operate(a)


for _name, _operate in {**ARITHMETIC, **COMPARISON}.items():
    _provide(_name, _operate, 2)
for _name, _single in {**FUNCTION, **ROUNDING}.items():
    _provide(_name, _single, 1)


@native("float")
def to_float(call: Call, value: int) -> float:
    return float(value)


@native("__FLOAT_NOT__")
def float_not(call: Call, value: float) -> bool:
    return not value


@native()
def FloatCompare(call: Call, a: float, b: float) -> int:
    return (a > b) - (a < b)


@native()
def Logarithm(call: Call, value: float, base: float) -> float:
    if value <= 0:
        raise NativeError(f"Cannot evaluate the logarithm of zero or a negative number ({value:f})")
    return math.log(value, base)


def _vector(ref: Ref) -> list[float]:
    return [cell_to_float(cell) for cell in ref.read(3)]


@native()
def GetVectorLength(call: Call, vector: Ref, squared: bool) -> float:
    length = sum(x * x for x in _vector(vector))
    return length if squared else math.sqrt(length)


@native()
def GetVectorDistance(call: Call, a: Ref, b: Ref, squared: bool) -> float:
    length = sum((x - y) ** 2 for x, y in zip(_vector(a), _vector(b), strict=True))
    return length if squared else math.sqrt(length)


@native()
def GetVectorDotProduct(call: Call, a: Ref, b: Ref) -> float:
    return sum(x * y for x, y in zip(_vector(a), _vector(b), strict=True))


@native()
def NormalizeVector(call: Call, vector: Ref, result: Ref) -> float:
    length = math.sqrt(sum(x * x for x in _vector(vector)))
    result.write([float_to_cell(x / (length or 1.0)) for x in _vector(vector)])
    return length


@native()
def GetRandomInt(call: Call, low: int, high: int) -> int:
    return call.sm.random.randint(low, high)


@native()
def GetRandomFloat(call: Call, low: float, high: float) -> float:
    return call.sm.random.uniform(low, high)


@native()
def GetURandomInt(call: Call) -> int:
    return call.sm.random.getrandbits(31)


@native()
def GetURandomFloat(call: Call) -> float:
    return call.sm.random.random()


@native("SetRandomSeed")
def set_random_seed(call: Call, seed: int) -> None:
    call.sm.random.seed(seed)


@native()
def SetURandomSeed(call: Call, seeds: Ref, count: int) -> None:
    call.sm.random.seed(repr(seeds.read(count)))
