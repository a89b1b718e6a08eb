-- NS2Gamerules: states, one frame, reset and end (ns2_game.md 2; S15 and CN26 NS2Gamerules.lua, SG for CheckGameStart
-- and UpdatePregame).
local Rig = ...

-- 344 Globals:265.
kGameState = enum({ "NotStarted", "WarmUp", "PreGame", "Countdown", "Started", "Team1Won", "Team2Won", "Draw" })

local kCountdownLength = 6 -- 344 Globals:114
local kRookieModeDelay = 20 -- SG
local kTimeToReadyRoom = 8
local kTimeToMapChange = 30
local kLossWindow = 0.75
local kMaxServerAge = 36000

NS2Gamerules = Rig.DefineClass("NS2Gamerules", "Entity")
local gRules

function GetGamerules() return gRules end

GameInfo = Rig.DefineClass("GameInfo", "Entity")
function GameInfo:GetStartTime() return Rig.Fields(self).started_at end
-- NS2Gamerules.lua OnCreate, SG: from the setting rookie_only, when the map begins.
function GameInfo:GetRookieMode() return Rig.Fields(self).rookies end
function GameInfo:GetState() return gRules:GetGameState() end
function GetGameInfoEntity() return Rig.info end

function Rig.NewRules()
    Rig.info = Rig.CreateEntity("GameInfo", { started_at = 0, rookies = Rig.settings.rookie_only })
    gRules = Rig.CreateEntity("NS2Gamerules", {
        gameState = kGameState.NotStarted, timeSinceGameStateChanged = 0, countdownTime = 0, gameStartTime = 0,
        worldTeam = Rig.NewTeam(0, kNeutralTeamType), team1 = Rig.NewTeam(1, kMarineTeamType),
        team2 = Rig.NewTeam(2, kAlienTeamType), spectatorTeam = Rig.NewTeam(3, kNeutralTeamType),
        playerRanking = { EndGame = function() Rig.host.ranked() end },
    })
end

function NS2Gamerules:OnMapPostLoad()
    Rig.NewCommandStructures()
end

function NS2Gamerules:GetTeam(number)
    local teams = { [0] = self.worldTeam, self.team1, self.team2, self.spectatorTeam }
    return teams[number]
end
function NS2Gamerules:GetTeam1() return self.team1 end
function NS2Gamerules:GetTeam2() return self.team2 end
function NS2Gamerules:GetGameState() return self.gameState end
function NS2Gamerules:GetGameStarted() return self.gameState == kGameState.Started end
function NS2Gamerules:GetGameStartTime() return self:GetGameStarted() and self.gameStartTime or 0 end
function NS2Gamerules:OnEntityKilled() end

function NS2Gamerules:OnEntityCreate(player)
    local team = self:GetTeam(player:GetTeamNumber())
    if team then team:AddPlayer(player) end
end

function NS2Gamerules:OnEntityDestroy(player)
    local team = self:GetTeam(player:GetTeamNumber())
    if team then team:RemovePlayer(player) end
    Rig.LeaveChair(player)
end

-- Everybody who is there at the call, once, wherever they are moved meanwhile.
function Rig.EachPlayer(fn)
    local ids = {}
    for number = 0, 3 do
        for _, id in ipairs(Rig.Fields(gRules:GetTeam(number)).ids) do table.insert(ids, id) end
    end
    for _, id in ipairs(ids) do
        local player = Shared.GetEntity(id)
        if player then fn(player, player:GetTeamNumber()) end
    end
end

-- ns2_game.md 2.3.
function NS2Gamerules:SetGameState(state)
    if state == self.gameState then return end
    self.gameState = state
    self.timeSinceGameStateChanged = 0
    Rig.host.state(kGameState[state])
    Rig.EachPlayer(function(player, number)
        Rig.Fields(player).frozen = state == kGameState.Countdown and (number == 1 or number == 2)
    end)
    if state == kGameState.Started then
        self.gameStartTime = Shared.GetTime()
        Rig.Fields(Rig.info).started_at = self.gameStartTime
        if Rig.switches.scores_reset then Rig.EachPlayer(function(player) player:ResetScores() end) end
    end
    local won = state == kGameState.Team1Won or state == kGameState.Team2Won
    if won and Shared.GetTime() >= Rig.settings.map_minutes * 60 then
        self.cycleAt = Shared.GetTime() + kTimeToMapChange
    end
end

-- ns2_game.md 2.4: both commanders start it, or cheats without any (S15 and SG CheckGameStart: PreGame is then 0 s long
-- and Countdown 1 s); a commander who leaves ends PreGame, and only PreGame.
function NS2Gamerules:CheckGameStart()
    if self.gameState > kGameState.PreGame or Rig.settings.tournament_mode then return end
    local both = (self.team1:GetHasCommander() and self.team2:GetHasCommander()) or Shared.GetCheatsEnabled()
    if both and self.gameState < kGameState.PreGame then
        self:SetGameState(kGameState.PreGame)
    elseif not both and self.gameState == kGameState.PreGame then
        self:SetGameState(kGameState.NotStarted)
    end
end

-- B266 TournamentMode.lua.
function GetTournamentModeEnabled() return Rig.settings.tournament_mode end

function NS2Gamerules:GetWarmUpPlayerLimit() return 12 end

function NS2Gamerules:UpdateWarmUp()
    if self.gameState ~= kGameState.NotStarted then return end
    local first, _, firstBots = self.team1:GetNumPlayers()
    local second, _, secondBots = self.team2:GetNumPlayers()
    local players = first + second
    if not Rig.switches.warmup_counts_bots then players = players - firstBots - secondBots end
    if players < self:GetWarmUpPlayerLimit() then self:SetGameState(kGameState.WarmUp) end
end

function NS2Gamerules:StartCountdown()
    self:ResetGame()
    self:SetGameState(kGameState.Countdown)
    self.countdownTime = Shared.GetCheatsEnabled() and 1 or kCountdownLength
end

-- SG GetPregameLength: rookies get time to take the chairs from two bots or more, also with cheats.
function NS2Gamerules:GetPregameLength()
    if Rig.info:GetRookieMode() and Rig.BotCount() >= 2 then return kRookieModeDelay end
    return Shared.GetCheatsEnabled() and 0 or Rig.switches.pregame_seconds
end

function NS2Gamerules:UpdatePregame(dt)
    if self.gameState == kGameState.PreGame then
        if self.timeSinceGameStateChanged >= self:GetPregameLength() then self:StartCountdown() end
    elseif self.gameState == kGameState.Countdown then
        self.countdownTime = self.countdownTime - dt
        if self.countdownTime <= 0 then self:SetGameState(kGameState.Started) end
    end
end

-- ns2_game.md 2.7: a loss is remembered for 0.75 s; if both have lost by then, it is a draw.
function NS2Gamerules:CheckGameEnd()
    if self.gameState ~= kGameState.Started or self.preventGameEnd or Shared.GetCheatsEnabled() then return end
    local first, second = self.team1:GetHasTeamLost(), self.team2:GetHasTeamLost()
    if not first and not second then
        self.lossAt = nil
        return Rig.CheckUnbalance(self)
    end
    self.lossAt = self.lossAt or Shared.GetTime()
    if Shared.GetTime() - self.lossAt < kLossWindow then return end
    self.lossAt = nil
    if first and second then return self:DrawGame() end
    self:EndGame(first and self.team2 or self.team1)
end

-- B266 NS2Gamerules.lua EndGame named the loser's state; S15, SG and SWS name the winner's.
local function WonState(number)
    if Rig.switches.won_states_swapped then number = 3 - number end
    return number == 1 and kGameState.Team1Won or kGameState.Team2Won
end

-- ns2_game.md 2.7: acts in Started only; the state is set inside; a draw is not ranked.
function NS2Gamerules:EndGame(winner, autoConceded)
    if self.gameState ~= kGameState.Started then return end
    self:SetGameState(winner and WonState(winner:GetTeamNumber()) or kGameState.Draw)
    Server.SendNetworkMessage("GameEnd", { win = winner and winner:GetTeamNumber() or 0 }, true)
    self.team1:ClearRespawnQueue()
    self.team2:ClearRespawnQueue()
    if winner then self.playerRanking:EndGame(winner) end
    Rig.host.ended(winner and winner:GetTeamNumber() or 0, autoConceded == true)
end

-- B266 sets the state itself.
function NS2Gamerules:DrawGame()
    if Rig.switches.draw_calls_endgame then return self:EndGame(nil) end
    if self.gameState ~= kGameState.Started then return end
    self:SetGameState(kGameState.Draw)
    Rig.host.ended(0, false)
end

-- ns2_game.md 2.5, in its order.
function NS2Gamerules:ResetGame()
    if Rig.switches.reset_state_first then self:SetGameState(kGameState.NotStarted) end
    local commanders = Rig.CommandersOut()
    if not Rig.switches.reset_state_first then self:SetGameState(kGameState.NotStarted) end
    for number = 1, 2 do
        local team = self:GetTeam(number)
        team:ClearRespawnQueue()
        Rig.Fields(team).conceded, Rig.Fields(team).destroyed = nil, nil
        for _, id in ipairs({ unpack(Rig.Fields(team).ids) }) do
            local player = Shared.GetEntity(id)
            if player then player:Replace(Rig.LivingClass(number)) end
        end
    end
    Rig.ForgetResources()
    Rig.NewCommandStructures()
    Rig.CommandersBack(commanders)
    self.preventGameEnd = nil
    Rig.host.was_reset()
end

local kOver = { [kGameState.Team1Won] = true, [kGameState.Team2Won] = true, [kGameState.Draw] = true }

-- ns2_game.md 2.7: everybody goes to the ready room while the state is still won or draw.
function NS2Gamerules:UpdateToReadyRoom()
    if not kOver[self.gameState] or self.timeSinceGameStateChanged < kTimeToReadyRoom then return end
    Rig.CommandersOut()
    Rig.EachPlayer(function(player) self:JoinTeam(player, kTeamReadyRoom) end)
    self:ResetGame()
end

function NS2Gamerules:UpdateMapCycle()
    local next_map = Rig.settings.next_map
    if self.cycleAt and Shared.GetTime() >= self.cycleAt and next_map ~= Rig.map then
        self.cycleAt = nil
        MapCycle_CycleMap()
    elseif Shared.GetTime() > kMaxServerAge and not self:GetGameStarted() then
        Server.StartWorld({}, Rig.map)
    end
end

-- ns2_game.md 2.2.
function NS2Gamerules:OnUpdate(dt)
    if not self.wasReset then
        self.wasReset = true
        self:ResetGame()
    end
    self:CheckGameStart()
    self:CheckGameEnd()
    self:UpdateWarmUp()
    self:UpdatePregame(dt)
    self:UpdateToReadyRoom()
    self:UpdateMapCycle()
    Rig.UpdateAutoTeamBalance(self)
    self.timeSinceGameStateChanged = self.timeSinceGameStateChanged + dt
    for number = 0, 3 do self:GetTeam(number):Update() end
end
