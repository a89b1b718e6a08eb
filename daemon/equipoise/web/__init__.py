"""The HTTP interface: game scripts, other programs, admins."""

from equipoise.web.callers import Caller, Callers
from equipoise.web.http import Server
from equipoise.web.server import application, refusals
from equipoise.web.services import Services

__all__ = ["Caller", "Callers", "Server", "Services", "application", "refusals"]
