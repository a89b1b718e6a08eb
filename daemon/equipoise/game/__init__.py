"""The daemon's side of the game servers' own protocols: RCON, and A2S queries."""

from equipoise.game.port import Peer
from equipoise.game.servers import PeerServers

__all__ = ["Peer", "PeerServers"]
