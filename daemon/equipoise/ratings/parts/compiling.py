"""Compiles a kernel with numba, together with all plain functions of ours that it calls.

A kernel is a plain Python function over arrays, or over lists and objects.  A live system calls it as it is; a replay
calls it compiled.  Both are made of the same source, so both give the same numbers.

Which functions a kernel calls is read from its code: every global name that it loads and that is a Python function, and
what those load in turn.  numba resolves globals in the module of the function that it compiles; here all functions of a
kernel share one namespace, which allows a callee to be replaced by a faster form (`instead`) for this kernel alone.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from hashlib import blake2b
from types import CodeType, FunctionType, MappingProxyType
from typing import Any, Literal, TypeAlias, TypeVar, cast

Function: TypeAlias = Callable[..., Any]
F = TypeVar("F", bound=Function)

UNCOUNTED: dict[str, Any] = {"_nrt": False}
"""Option for `compiled` that turns reference counting of arrays off; only for kernels that allocate nothing.

Counting them at every call makes a replay of TrueSkill 2 twice, and one of NS2 four times as slow.  The option is
private to numba; without it the results are the same.
"""


_told: list[Callable[[str], None]] = []


def announce(tell: Callable[[str], None]) -> Callable[[], float]:
    """Have `tell` called when kernels are compiled that are not on disk yet; the answer is for how many seconds."""
    _told[:] = [tell]
    before = _seconds()
    return lambda: _seconds() - before


def _seconds() -> float:
    listener = _listener() if _listener.cache_info().currsize else None
    return listener.duration if listener is not None and listener.done else 0.0


@cache
def _listener() -> Any:
    from numba.core import event

    class Listener(event.TimingListener):
        def on_start(self, event: Any) -> None:
            if not self.done and not self._depth:
                where = event.data["dispatcher"]._cache.cache_path
                for tell in _told:
                    tell(f"compiling to machine code, once: some 5 to 15 seconds; kept in {where} and folders beside")
            super().on_start(event)  # type: ignore[no-untyped-call]

    listener = Listener()  # type: ignore[no-untyped-call]
    event.register("numba:compile", listener)  # type: ignore[no-untyped-call]
    return listener


def compiled(
    entry: F,
    *,
    inline: Collection[Function] | Literal["all"] = (),
    called: Collection[Function] = (),
    instead: Mapping[str, Function] = MappingProxyType({}),
    **options: Any,
) -> F:
    """Compile a function and all it calls to machine code, which numba caches on disk.

    `inline` names the functions whose body is copied into their callers, "all" means all but `called`.  numba counts
    references to arrays: at a real call, and where an exception may be raised, the counting costs more than the
    arithmetic.  So a function that takes arrays and runs for every player belongs inline.  For the same reason division
    by zero, which must not occur, raises nothing.

    `instead` gives by name the functions that are compiled in place of those the source names.  `options` are numba's.
    """
    import numba

    if _told:
        _listener()
    functions, constants = reachable(cast(FunctionType, entry), instead)
    small = set(functions) if inline == "all" else {function.__name__ for function in inline}
    small -= {function.__name__ for function in called} | {entry.__name__}
    settings = {name: sorted(value) if isinstance(value, set) else value for name, value in sorted(options.items())}
    # Sets have no order between processes: sorted, so that the same source finds its cache again.
    contents = _digest(functions, constants, f"{sorted(small)} {settings}")
    namespace = {"__name__": entry.__module__, **constants}  # numba looks its cache up by the module name
    for name, function in functions.items():
        copy = FunctionType(function.__code__, namespace, name)
        # numba's cache notices a change of the entry's own file only, so the digest of all sources is in the name.
        copy.__qualname__ = f"{name}_{contents}"
        how: Literal["always", "never"] = "always" if name in small else "never"
        # Python calls the entry only; wrappers of the others would take half the time of compiling.
        only: dict[str, Any] = {"no_cfunc_wrapper": True, "no_cpython_wrapper": function is not entry}
        namespace[name] = numba.njit(cache=function is entry, inline=how, error_model="numpy", **only, **options)(copy)
    return cast(F, namespace[entry.__name__])


def reachable(
    entry: FunctionType, instead: Mapping[str, Function] = MappingProxyType({})
) -> tuple[dict[str, FunctionType], dict[str, object]]:
    """The functions that an entry calls, itself included, and the other globals that they load, each by its name.

    One name must mean the same in every module that uses it, because all share one namespace.
    """
    functions, constants = {entry.__name__: entry}, dict[str, object]()
    queue = [entry]
    while queue:
        function = queue.pop()
        for name in _globals_of(function.__code__):
            if name not in function.__globals__ and name not in instead:
                continue  # a builtin
            value = instead.get(name, function.__globals__.get(name))
            constant = functions.get(name, constants.get(name, value))
            # `is` first: numpy's values compare element by element, and NaN is not equal to itself.
            assert constant is value or constant == value, f"{name} means two things in the kernel {entry.__name__}"
            if not isinstance(value, FunctionType):
                constants[name] = value
            elif name not in functions:
                functions[name] = value
                queue.append(value)
    return functions, constants


def _globals_of(code: CodeType) -> Iterator[str]:
    return (step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL")


def _digest(functions: Mapping[str, FunctionType], constants: Mapping[str, object], options: str) -> str:
    """A digest of everything that the machine code depends on, besides the types of the arguments."""
    digest = blake2b(options.encode(), digest_size=8)
    for name, function in sorted(functions.items()):
        code = function.__code__
        # Without the docstring, whose change leaves the machine code as it is.
        literals = code.co_consts[1:] if function.__doc__ else code.co_consts
        digest.update(name.encode() + code.co_code + repr((literals, code.co_names)).encode())
        # What is stored names the modules, and cannot be read when one of them is gone.
        digest.update(function.__module__.encode())
        for kind in function.__annotations__.values():
            # An argument that is a named tuple is read by the places of its fields, which its name does not tell.
            struct = function.__globals__.get(kind)
            digest.update(repr((getattr(struct, "__module__", ""), getattr(struct, "_fields", ()))).encode())
    for name, value in sorted(constants.items()):
        digest.update(f"{name}={value if isinstance(value, int | float | tuple) else ''}".encode())
    return digest.hexdigest()
