-- Bots (ns2_game.md 3.9; BTC BotTeamController.lua): filled up to a number, and refilled inside JoinTeam.
local Rig = ...

local kBots = {}
local gLocked = 0

Bot = Rig.DefineClass("Bot")
function Bot:GetPlayer() return Rig.Fields(self).client:GetControllingPlayer() end
function Bot:Disconnect() Rig.RemoveBot(Rig.Fields(self).client) end

function Rig.AddBot(name)
    local client = Server.AddVirtualClient()
    if name then Rig.Fields(client:GetControllingPlayer()).name = name end
    client.bot = Rig.NewObject("Bot", { client = client })
    table.insert(kBots, client)
    return client
end

function Rig.BotCount() return #kBots end

function Rig.RemoveBot(client)
    for i, each in ipairs(kBots) do
        if each == client then table.remove(kBots, i) break end
    end
    Rig.Disconnect(client)
end

local function Think(client)
    local player = client:GetControllingPlayer()
    if not player or player:GetTeamNumber() ~= kTeamReadyRoom then return end
    local number = Rig.Fields(client).wants
    if not number or number == 0 then return end
    if GetGamerules():GetCanJoinTeamNumber(player, number) then GetGamerules():JoinTeam(player, number) end
end

-- A bot sits on team 0 until its think joins (HM [live] fact 16); refused, it asks again every tick.
function Rig.ThinkBots()
    for _, client in ipairs({ unpack(kBots) }) do
        if Rig.IsAlive(client) then Think(client) end
    end
end

local function Filler(number)
    local found = {}
    for _, client in ipairs(kBots) do
        if Rig.Fields(client).filler and Rig.Fields(client).wants == number then table.insert(found, client) end
    end
    return found
end

local function Humans(number)
    local players, _, bots = GetGamerules():GetTeam(number):GetNumPlayers()
    return players - bots
end

local function Fill(number, wanted)
    local present = Filler(number)
    for i = #present, wanted + 1, -1 do Rig.RemoveBot(present[i]) end
    for _ = #present + 1, wanted do
        local client = Rig.AddBot()
        Rig.Fields(client).filler, Rig.Fields(client).wants = true, number
        if Rig.switches.bots_join_inside then Think(client) end
    end
end

-- BTC UpdateBots: a lock counter keeps the calls that it causes from starting it again.
function Rig.UpdateBots()
    if gLocked > 0 or not GetGamerules() then return end
    local total = Rig.settings.filler_bots
    if total == 0 and #kBots == 0 then return end
    gLocked = gLocked + 1
    local none = Humans(1) + Humans(2) == 0
    for number = 1, 2 do
        Fill(number, none and 0 or math.max(0, math.floor(total / 2) - Humans(number)))
    end
    gLocked = gLocked - 1
end
