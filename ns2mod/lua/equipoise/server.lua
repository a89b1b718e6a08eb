-- Equipoise in Natural Selection 2. The daemon decides; this mod reports what happens and carries out what it orders.
-- This file and engine/ know the engine; the other files beside it run under any LuaJIT.
--
-- The engine loads a new machine for every map. Everything here lasts for one map, but for what stands in config://.

Equipoise = Equipoise or {}

local Mod = {}
Mod.__index = Mod

-- Written by build.py; from a checkout it is not.
local kVersion = "@VERSION@"
if string.sub(kVersion, 1, 1) == "@" then
    kVersion = "checkout"
end
-- How often everybody is looked at besides what the hooks say.
local kLookSeconds = 0.25
-- The engine ranks servers of so many slots, and with no more spectators' slots.
local kRankedSlots = { 12, 20 }
local kMostSpectators = 5

local function Log(text)
    Shared.Message("[Equipoise] " .. text)
end

-- `damage` and `quiet` are load.lua's: what is to be said of damaged files, and that no player is to be moved.
function Mod.New(damage, quiet)
    local mod = setmetatable({ log = Log, last = 0, nextLook = 0, heard = false, enabled = true, level = "",
        levelReason = "", inactive = quiet and "damaged" or "", unranked = "", ratings = {}, damage = damage,
        quiet = quiet }, Mod)
    mod.base = Shared.GetSystemTimeReal()
    -- A number that no other start has, below 2^53: two maps may begin in one second, the system's clock may be set
    -- back, and the generator of random numbers starts alike in every machine. The processor's time does not.
    mod.boot = Shared.GetSystemTime() * 1e6 + math.floor((mod.base + os.clock()) * 1e6) % 1e6
    mod.session = string.format("%.0f-1", mod.boot)
    mod.boundary = Equipoise.Boundary.New(Log)
    mod.config, mod.fault = Equipoise.Files.Config()
    mod.policy = Equipoise.Policy.New()
    mod.people = Equipoise.People.New(mod)
    mod.rounds = Equipoise.Rounds.New(mod)
    mod.post = Equipoise.Post.New(mod)
    mod.joins = Equipoise.Joins.New(mod)
    mod.rival = Equipoise.Rival.New()
    mod.probe = Equipoise.Probe.New(mod)
    mod.orders = Equipoise.Orders.New(mod)
    mod.commands = Equipoise.Commands.New(mod)
    mod.texts = Equipoise.Texts.New(Equipoise.Languages, mod.config.language)
    mod.chat = Equipoise.Chat.New(mod)
    mod.outbox = Equipoise.Outbox.New({
        files = { read = Equipoise.Files.Read, write = Equipoise.Files.Write },
        json = json,
        boot = mod.boot,
        server = mod.config.server,
        at = function() return mod:Now() end,
        hello = mod.boundary:Guard("the hello", function() return mod:Hello() end),
        roster = mod.boundary:Guard("the roster", function()
            return { kind = "roster", players = mod.people:Roster() }
        end),
        log = Log,
    })
    mod.outbox:Load()
    mod.rounds:Load()
    return mod
end

-- Seconds of the system's clock since the map's start. An operator may set it back; then it waits.
function Mod:Now()
    -- Deadlines and the daemon rely on a clock that does not run back.
    self.last = math.max(self.last, Shared.GetSystemTimeReal() - self.base)
    return self.last
end

function Mod:Hello()
    if not GetGamerules() then
        return nil
    end
    return {
        kind = "hello",
        plugin = kVersion,
        game = "ns2",
        map = Shared.GetMapName(),
        session = self.session,
        phase = self.policy.phase,
        slots = Server.GetMaxPlayers(),
        inactive_reason = self.inactive,
        unranked = self.unranked,
        due = false,
    }
end

-- The first that holds of what the engine looks at before it ranks a server (ns2_game.md 1.3); of its list of mods Lua
-- sees nothing, so that is what is left.
local function Unranked()
    local ranked = Server.GetIsRankingActive
    if not ranked or ranked() then
        return ""
    elseif Shared.GetCheatsEnabled() then
        return "cheats"
    elseif (Server.GetMaxSpectators and Server.GetMaxSpectators() or 0) > kMostSpectators then
        return "spectators"
    end
    local slots = Server.GetMaxPlayers()
    return (slots < kRankedSlots[1] or slots > kRankedSlots[2]) and "slots" or "mods"
end

function Mod:LookAtRanking()
    local reason = Unranked()
    if reason ~= self.unranked then
        self.unranked = reason
        self:Want("hello")
    end
end

-- Of a map that is left alone the daemon hears nothing but commands and what became of its orders. True: it is told.
function Mod:Tell(event, durable)
    local heard = durable or event.kind == "command"
    if (heard or self:Watching()) and (durable or not self.post:Lost()) then
        self.outbox:Add(event, durable)
        self.post:Soon()
        return true
    end
    return false
end

function Mod:Want(word)
    if word == "hello" or self:Watching() then
        self.outbox:Want(word)
        self.post:Soon()
    end
end

-- Rounds are reported and rated; while another mod shuffles, too.
function Mod:Watching()
    return self.inactive ~= "tournament" and self.level ~= "off"
end

-- What the daemon decides is carried out.
function Mod:Enforcing()
    return self.heard and self.enabled and self.level == "balance" and self.inactive == ""
end

-- Whether this client may use an admin's command. The game throws for a group that ServerAdmin.json names and does not
-- have; then they may not.
function Mod:May(client, command)
    local ok, found = pcall(GetClientCanRunCommand, client, command, false)
    if not ok then
        self.boundary:Report("GetClientCanRunCommand", found)
    end
    return ok and found == true
end

local function ShineShuffles()
    local shine = rawget(_G, "Shine")
    if not shine or not shine.IsExtensionEnabled then
        return false
    end
    local enabled, plugin = shine:IsExtensionEnabled("voterandom")
    if not enabled then
        return false
    end
    local policy = plugin.EnforcementPolicy
    return (policy and policy:IsActive(plugin)) or (plugin.Config and plugin.Config.AutoShuffleAtRoundStart) or false
end

-- Why this server's teams are left alone now: a match, or another shuffle that is enforced.
local function InactiveReason()
    local tournament, nsl = rawget(_G, "GetTournamentModeEnabled"), rawget(_G, "GetNSLModEnabled")
    local shine = rawget(_G, "Shine")
    if (tournament and tournament()) or (nsl and nsl())
        or (shine and shine.IsExtensionEnabled and shine:IsExtensionEnabled("tournamentmode")) then
        return "tournament"
    end
    return ShineShuffles() and "shuffle" or ""
end

function Mod:LookAside()
    local ok, reason = pcall(InactiveReason)
    if not ok then
        self.boundary:Report("asking other mods", reason)
        return
    elseif self.quiet and reason ~= "tournament" then
        reason = "damaged"
    end
    if reason ~= self.inactive then
        self.inactive = reason
        self:Forget()
        Log(reason == "" and "Active again." or "Inactive (" .. reason .. "): the game keeps its own teams.")
        self:Want("hello")
        self:Want("roster")
    end
end

-- A reply to the batch `seq`; `start` is the last start of a round that the batch could tell of.
function Mod:Obey(reply, seq, start)
    self.heard = true
    self.enabled = reply.enabled
    if self.level ~= reply.level then
        local watched = self:Watching()
        self.level, self.levelReason = reply.level, reply.level_reason
        self:Forget()
        if not watched then
            -- What happened meanwhile was not reported.
            self:Want("hello")
            self:Want("roster")
        end
    end
    for _, player in ipairs(reply.players) do
        self.ratings[player.id] = player
    end
    self.policy:Answered(reply, seq, self.post.writtenAt)
    self.cache = reply.cache or self.cache
    self.orders:Obey(reply.orders, start)
end

-- A round of a map that is left alone is none. In tournament mode none begins, and one that runs goes on: the mode may
-- be on for a moment only.
function Mod:Forget()
    if self.level == "off" then
        self.rounds:Drop()
    end
end

-- Each player reads once that Equipoise does less than all here, and why.
function Mod:Inform()
    local off = not self:Watching()
    if not off and self.inactive == "" and self.level ~= "rate" then
        return
    end
    local reason = self.inactive ~= "" and self.inactive or self.levelReason
    for id, person in pairs(self.people.byId) do
        -- Who is still loading would not see it.
        if person.lived and not person.informed then
            person.informed = true
            self.chat:Tell(id, { phrase = off and "Equipoise_MapOff" or "Equipoise_MapRate", args = { reason } })
        end
    end
end

-- Each on its own: one that fails stops no other. The first in every frame, the others when everybody is looked at.
local kFrame = {
    { "Shine's hooks", function(mod) mod:HookShine() end },
    { "the chat's hook", function(mod) mod:HookChat() end },
    { "the look at everybody", function(mod) mod:Look() end },
    { "the round", function(mod) mod.rounds:Frame() end },
    { "players who are held", function(mod) mod.joins:Expire() end },
    { "moves", function(mod) mod.orders:Frame() end },
    { "the cached splits", function(mod) mod.orders:Alone() end },
    { "the daemon", function(mod) mod.post:Frame() end },
}
local kLook = {
    { "other mods", function(mod) mod:LookAside() end },
    { "the game's own balancing", function(mod) mod.rival:Look(mod:Enforcing()) end },
    { "the game's ranking", function(mod) mod:LookAtRanking() end },
    { "the people", function(mod) mod.people:Look() end },
    { "what players are told", function(mod) mod:Inform() end },
}

function Mod:Guarded(steps)
    local guarded = {}
    for i, step in ipairs(steps) do
        guarded[i] = self.boundary:Guard(step[1], step[2])
    end
    return guarded
end

function Mod:Look()
    local now = self:Now()
    if now >= self.nextLook then
        self.nextLook = now + kLookSeconds
        for _, step in ipairs(self.looks) do
            step(self)
        end
    end
end

function Mod:Frame()
    for _, step in ipairs(self.frames) do
        step(self)
    end
end

-- With Shine a veto is its hook's to give: its wrapper may sit outside ours, and then it alone knows of its own forced
-- moves. Shine drops a hook that throws, for good.
function Mod:HookShine()
    local shine = rawget(_G, "Shine")
    if self.shine or not (shine and shine.Hook and shine.Hook.Add) then
        return
    end
    self.shine = true
    local guard = self.boundary
    shine.Hook.Add("JoinTeam", "Equipoise", guard:Guard("Shine's JoinTeam", function(_, player, team, force, shineForce)
        return self.joins:Asked(player, team, force or shineForce)
    end))
    shine.Hook.Add("PostJoinTeam", "Equipoise", guard:Guard("Shine's PostJoinTeam", function()
        self.people:Look()
    end))
    shine.Hook.Add("PlayerSay", "Equipoise", guard:Guard("Shine's PlayerSay", function(client, message)
        if self.commands:Said(client, message.message, true) then
            return ""
        end
    end))
end

function Mod:HookGame()
    local guard = self.boundary
    local function Look()
        self.people:Look()
    end
    guard:Wrap("NS2Gamerules", "JoinTeam", function(_, player, team, force)
        if not self.shine then
            return self.joins:Asked(player, team, force)
        end
    end, Look)
    guard:Wrap("NS2Gamerules", "SetGameState", nil, function() self.rounds:StateSet() end)
    guard:Wrap("NS2Gamerules", "EndGame", function(_, winner) self.rounds:Ending(winner) end,
        function() self.rounds:Ended() end)
    guard:Wrap("CommandStructure", "LoginPlayer", nil, Look)
    guard:Wrap("CommandStructure", "Logout", nil, Look)
end

-- Without Shine a chat line cannot be kept from the others. NSL's mod loads after this one and replaces what we wrap:
-- in the first frame ours goes around whatever is there.
function Mod:HookChat()
    if self.hearsChat then
        return
    end
    self.hearsChat = true
    local original = rawget(_G, "ProcessSayCommand")
    local said = self.boundary:Guard("ProcessSayCommand", function(player, text)
        if not self.shine then
            self.commands:Said(Server.GetOwner(player), text, false)
        end
    end)
    ProcessSayCommand = function(player, text, ...)
        said(player, text)
        if original then
            return original(player, text, ...)
        end
    end
end

-- All ways of changing the map that a script takes lead here; no event says so.
function Mod:HookMapChange()
    local original = Server.StartWorld
    local ends = self.boundary:Guard("Server.StartWorld", function()
        self.rounds:MapEnds()
        self.rival:Look(false)
    end)
    Server.StartWorld = function(...)
        ends()
        return original(...)
    end
end

function Mod:Start()
    local guard = self.boundary
    self.frames, self.looks = self:Guarded(kFrame), self:Guarded(kLook)
    Event.Hook("ClientConnect", guard:Guard("ClientConnect", function(client)
        self.people:Connected(client)
    end))
    Event.Hook("ClientDisconnect", guard:Guard("ClientDisconnect", function(client)
        self.people:Disconnected(client)
    end))
    Event.Hook("UpdateServer", function()
        self:Frame()
    end)
    guard:Guard("Shine's hooks", function() self:HookShine() end)()
    self:HookGame()
    guard:Guard("Server.StartWorld", function() self:HookMapChange() end)()
    guard:Guard("the commands", function() self.commands:Register() end)()
    if self.fault then
        Log(self.fault)
    end
end

local mod

-- For other mods: what the daemon said of a player, by account id; nil when it has said nothing.
function Equipoise.GetSkill(accountId)
    local found = mod and mod.ratings[string.format("%.0f", tonumber(accountId) or 0)]
    if not found then
        return nil
    end
    local skills = found.skills or {}
    return { rating = found.rating, rounds = found.rounds, marines = skills.marines, aliens = skills.aliens,
        commander = skills.commander }
end

function Mod.Run(damage, quiet)
    local ok, fault = pcall(function()
        mod = Mod.New(damage, quiet)
        mod:Start()
    end)
    if not ok then
        Log("Not started: " .. tostring(fault))
    end
end

Equipoise.Server = Mod
