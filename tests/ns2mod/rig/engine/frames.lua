-- One frame of the server, and loading (ns2_game.md 1.1, 2.2).
local Rig = ...

local function UpdateEntities(dt)
    if Rig.paused then return end
    local rules = GetGamerules()
    Rig.Protected("NS2Gamerules:OnUpdate", rules.OnUpdate, rules, dt)
    Rig.Protected("CommandStructure:OnUpdate", Rig.UpdateChairs)
    Rig.Protected("Bot:OnThink", Rig.ThinkBots)
end

-- Which of the entities' update and the UpdateServer hooks comes first is not known (ns2_game.md 2.2).
function Rig.Frame(dt)
    if Rig.switches.rules_before_hooks then UpdateEntities(dt) end
    Rig.Fire("UpdateServer", dt)
    if not Rig.switches.rules_before_hooks then UpdateEntities(dt) end
    Rig.RunClientCommands()
end

-- ns2_game.md 1.1 #6: the gamerules are made while the map loads, in the game's own handler.
function Rig.LoadMap()
    Rig.Fire("MapPreLoad")
    Rig.NewRules()
    GetGamerules():OnMapPostLoad()
    Rig.Fire("MapPostLoad")
end

-- From the tests: each is something that the engine or a person does between two frames.
function Rig.Act(what, fn, ...)
    return (Rig.Protected(what, fn, ...))
end

function Rig.Describe(client)
    local player = client:GetControllingPlayer()
    if not player then return nil end
    return player:GetTeamNumber(), Rig.ClassOf(player), Rig.Fields(player).alive, Rig.Fields(player).id,
        Rig.Fields(player).resources, Rig.Fields(player).frozen == true
end

function Rig.JoinTeam(client, number, force)
    return GetGamerules():JoinTeam(client:GetControllingPlayer(), number, force)
end

function Rig.EndGame(number)
    local rules = GetGamerules()
    rules:EndGame(number and rules:GetTeam(number) or nil)
end

function Rig.ResetGame() GetGamerules():ResetGame() end

function Rig.SetGameState(name)
    GetGamerules():SetGameState(kGameState[name])
end

function Rig.TeamSays(number, what)
    Rig.Fields(GetGamerules():GetTeam(number))[what] = true
end

function Rig.TeamNames(number)
    local names = {}
    GetGamerules():GetTeam(number):ForEachPlayer(function(player) table.insert(names, player:GetName()) end)
    return names
end

-- Death is a Replace too, one frame after it (Team:Update); evolving, armour and suits are one at once.
function Rig.Become(client, className)
    local player = client:GetControllingPlayer()
    return player:Replace(className)
end

function Rig.Input(client)
    client.timeLastNotAFK = Shared.GetTime()
    client:GetControllingPlayer():OnProcessMove({})
end

-- Shine's `pregame` and `tournamentmode`, and HM, start rounds so: PreGame never comes (ns2_game.md 2.4).
function Rig.StartWithoutPreGame()
    local rules = GetGamerules()
    rules:ResetGame()
    rules:SetGameState(kGameState.Countdown)
    rules.countdownTime = 6
end

CreateServerAdminCommand("Console_sv_reset", function() GetGamerules():ResetGame() end, "resets the round")
CreateServerAdminCommand("Console_sv_cheats", function(_, on) Rig.settings.cheats = on == "1" end, "cheats on or off")
CreateServerAdminCommand("Console_sv_changemap", function(_, map) MapCycle_ChangeMap(map) end, "changes the map")
CreateServerAdminCommand("Console_sv_rrall", function()
    Rig.EachPlayer(function(player) GetGamerules():JoinTeam(player, kTeamReadyRoom) end)
end, "sends everybody to the ready room")
CreateServerAdminCommand("Console_sv_switchteam", function(_, name, number)
    Rig.EachPlayer(function(player)
        if player:GetName() == name then GetGamerules():JoinTeam(player, tonumber(number)) end
    end)
end, "moves a player")

function Rig.Slay(player) player:Kill() end
function Rig.Credit(player, method, ...) player[method](player, ...) end
function Rig.RespawnNow(player) return Rig.Respawn(player:GetTeam(), player) end

Rig.LinkClasses("Entity")
