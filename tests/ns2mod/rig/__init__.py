"""A fake Natural Selection 2 server for Lua mods: README.md."""

from .clients import Client
from .files import Files
from .game import FRAME, Game
from .mods import write_mod
from .network import Network
from .switches import Switches

__all__ = ["FRAME", "Client", "Files", "Game", "Network", "Switches", "write_mod"]
