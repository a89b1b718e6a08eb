"""The HTTP interface: game scripts, other programs, admins. docs/protocol.md says what each route is for."""

from equipoise.web.connections import Connections, fitting
from equipoise.web.guards import Caller, Callers
from equipoise.web.refusals import Refusals
from equipoise.web.requests import application
from equipoise.web.routes import Services

__all__ = ["Caller", "Callers", "Connections", "Refusals", "Services", "application", "fitting"]
