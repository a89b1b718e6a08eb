-- Teams: their lists, queues and commanders.
local Rig = ...

kTeamInvalid, kTeamReadyRoom, kTeam1Index, kTeam2Index, kSpectatorIndex = -1, 0, 1, 2, 3
kNeutralTeamType, kMarineTeamType, kAlienTeamType, kRandomTeamType = 0, 1, 2, 3

Team = Rig.DefineClass("Team")

function Team:GetTeamNumber() return Rig.Fields(self).number end
function Team:GetTeamType() return Rig.Fields(self).kind end

-- B266 Team.lua ForEachPlayer: walks the ids, ends where the function returns false.
function Team:ForEachPlayer(fn)
    for _, id in ipairs(Rig.Fields(self).ids) do
        local player = Shared.GetEntity(id)
        if player and fn(player) == false then return end
    end
end

-- SH comment: one table is filled anew at every call.
function Team:GetPlayers()
    local list = Rig.Fields(self).list
    for i = #list, 1, -1 do list[i] = nil end
    self:ForEachPlayer(function(player) table.insert(list, player) end)
    return list
end

-- ns2_game.md 3.1 (344 Team:126): players with bots, rookies, bots; entities without an owner are not counted.
function Team:GetNumPlayers()
    local players, bots = 0, 0
    self:ForEachPlayer(function(player)
        local client = Rig.OwnerOf(player)
        if client then
            players = players + 1
            if client:GetIsVirtual() then bots = bots + 1 end
        end
    end)
    return players, 0, bots
end

function Team:GetCommander()
    local found
    self:ForEachPlayer(function(player) if player:isa("Commander") then found = player end end)
    return found
end

function Team:GetHasCommander() return self:GetCommander() ~= nil end

function Team:AddPlayer(player)
    table.insert(Rig.Fields(self).ids, player:GetId())
end

-- ns2_game.md 3.4: the old entity's team becomes -1.
function Team:RemovePlayer(player)
    local fields, id = Rig.Fields(self), player:GetId()
    for i, each in ipairs(fields.ids) do
        if each == id then
            table.remove(fields.ids, i)
            break
        end
    end
    self:RemovePlayerFromRespawnQueue(player)
    Rig.Fields(player).teamNumber = kTeamInvalid
end

function Team:PutPlayerInRespawnQueue(player)
    Rig.Fields(self).queue[player:GetId()] = Shared.GetTime()
end

function Team:RemovePlayerFromRespawnQueue(player)
    local fields, id = Rig.Fields(self), player:GetId()
    fields.queue[id] = nil
    fields.held[id] = nil
end

function Team:ClearRespawnQueue()
    Rig.Fields(self).queue = {}
    Rig.Fields(self).held = {}
end

local function Respawn(team, player)
    team:RemovePlayerFromRespawnQueue(player)
    return player:Replace(Rig.LivingClass(team:GetTeamNumber()))
end
Rig.Respawn = Respawn

-- ns2_game.md 3.8: the larger team holds up to *difference* of its respawning players in a second queue.
local function Holds(team, waiting)
    local fields = Rig.Fields(team)
    local rules = Rig.Fields(GetGamerules())
    local limit = rules.balance_team == team:GetTeamNumber() and rules.balance_difference or 0
    local held = 0
    for _ in pairs(fields.held) do held = held + 1 end
    if limit == 0 then fields.held = {} end
    if held < limit then fields.held[waiting] = true end
    return limit > 0 and fields.held[waiting] == true
end

-- The time to respawn is the map's (infantry portals, eggs); here it is one number.
function Team:Update()
    local fields = Rig.Fields(self)
    for _, id in ipairs({ unpack(fields.ids) }) do
        local player = Shared.GetEntity(id)
        local queued = fields.queue[id]
        if player and queued and not Holds(self, id) then
            local earliest = Rig.Fields(player).earliest or 0
            if Shared.GetTime() >= math.max(earliest, queued + Rig.settings.respawn_seconds) then Respawn(self, player) end
        elseif player and not queued and not player:GetIsAlive() and not player:isa("Spectator") then
            self:PutPlayerInRespawnQueue(Rig.WaitAsSpectator(player))
        end
    end
end

function Rig.NewTeam(number, kind)
    return Rig.NewObject("Team", { number = number, kind = kind, ids = {}, list = {}, queue = {}, held = {} })
end

function Team:SetConceded() Rig.Fields(self).conceded = true end

-- ns2_game.md 2.7: no players at all, no command structure, conceded, or no living player and no way to respawn.
function Team:GetHasTeamLost()
    local fields = Rig.Fields(self)
    return fields.conceded or fields.destroyed or self:GetNumPlayers() == 0
end
