"""The forms that entries of a model come in: each is known by the words of its input, and no other is guessed at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

Facts: TypeAlias = Mapping[str, Any]
Answer: TypeAlias = Callable[[Facts, Facts], dict[str, Any]]

REMARKS = frozenset({"note", "comment", "backend", "iterations", "min_delta", "convergence_tolerance"})
"""Words that may stand anywhere and change nothing; our systems iterate until they have converged."""


class Form(NamedTuple):
    """An input with these words, and what says what our system makes of it."""

    needs: str
    """Separated by spaces, as are the others."""
    allows: str
    answer: Answer


def by_form(params_words: str, *forms: Form) -> Answer:
    """The first form that has room for an entry answers; a word that none knows is a `ValueError`."""

    def answer(params: Facts, given: Facts) -> dict[str, Any]:
        words = given.keys() - REMARKS
        if odd := params.keys() - REMARKS - set(params_words.split()):
            raise ValueError(f"params that nothing here reads: {sorted(odd)}")
        for form in forms:
            needs = set(form.needs.split())
            if needs <= words <= needs | set(form.allows.split()):
                return form.answer(params, given)
        raise ValueError(f"no form of an entry has this input: {sorted(words)}")

    return answer


def each(function: Callable[[Any], Any], value: Any) -> Any:
    """Of one value, or of every one of a list."""
    return [function(one) for one in value] if isinstance(value, list) else function(value)


def named(params: Facts, given: Facts, *names: str) -> Any:
    """The value of the first of these names; entries keep some facts in their params, some in their input."""
    for name in names:
        for facts in (given, params):
            if name in facts:
                return facts[name]
    raise ValueError(f"{' or '.join(names)}: missing")
