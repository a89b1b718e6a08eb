-- JoinTeam, the ways to ask for a team, and what follows from unequal teams (ns2_game.md 3).
local Rig = ...

local kFreeSpawn = 60
local kRespawnAfterJoin = 6
local kStartResources = 20
local kResources = {}

function Rig.ForgetResources()
    for key in pairs(kResources) do kResources[key] = nil end
end

-- B266 NetworkMessages.lua, later builds' copies: the client shows a text of its own for each number.
function BuildJoinErrorMessage(reason) return { reason = reason } end

-- Globals.lua of 2018 and later: above this skill tier nobody plays on a server for rookies.
kRookieMaxSkillTier = 1

-- NS2Gamerules.lua GetCanJoinTeamNumber, SG (314+), 344:1385: humans are counted without bots, bots with them; the
-- larger team is refused, reason 0, and who is no rookie where only rookies play, reason 2. S15 (2015) refused a new
-- account that had not played the tutorial, reason 1.
local function Refusal(rules, player, number)
    local client = Rig.OwnerOf(player)
    if Rig.settings.force_even_teams_on_join == true and (number == 1 or number == 2) then
        local own, _, ownBots = rules:GetTeam(number):GetNumPlayers()
        local other, _, otherBots = rules:GetTeam(3 - number):GetNumPlayers()
        if not (client and client:GetIsVirtual()) then own, other = own - ownBots, other - otherBots end
        if own > other then return 0 end
    end
    if client and Rig.Fields(client).untaught then return 1 end
    if number ~= kSpectatorIndex and Rig.info:GetRookieMode() and player:GetSkillTier() > kRookieMaxSkillTier then
        return 2
    end
end

-- Copies of 335 and later in other mods: with cheats nobody is refused; else the function sends the message itself and
-- answers false alone. SG, of 314: the refusal's number is the second answer, and who asked sends the message.
function NS2Gamerules:GetCanJoinTeamNumber(player, number)
    if Shared.GetCheatsEnabled() then return true end
    local reason = Refusal(self, player, number)
    if not reason then return true end
    if not Rig.switches.refusals_sent_inside then return false, reason end
    Server.SendNetworkMessage(player, "JoinError", BuildJoinErrorMessage(reason), true)
    return false
end

-- By account, so that they come back after a reconnect (ns2_game.md 3.6).
local function Key(client, number)
    local who = client:GetIsVirtual() and "bot" .. client:GetId() or client:GetUserId()
    return who .. "/" .. number
end

-- ns2_game.md 3.4.6: what they had on that side before, else the initial amount.
local function MoveResources(client, fresh, from, to, amount)
    kResources[Key(client, from)] = amount
    Rig.Fields(fresh).resources = kResources[Key(client, to)] or kStartResources
end

local function SpawnsAtOnce(rules, number, force)
    if number == kTeamReadyRoom or number == kSpectatorIndex or force then return true end
    return not rules:GetGameStarted() or Shared.GetTime() - rules:GetGameStartTime() < kFreeSpawn
end

-- ns2_game.md 3.4 (S15, SWS): the order of its effects. Whether 344 logs a commander out here is not known.
function NS2Gamerules:JoinTeam(player, number, force)
    local client = Server.GetOwner(player)
    if not client then return end
    local from = player:GetTeamNumber()
    if from == number and not force then return false, player end
    if Rig.switches.join_logs_commander_out and player:isa("Commander") then
        player = Rig.LogoutOf(player) or player
    end
    local resources = player:GetResources()
    local fresh
    if SpawnsAtOnce(self, number, force) then
        fresh = player:Replace(Rig.LivingClass(number), number)
    else
        fresh = player:Replace(number == 1 and "MarineSpectator" or "AlienSpectator", number)
        Rig.Fields(fresh).alive = false
        Rig.Fields(fresh).earliest = Shared.GetTime() + kRespawnAfterJoin
        self:GetTeam(number):PutPlayerInRespawnQueue(fresh)
    end
    MoveResources(client, fresh, from, number, resources)
    Rig.Fields(fresh).frozen = self.gameState == kGameState.Countdown and (number == 1 or number == 2)
    Server.SendNetworkMessage("SetClientTeamNumber", { clientId = client:GetId(), teamNumber = number }, true)
    Rig.UpdateBots()
    return true, fresh
end

-- For tests: they were there before any mod listened.
local vanilla = NS2Gamerules.JoinTeam
function Rig.Seat(client, number)
    return vanilla(GetGamerules(), client:GetControllingPlayer(), number)
end

local function Ask(client, number)
    local player = client and client:GetControllingPlayer()
    if not player then return end
    local inside = player:GetTeamNumber() == 1 or player:GetTeamNumber() == 2
    if inside and not Rig.switches.switches_sides_directly then return end
    local allowed, reason = GetGamerules():GetCanJoinTeamNumber(player, number)
    if allowed then
        GetGamerules():JoinTeam(player, number)
    elseif not Rig.switches.refusals_sent_inside then
        Server.SendNetworkMessage(player, "JoinError", BuildJoinErrorMessage(reason), true)
    end
end

-- ns2_game.md 3.3: the server sends the client a command; all decide on the counts before any of them joins.
function JoinRandomTeam(player)
    local rules = GetGamerules()
    local first, second = rules.team1:GetNumPlayers(), rules.team2:GetNumPlayers()
    local number = first < second and 1 or second < first and 2 or Shared.GetRandomInt(1, 2)
    Server.ClientCommand(player, number == 1 and "jointeamone" or "jointeamtwo")
end

local function Leave(client, number)
    local player = client and client:GetControllingPlayer()
    if player and not (number == kTeamReadyRoom and player:isa("ReadyRoomPlayer")) then
        GetGamerules():JoinTeam(player, number)
    end
end

local function HookCommands()
    for _, name in ipairs({ "jointeamone", "j1" }) do
        Event.Hook("Console_" .. name, function(client) Ask(client, 1) end)
    end
    for _, name in ipairs({ "jointeamtwo", "j2" }) do
        Event.Hook("Console_" .. name, function(client) Ask(client, 2) end)
    end
    for _, name in ipairs({ "rr", "readyroom" }) do
        Event.Hook("Console_" .. name, function(client) Leave(client, kTeamReadyRoom) end)
    end
    Event.Hook("Console_jointeamthree", function(client) JoinRandomTeam(client:GetControllingPlayer()) end)
    Event.Hook("Console_spectate", function(client) Leave(client, kSpectatorIndex) end)
end
HookCommands()

-- ns2_game.md 3.6: the gamerules' handlers are hooked when the game's scripts load, before mods' server scripts.
Event.Hook("ClientConnect", function(client)
    local fields = Rig.Fields(client)
    local player = Rig.CreateEntity("ReadyRoomPlayer",
        { name = fields.name, alive = true, resources = 0, teamNumber = kTeamReadyRoom, score = 0 })
    GetGamerules():OnEntityCreate(player)
    client:SetControllingPlayer(player)
    Rig.UpdateBots()
end)

Event.Hook("ClientDisconnect", function(client)
    local player = client:GetControllingPlayer()
    if not player then return end
    kResources[Key(client, player:GetTeamNumber())] = player:GetResources()
    local team = GetGamerules():GetTeam(player:GetTeamNumber())
    if team then team:RemovePlayer(player) end
    if Rig.switches.no_player_at_disconnect then Rig.DestroyPlayer(player) end
    Rig.UpdateBots()
end)

-- ns2_game.md 2.7: setting 0.4; after 300 s; more than 6 players; a warning, and 30 s later the end.
function Rig.CheckUnbalance(rules)
    local fraction = Rig.settings.end_round_on_team_unbalance
    local age = Shared.GetTime() - rules:GetGameStartTime()
    if not fraction or age < 300 then return end
    local first, second = rules.team1:GetNumPlayers(), rules.team2:GetNumPlayers()
    local small, large = math.min(first, second), math.max(first, second)
    if first + second <= 6 or 1 - small / large < fraction then
        rules.unbalancedAt = nil
        return
    end
    rules.unbalancedAt = rules.unbalancedAt or Shared.GetTime()
    if Shared.GetTime() - rules.unbalancedAt < 30 then return end
    rules.unbalancedAt = nil
    rules:EndGame(first > second and rules.team1 or rules.team2, true)
end

-- The setting of auto_team_balance (ns2.md 1.4: a table with `enabled`; older builds took a value for on).
local function Balances()
    local setting = Rig.settings.auto_team_balance
    if type(setting) == "table" then
        return setting.enabled ~= false
    end
    return setting == true
end

-- ns2_game.md 3.8: a difference of two or more for 10 s.
function Rig.UpdateAutoTeamBalance(rules)
    local fields = Rig.Fields(rules)
    local first, second = rules.team1:GetNumPlayers(), rules.team2:GetNumPlayers()
    local difference = math.abs(first - second)
    if difference < 2 or not Balances() then
        fields.unequal_since, fields.balance_team, fields.balance_difference = nil, nil, 0
        return
    end
    fields.unequal_since = fields.unequal_since or Shared.GetTime()
    if Shared.GetTime() - fields.unequal_since < 10 then return end
    fields.balance_team = first > second and 1 or 2
    fields.balance_difference = difference
end
