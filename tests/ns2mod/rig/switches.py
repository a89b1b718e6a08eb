"""What the sources cannot say (ns2_game.md section 11): each of them is tried both ways."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Switches:
    """One server of those that may exist; the defaults are the likelier ones."""

    rules_before_hooks: bool = True
    """The gamerules' OnUpdate runs before the UpdateServer hooks of a frame (11 #2)."""
    replies_before_frame: bool = True
    """Answers to HTTP requests are delivered before the rest of a frame (11 #2)."""
    disconnect_at_map_change: bool = False
    """ClientDisconnect runs for everybody at a map change (11 #3)."""
    requests_survive_map_change: bool = True
    """Requests that wait for a slot are sent although the machine that asked is gone (11 #3)."""
    no_player_at_disconnect: bool = False
    """At ClientDisconnect the client has no player; otherwise one whose team is -1 (3.6)."""
    join_logs_commander_out: bool = False
    """JoinTeam calls CommandStructure:Logout for a commander (11 #1)."""
    switches_sides_directly: bool = False
    """A player may go from one side to the other by command, without the ready room (3.3)."""
    bots_join_inside: bool = True
    """A filler bot joins inside the JoinTeam that asked for it; otherwise when it thinks next (3.4 #9, 3.9)."""
    warmup_counts_bots: bool = False
    """Bots count towards the 12 players that end the warm-up (11 #1)."""
    reset_state_first: bool = True
    """ResetGame sets NotStarted before the commanders leave their chairs (2.5: CN26), or after it (S15)."""
    won_states_swapped: bool = False
    """Team2Won when team 1 won, as build 266 had it (2.7)."""
    draw_calls_endgame: bool = True
    """Two lost sides end by EndGame(nil); build 266 set the state without it (2.7)."""
    scores_reset: bool = True
    """Everybody's scores begin at 0 when a round starts (S15's SetGameState), or go on from round to round (2.6)."""
    pregame_seconds: float = 3.0
    """Length of PreGame; 3 and 5 were seen (11 #1)."""
    round_trip: float = 0.1
    """Seconds until a command that the server gave to a client comes back (3.3)."""
    network_hooks_add: bool = True
    """A second HookNetworkMessage of a name adds; otherwise it replaces (11 #5)."""
    refusals_sent_inside: bool = True
    """GetCanJoinTeamNumber sends the client its refusal and answers false (335 and later), or answers the reason too,
    and its caller sends it (314)."""
    callback_has_status: bool = True
    """An HTTP callback gets body, error, code and status (drops of 26-09, 12.1); before, an answer came as a body alone
    and a failure without a status."""
    form_is_encoded: bool = True
    """Form fields are percent-encoded; otherwise they are sent as they are (11 #4)."""
    load_errors_pass: bool = False
    """An error in a file that Script.Load loads reaches who called it; otherwise it is reported, and the caller goes on
    (1.4: SH core/shared/extensions.lua takes loadfile because Script.Load "does not" let errors be caught)."""
    largest_reply: int | None = None
    """Bytes of a reply beyond which a request fails (11 #4)."""
    json_digits: int = 14
    """Digits that json.encode writes (11 #8)."""
