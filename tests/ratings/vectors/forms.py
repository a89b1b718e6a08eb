"""The forms of a model's entries; the names in an entry's input identify its form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

Facts: TypeAlias = Mapping[str, Any]
Answer: TypeAlias = Callable[[Facts, Facts], dict[str, Any]]


class Form(NamedTuple):
    """The names in an input, and the function that computes our answer."""

    needs: str
    """Separated by spaces, as are the others."""
    allows: str
    answer: Answer

    @property
    def words(self) -> set[str]:
        """All names that the form reads."""
        return {*self.needs.split(), *self.allows.split()}


def by_form(*forms: Form) -> Answer:
    """The first form that has room for all words of an input answers, else the one that reads most of them.

    What nothing reads is taken for a remark: if it was more, the answer is not the one that the entry expects.
    """

    def answer(params: Facts, given: Facts) -> dict[str, Any]:
        words = given.keys()
        fitting = (form for form in forms if set(form.needs.split()) <= words)
        return max(fitting, key=lambda form: len(words & form.words)).answer(params, given)

    return answer


def each(function: Callable[[Any], Any], value: Any) -> Any:
    """Apply a function to one value, or to each of a list."""
    return [function(one) for one in value] if isinstance(value, list) else function(value)


def named(params: Facts, given: Facts, *names: str) -> Any:
    """The value of the first of these names; entries keep some facts in their params, some in their input."""
    for name in names:
        for facts in (given, params):
            if name in facts:
                return facts[name]
    raise ValueError(f"{' or '.join(names)}: missing")
