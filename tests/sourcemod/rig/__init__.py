"""A fake Team Fortress 2 server that runs real SourcePawn bytecode. How to use it: ../README.md."""

from . import sm
from .compile import CompileError, compile_plugin, compile_text
from .game import facts, play
from .game.game import Game
from .game.players import Player
from .plugin import LoadError, Plugin

__all__ = [
    "CompileError",
    "Game",
    "LoadError",
    "Player",
    "Plugin",
    "compile_plugin",
    "compile_text",
    "facts",
    "play",
    "sm",
]
