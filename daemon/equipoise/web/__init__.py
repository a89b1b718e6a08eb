"""The HTTP interface: game scripts, other programs, admins."""

from equipoise.web.callers import Caller, Callers
from equipoise.web.connections import Connections, fitting
from equipoise.web.refusals import Refusals
from equipoise.web.server import application
from equipoise.web.services import Services

__all__ = ["Caller", "Callers", "Connections", "Refusals", "Services", "application", "fitting"]
