-- Players: the classes, and the replacement of one entity by another.
local Rig = ...

Player = Rig.DefineClass("Player", "Entity")

-- B266 Globals.lua: everybody's name until their client has sent theirs, which is after ClientConnect (NSL's copy of
-- Player:GetName and of the command that sets a name).
kDefaultPlayerName = "NSPlayer"
function Player:GetName() return Rig.Fields(self).name end
function Player:GetIsAlive() return Rig.Fields(self).alive end
function Player:GetResources() return Rig.Fields(self).resources end
function Player:SetName(name) Rig.Fields(self).name = name end
function Player:GetTeam() return GetGamerules():GetTeam(self:GetTeamNumber()) end
function Player:GetIsFrozen() return Rig.Fields(self).frozen == true end

function Player:GetSteamId()
    local owner = Rig.OwnerOf(self)
    return owner and owner:GetUserId() or 0
end

-- ns2_game.md 8: -1 until Steam's statistics arrived, 0 for bots.
function Player:GetPlayerSkill()
    local owner = Rig.OwnerOf(self)
    return owner and Rig.Fields(owner).skill or -1
end
-- The tier that the scoreboard shows, from the skill: -1 until Steam's statistics arrived.
function Player:GetSkillTier()
    local owner = Rig.OwnerOf(self)
    return owner and Rig.Fields(owner).tier or -1
end
function Player:GetPlayerSkillOffset()
    local owner = Rig.OwnerOf(self)
    return owner and Rig.Fields(owner).skill_offset or 0
end
function Player:GetCommanderSkill()
    local owner = Rig.OwnerOf(self)
    return owner and Rig.Fields(owner).commander_skill or self:GetPlayerSkill()
end
function Player:GetCommanderSkillOffset() return 0 end

-- ns2_game.md 3.7: 0 if it was never set: a client that still loads looks active.
function Player:GetAFKTime()
    local owner = Rig.OwnerOf(self)
    local last = owner and Rig.Fields(owner).timeLastNotAFK
    return last and Shared.GetTime() - last or 0
end

function Player:OnProcessMove() end
function Player:OnCommanderStructureLogin() end
function Player:OnCommanderStructureLogout() end

-- ns2_game.md SM20 (ScoringMixin): nil before the first of each; nothing but deaths counts in the warm-up.
local kNoted = { "kills", "assistkills", "deaths" }
function Player:GetKills() return Rig.Fields(self).kills end
function Player:GetAssistKills() return Rig.Fields(self).assistkills end
function Player:GetDeaths() return Rig.Fields(self).deaths end
function Player:GetScore() return Rig.Fields(self).score end
local function Add(player, name, number)
    Rig.Fields(player)[name] = (Rig.Fields(player)[name] or 0) + number
end
local function IsWarmUp() return kGameState[GetGamerules():GetGameState()] == "WarmUp" end
function Player:AddKill() if not IsWarmUp() then Add(self, "kills", 1) end end
function Player:AddAssistKill() if not IsWarmUp() then Add(self, "assistkills", 1) end end
function Player:AddScore(points) if not IsWarmUp() then Add(self, "score", points) end end
function Player:AddDeaths() Add(self, "deaths", 1) end
function Player:ResetScores()
    local fields = Rig.Fields(self)
    fields.score = 0
    for _, name in ipairs(kNoted) do fields[name] = 0 end
end
function Player:Reset() end

-- ns2_game.md 3.4 (S15, SWS): the new entity is created on the new team first, data is copied, the old entity is
-- destroyed, then the client is attached. In between the team lists both and nothing has an owner.
function Player:Replace(className, teamNumber)
    local old = Rig.Fields(self)
    local rules = GetGamerules()
    local client = Rig.OwnerOf(self)
    local fresh = Rig.CreateEntity(className, { name = old.name, alive = true, resources = old.resources,
        teamNumber = teamNumber or old.teamNumber, score = old.score or 0, kills = old.kills or 0,
        assistkills = old.assistkills or 0, deaths = old.deaths or 0 })
    rules:OnEntityCreate(fresh)
    Rig.DestroyPlayer(self)
    if client then client:SetControllingPlayer(fresh) end
    return fresh
end

function Rig.DestroyPlayer(player)
    GetGamerules():OnEntityDestroy(player)
    Rig.DestroyEntity(player)
end

-- ns2_game.md 2.7, 3.4: killed players stay on their team and wait as a spectator entity of it.
function Player:Kill()
    local fields = Rig.Fields(self)
    if not fields.alive then return end
    fields.alive = false
    self:AddDeaths()
    GetGamerules():OnEntityKilled(self)
end

for _, pair in ipairs({
    { "ReadyRoomPlayer", "Player" }, { "Marine", "Player" }, { "JetpackMarine", "Marine" }, { "Exo", "Player" },
    { "Alien", "Player" }, { "Skulk", "Alien" }, { "Gorge", "Alien" }, { "Lerk", "Alien" }, { "Fade", "Alien" },
    { "Onos", "Alien" }, { "Embryo", "Alien" }, { "Commander", "Player" }, { "MarineCommander", "Commander" },
    { "AlienCommander", "Commander" }, { "Spectator", "Player" }, { "TeamSpectator", "Spectator" },
    { "MarineSpectator", "TeamSpectator" }, { "AlienSpectator", "TeamSpectator" },
}) do Rig.DefineClass(pair[1], pair[2]) end

local kWaiting = { "MarineSpectator", "AlienSpectator" }
local kLiving = { "Marine", "Skulk" }
local kOutside = { [0] = "ReadyRoomPlayer", [3] = "Spectator" }

function Rig.LivingClass(teamNumber)
    return kOutside[teamNumber] or kLiving[teamNumber]
end

function Rig.WaitAsSpectator(player)
    local fresh = player:Replace(kWaiting[player:GetTeamNumber()])
    Rig.Fields(fresh).alive = false
    return fresh
end
