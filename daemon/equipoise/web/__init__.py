"""The HTTP interface: game scripts, other programs, admins. docs/protocol.md says what each route is for."""

from equipoise.web.logins import Logins
from equipoise.web.refusals import Refusals
from equipoise.web.requests import Connections, application, fitting
from equipoise.web.routes import Caller, Callers, Services

__all__ = ["Caller", "Callers", "Connections", "Logins", "Refusals", "Services", "application", "fitting"]
