"""Compiles a kernel together with plain functions of other modules (`gaussian`, `teams`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from types import FunctionType, MappingProxyType
from typing import Any, Literal, TypeAlias, TypeVar, cast

Function: TypeAlias = Callable[..., Any]
F = TypeVar("F", bound=Function)


def compiled(
    entry: F,
    callees: Iterable[Function],
    inline: Sequence[Function] = (),
    instead: Mapping[str, Function] = MappingProxyType({}),
    **options: Any,
) -> F:
    """The function and all it calls, as machine code that is cached on disk.

    Names must be unique over the modules of all; those of `instead` are taken from there.  Arrays are counted
    references: in a real call, or where an exception may be raised, the counting costs more than all the arithmetic.
    So what takes them and runs for every player should be put `inline`, and division by zero, which must not occur,
    raises nothing.  `options` are numba's.
    """
    import numba

    small = {_plain(function).__name__ for function in inline}
    plain = [_plain(function) for function in (*callees, *inline)] + [_plain(entry)]
    functions = {function.__name__: function for function in plain}
    assert len(functions) == len(set(plain)), "two functions of one name"
    functions |= {name: _plain(function) for name, function in instead.items()}
    namespace: dict[str, object] = {}
    for function in functions.values():
        namespace |= function.__globals__
    contents = _digest(functions, namespace, options)
    for name, function in functions.items():
        copy = FunctionType(function.__code__, namespace, name)
        # The cache notices no change but of the entry's own file; so all that is compiled is in the name.
        copy.__qualname__ = f"{name}_{contents}"
        how: Literal["always", "never"] = "always" if name in small else "never"
        # Only the entry is called from Python: wrappers of the others would cost half the time of compiling.
        only: dict[str, Any] = {"no_cfunc_wrapper": True, "no_cpython_wrapper": function is not entry}
        namespace[name] = numba.njit(cache=function is entry, inline=how, error_model="numpy", **only, **options)(copy)
    return cast(F, namespace[_plain(entry).__name__])


def _plain(function: Function) -> FunctionType:
    return cast(FunctionType, function)


def _digest(
    functions: Mapping[str, FunctionType], namespace: Mapping[str, object], options: Mapping[str, object]
) -> str:
    """Of their code, of the module constants it names, and of what numba is told of them."""
    digest = blake2b(digest_size=8)
    for option, value in sorted(options.items()):
        digest.update(f"{option}={sorted(value) if isinstance(value, set) else value}".encode())
    for name, function in functions.items():
        code = function.__code__
        digest.update(name.encode() + code.co_code)
        digest.update(repr(code.co_consts[1:] if function.__doc__ else code.co_consts).encode())
        for constant in code.co_names:
            value = namespace.get(constant)
            digest.update(f"{constant}={value if isinstance(value, int | float | tuple) else ''}".encode())
    return digest.hexdigest()
