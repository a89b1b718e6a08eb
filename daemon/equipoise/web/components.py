"""The schemas of /openapi.json, from the structs that requests are decoded with and answers are made of.

msgspec makes them; what it does not say is added: what a property means, which properties an answer always has, and
constants where it writes a list of one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import inspect

from equipoise.web.descriptions import meaning
from equipoise.wire import scalars

REF = "#/components/schemas/{name}"

Schema = dict[str, Any]


def schemas(asked: Sequence[type], answered: Sequence[type]) -> tuple[dict[type, Schema], dict[str, Schema]]:
    """A reference to each type, and all components by name: of what is asked, and of what is answered."""
    types = [*asked, *answered]
    references, components = msgspec.json.schema_components(types, schema_hook=scalars.schema, ref_template=REF)
    every, of_asked = _kinds(_walk(types)), _kinds(_walk(asked))
    in_unions = {part.cls for each in _walk(types) if isinstance(each, inspect.UnionType) for part in _structs(each)}
    for name, kind in every.items():
        component = components[name]
        _describe(component, kind)
        if name not in of_asked:
            component["required"] = _always_sent(component, kind)
        elif kind not in in_unions:
            _free_tag(component, kind)
    for component in components.values():
        _write_constants(component)
        _write_tuples(component)
    return dict(zip(types, references, strict=True)), components


def _walk(types: Iterable[type]) -> Iterator[inspect.Type]:
    """Every type that these are made of, each struct once."""
    seen: set[type] = set()
    left: list[inspect.Type] = list(inspect.multi_type_info(types))
    while left:
        each = left.pop()
        if isinstance(each, inspect.StructType | inspect.DataclassType):
            if each.cls in seen:
                continue
            seen.add(each.cls)
        left += _parts(each)
        yield each


def _kinds(types: Iterable[inspect.Type]) -> dict[str, type]:
    """The structs and dataclasses among these, by name."""
    return {
        each.cls.__name__: each.cls for each in types if isinstance(each, inspect.StructType | inspect.DataclassType)
    }


def _structs(union: inspect.UnionType) -> Iterator[inspect.StructType]:
    return (each for each in union.types if isinstance(each, inspect.StructType))


def _parts(kind: inspect.Type) -> Iterator[inspect.Type]:
    match kind:
        case inspect.StructType() | inspect.DataclassType():
            yield from (field.type for field in kind.fields)
        case inspect.UnionType():
            yield from kind.types
        case inspect.TupleType():
            yield from kind.item_types
        case inspect.VarTupleType() | inspect.ListType():
            yield kind.item_type
        case inspect.DictType():
            yield kind.value_type
        case inspect.Metadata():
            yield kind.type


def _describe(component: Schema, kind: type) -> None:
    fields = msgspec.structs.fields(kind) if issubclass(kind, msgspec.Struct) else ()
    written = {field.encode_name: field.name for field in fields}
    for name, schema in component["properties"].items():
        schema.setdefault("description", meaning(kind, written.get(name, name)))


def _always_sent(component: Schema, kind: type) -> list[str]:
    """All but the fields that are left out while they have no value: msgspec writes defaults too."""
    if not issubclass(kind, msgspec.Struct):
        return list(component["properties"])
    left_out = {field.encode_name for field in msgspec.structs.fields(kind) if field.default is msgspec.UNSET}
    return [name for name in component["properties"] if name not in left_out]


def _free_tag(component: Schema, kind: type) -> None:
    """A tag tells the structs of a union apart; where there is no union it may be left out."""
    if issubclass(kind, msgspec.Struct) and (tag := kind.__struct_config__.tag_field) in component.get("required", ()):
        component["required"].remove(tag)


def _write_constants(component: Schema) -> None:
    """A list of one value as a constant: generators make an enumeration of it, and some cannot make one of booleans."""
    for schema in component.get("properties", {}).values():
        if len(schema.get("enum", ())) == 1:
            (schema["const"],) = schema.pop("enum")
            schema["type"] = "boolean" if isinstance(schema["const"], bool) else "string"
            schema.pop("default", None)


def _write_tuples(part: Any) -> None:
    """A tuple of so many items as a list of so many: few generators know lists that say each item's type."""
    if isinstance(part, dict):
        if "prefixItems" in part:
            kinds = part.pop("prefixItems")
            part["items"] = kinds[0] if all(kind == kinds[0] for kind in kinds) else {"anyOf": kinds}
        for each in part.values():
            _write_tuples(each)
    elif isinstance(part, list):
        for each in part:
            _write_tuples(each)
