"""The daemon's side of the game servers' own protocols: RCON, and A2S queries."""

from equipoise.game.port import Peer
from equipoise.game.servers import QUERY_SECONDS, PeerServers

__all__ = ["QUERY_SECONDS", "Peer", "PeerServers"]
