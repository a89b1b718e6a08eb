"""A mod that writes down what it sees: the order of calls is what the scenarios of the reference are about."""

from __future__ import annotations

from pathlib import Path

from tests.ns2mod.rig import Game, write_mod

PROBE = """
local function Note(...) Shared.Message("> " .. table.concat({ ... }, " ")) end

local function NameOf(client)
    local player = client and client:GetControllingPlayer()
    return player and player:GetName() or "nil"
end

local function Wrap(class, method, before, after)
    local original
    original = Class_ReplaceMethod(class, method, function(...)
        if before then before(...) end
        local a, b = original(...)
        if after then after(a, b, ...) end
        return a, b
    end)
end

Wrap("NS2Gamerules", "JoinTeam", function(rules, player, team, force)
    Note("J", player:GetName(), team, tostring(force))
end, function(success, fresh, rules, player, team)
    Note("J", "returns", tostring(success), fresh and fresh:GetName() or "nil", fresh and fresh:GetTeamNumber() or "-")
end)
Wrap("NS2Gamerules", "SetGameState", nil, function(_, _, _, state) Note("S", kGameState[state]) end)
Wrap("NS2Gamerules", "EndGame", function(rules, winner)
    Note("E", winner and winner:GetTeamNumber() or "nil", "in", kGameState[rules:GetGameState()])
end, function(_, _, rules) Note("E", "done", kGameState[rules:GetGameState()]) end)
Wrap("NS2Gamerules", "ResetGame", function() Note("R") end, function() Note("R", "done") end)
Wrap("CommandStructure", "LoginPlayer", function(_, player)
    Note("login", player:GetName(), tostring(player:isa("Commander")))
end, function(commander) Note("login", "returns", tostring(commander:isa("Commander"))) end)
Wrap("CommandStructure", "OnCommanderLogin", function(_, commander) Note("structure login", commander:GetName()) end)
Wrap("CommandStructure", "Logout", function() Note("logout") end)
Wrap("NS2Gamerules", "OnCommanderLogin", function() Note("veto asked") end)
Wrap("NS2Gamerules", "OnEntityCreate", function(_, player) Note("created", player:GetName()) end, function(_, _, rules)
    Note("lists", #rules.team1:GetPlayers(), #rules.team2:GetPlayers(), "counted", (rules.team1:GetNumPlayers()))
end)

Event.Hook("ClientConnect", function(client) Note("CC", client:GetUserId(), NameOf(client)) end)
Event.Hook("ClientDisconnect", function(client)
    local player = client:GetControllingPlayer()
    Note("CD", client:GetUserId(), player and player:GetTeamNumber() or "nil")
end)
Event.Hook("MapPreLoad", function() Note("MapPreLoad", tostring(GetGamerules())) end)
Event.Hook("MapPostLoad", function() Note("MapPostLoad", tostring(GetGamerules())) end)
"""


def probed(folder: Path, **options: object) -> Game:
    """A booted server with the probe."""
    return Game([write_mod(folder, "probe", PROBE)], **options).boot()  # type: ignore[arg-type]


def seen(game: Game, *kinds: str) -> list[str]:
    """What the probe noted since the last call, of some kinds or of all."""
    lines = [line.removeprefix("> ") for line in game.messages if line.startswith("> ")]
    game.messages.clear()
    return [line for line in lines if not kinds or line.split(" ")[0] in kinds]


def two_commanders(game: Game, per_side: int = 3) -> tuple[list, list]:
    """People on both sides, of whom the first of each commands."""
    sides = []
    for team in 1, 2:
        people = [game.connect(100 * team + number, f"{'MA'[team - 1]}{number}") for number in range(per_side)]
        assert all(game.join(person, team) for person in people)
        assert people[0].commands()
        sides.append(people)
    return sides[0], sides[1]
