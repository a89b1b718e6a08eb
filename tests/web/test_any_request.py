"""Requests made from /openapi.json, valid and not, by every caller: each is answered as the document says."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
import schemathesis
from hypothesis import given, note
from schemathesis import GenerationMode
from schemathesis import checks as check
from schemathesis.schemas import APIOperation

from equipoise.web.openapi import TABLE, document
from tests.web.daemon import SECRETS, Daemon
from tests.web.made_up import FEW

pytestmark = pytest.mark.slow

CHECKS = [
    check.not_a_server_error,
    check.status_code_conformance,
    check.content_type_conformance,
    check.response_schema_conformance,
    check.response_headers_conformance,
]
CALLERS = ["none", *SECRETS]
NAMES = {"server": ["arena-1", "ns2-1"], "pool": ["main"]}
"""What exists in the tests' daemon, which the document cannot know."""
TEXTS = ("/metrics", "/v1/admin/pools/{pool}/export")
"""Their answers are no JSON, except refusals."""
ENDLESS = "/v1/live"
"""A caller who waits for the end of its answer waits for ever; tests/web/test_live.py asks for it."""
PRINTABLE = "^[ -~]*$"


def document_of_this_daemon() -> dict[str, Any]:
    """The document, narrowed where nearly every request that it allows would be refused at once.

    Servers and pools are those of the daemon, and text is printable: JSON schema has no word for that.
    """
    described: dict[str, Any] = json.loads(document(TABLE), object_hook=_printable)
    schemas = described["components"]["schemas"]
    for operation in (each for methods in described["paths"].values() for each in methods.values()):
        for parameter in operation["parameters"]:
            if parameter["name"] in NAMES:
                parameter["schema"] = {"enum": NAMES[parameter["name"]]}
    for struct in ("Batch", "Submission"):
        schemas[struct]["properties"]["server"] = {"enum": NAMES["server"]}
    schemas["SplitsAsked"]["properties"]["pool"] = {"enum": NAMES["pool"]}
    return described


def _printable(schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "pattern": PRINTABLE} if schema.get("type") == "string" and "maxLength" in schema else schema


SCHEMA = schemathesis.openapi.from_dict(document_of_this_daemon())
OPERATIONS = [found.ok() for found in SCHEMA.get_all_operations() if found.ok().path != ENDLESS]


def test_every_route_is_asked() -> None:
    assert len(OPERATIONS) == len(TABLE) - 1


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.label)
def test_any_request_is_answered_as_the_document_says(
    attacked: Daemon, operation: APIOperation, caplog: pytest.LogCaptureFixture
) -> None:
    address = f"http://{attacked.host}:{attacked.port}"

    @FEW
    @given(operation.as_strategy(generation_mode=GenerationMode.POSITIVE))
    def valid(case: schemathesis.Case) -> None:
        # What a body's or an id's schema cannot say is refused all the same.
        assert 422 not in statuses(case) or operation.method != "get" or "{id}" in operation.path

    @FEW
    @given(operation.as_strategy(generation_mode=GenerationMode.NEGATIVE))
    def invalid(case: schemathesis.Case) -> None:
        statuses(case)

    def statuses(case: schemathesis.Case) -> set[int]:
        return {send(case, who) for who in CALLERS}

    def send(case: schemathesis.Case, who: str) -> int:
        note(f"sent by {who}")
        headers = {} if who == "none" else {"Authorization": f"Bearer {SECRETS[who]}"}
        response = case.call(base_url=address, headers=headers)
        case.validate_response(response, checks=CHECKS)
        if response.status_code != 200 or operation.path not in TEXTS:
            assert isinstance(response.json(), dict)
            assert operation.path == "/openapi.json" or isinstance(response.json()["ok"], bool)
        return response.status_code

    with caplog.at_level(logging.ERROR):
        valid()
        if operation.path != "/healthz":  # nothing of it can be invalid
            invalid()
    # A warning says that this machine was busy.
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []
