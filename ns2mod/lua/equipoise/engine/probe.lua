-- What no public source says of the game, written into the server's log by sv_eq_probe, to be sent to us. It changes
-- nothing in the game, and names no player, no address and no secret.

Equipoise = Equipoise or {}

local Probe = {}
Probe.__index = Probe

-- So many frames are looked at for the order of things in them, and so long for the states of a round.
local kFrames = 120
local kWatchSeconds = 1800
local kSettings = { "force_even_teams_on_join", "auto_team_balance", "end_round_on_team_unbalance", "rookie_only",
    "filler_bots", "max_http_requests" }
-- The tables of the mod's files, whose functions tell how far each file was read.
local kFiles = { "Codec", "Reply", "Ring", "Outbox", "Record", "Plan", "Policy", "Texts", "Fallback", "Boundary",
    "Files", "People", "Rounds", "Post", "Joins", "Rival", "Orders", "Chat", "Commands", "Server" }

function Probe.New(mod)
    return setmetatable({ mod = mod }, Probe)
end

function Probe:Say(format, ...)
    self.mod.log("probe: " .. string.format(format, ...))
end

-- The values as one line, with their types where that is not plain, and how many there are.
local function Values(...)
    local words = {}
    for i = 1, select("#", ...) do
        local value = select(i, ...)
        if type(value) == "string" and #value > 80 then
            value = #value .. " bytes"
        end
        words[i] = (type(value) == "string" and "%q" or "%s"):format(tostring(value))
    end
    return #words .. " (" .. table.concat(words, ", ") .. ")"
end

-- One fact: what a call returns, or that it fails.
function Probe:Fact(name, fn, ...)
    self:Say("%s: %s", name, Values(select(2, pcall(fn, ...))))
end

-- A name of the engine that this build may not have.
function Probe:Ask(name, library, method, ...)
    local fn = library[method]
    if fn then
        self:Fact(name .. "." .. method, fn, ...)
    else
        self:Say("%s.%s is not there", name, method)
    end
end

function Probe:Build()
    self:Say("equipoise %s, map %s, state %s", self.mod:Hello().plugin, Shared.GetMapName(), self.mod.policy.state)
    self:Ask("Shared", Shared, "GetBuildNumber")
    self:Ask("Server", Server, "GetIsRankingActive")
    self:Ask("Server", Server, "GetNumActiveMods")
    local jit = rawget(_G, "jit")
    self:Say("lua: %s, %s", _VERSION, jit and jit.version or "no jit")
    self:Say("json: %s %s %s", json.encode(1 / 3), json.encode({}), json.encode({ 1e15, "é" }))
    for _, name in ipairs(kSettings) do
        local value = Server.GetConfigSetting(name)
        self:Say("setting %s: %s", name, type(value) == "table" and json.encode(value) or tostring(value))
    end
end

-- Where the last of each file's functions is, as the machine has it: the preprocessor adds lines, and may drop some.
function Probe:Preprocessed()
    local words = {}
    for _, name in ipairs(kFiles) do
        local count, last = 0, 0
        for _, fn in pairs(Equipoise[name] or {}) do
            if type(fn) == type(print) then
                local info = debug.getinfo(fn, "S")
                count, last = count + 1, math.max(last, info.lastlinedefined)
            end
        end
        words[#words + 1] = string.format("%s %d/%d", name, count, last)
    end
    self:Say("functions and last line of each file: %s", table.concat(words, ", "))
    for _, line in ipairs(self.mod.damage) do
        self:Say("%s", line)
    end
end

function Probe:Shine()
    local shine = rawget(_G, "Shine")
    if not shine then
        self:Say("no Shine")
        return
    end
    local enabled = {}
    for name, plugin in pairs(shine.Plugins or {}) do
        if type(plugin) == "table" and plugin.Enabled then
            enabled[#enabled + 1] = tostring(name)
        end
    end
    table.sort(enabled)
    self:Say("Shine's plugins: %s", table.concat(enabled, " "))
end

-- What the game says of people, of at most three: which values there are, and their kind.
function Probe:People()
    local rules, count = GetGamerules(), 0
    for _, person in pairs(self.mod.people.byId) do
        local player = person.client:GetControllingPlayer()
        if player and not person.bot and count < 3 then
            count = count + 1
            for _, name in ipairs({ "GetPlayerSkill", "GetPlayerSkillOffset", "GetCommanderSkill",
                "GetCommanderSkillOffset", "GetSkillTier", "GetAFKTime", "GetIsAlive", "GetTeamNumber" }) do
                if player[name] then
                    self:Fact("player " .. count .. "." .. name, player[name], player)
                else
                    self:Say("player %d.%s is not there", count, name)
                end
            end
            -- With the refusal that later builds send themselves, which the player does not see.
            for team = 1, 2 do
                local allowed, reason = Equipoise.Joins.Ask(rules, player, team)
                self:Say("player %d.GetCanJoinTeamNumber %d: %s, reason %s", count, team, tostring(allowed),
                    tostring(reason))
            end
        end
    end
    self:Say("people: %d looked at", count)
end

-- A request to the daemon, then one to a port where nothing listens; no two at once.
function Probe:Requests()
    local urls = { { "daemon", self.mod.config.url .. "/healthz" }, { "closed port", "http://127.0.0.1:9/" } }
    local function Next()
        local one = table.remove(urls, 1)
        if not one then
            return
        end
        local sentAt, frame = Shared.GetSystemTimeReal(), self.frame
        local answered = self.mod.boundary:Guard("the probe's answer", function(...)
            local tick = Shared.GetTime() == self.hookedAt and "after" or "before"
            self:Say("HTTP %s: %s in %.3f s, %d frames, %s UpdateServer", one[1], Values(...),
                Shared.GetSystemTimeReal() - sentAt, self.frame - frame, tick)
            Next()
        end)
        Shared.SendHTTPRequest(one[2], "GET", answered)
    end
    Next()
end

-- In every frame after the command. The gamerules add each frame's time to that of their state: whether they have added
-- this one's, or only the one before, tells whether they come first. NSL's pause, and a new state, tell nothing.
function Probe:Frame(dt)
    if not self.watching then
        return
    end
    self.frame, self.hookedAt = self.frame + 1, Shared.GetTime()
    local rules = GetGamerules()
    local state, since = rules:GetGameState(), rules.timeSinceGameStateChanged
    if state == self.state and self.frame <= kFrames and type(since) == "number" then
        local step = since - self.since
        if math.abs(dt - self.dt) > 1e-5 then
            local first = math.abs(step - dt) < math.abs(step - self.dt)
            self.order[first and 1 or 2] = self.order[first and 1 or 2] + 1
        end
    end
    if self.frame == kFrames then
        self:Say("in a frame the gamerules come before UpdateServer: %d times, after it: %d", self.order[1],
            self.order[2])
    end
    if state ~= self.state and self.state then
        local now = Shared.GetTime()
        self:Say("state %s after %.2f s", tostring(kGameState[state]), now - self.changedAt)
        self.changedAt = now
    end
    self.state, self.since, self.dt = state, since, dt
    if Shared.GetTime() > self.watching then
        self.watching = nil
        self:Say("complete")
    end
end

-- `words` are the command's arguments, as the console split them.
function Probe:Start(words)
    self:Say("arguments %s", Values(unpack(words)))
    if not self.hooked then
        self.hooked = true
        Event.Hook("UpdateServer", self.mod.boundary:Guard("the probe", function(dt) self:Frame(dt) end))
    end
    self.frame, self.order, self.dt, self.state = 0, { 0, 0 }, 0, nil
    self.changedAt, self.watching = Shared.GetTime(), Shared.GetTime() + kWatchSeconds
    for _, part in ipairs({ "Build", "Preprocessed", "Shine", "People", "Requests" }) do
        self.mod.boundary:Guard("the probe", self[part])(self)
    end
end

Equipoise.Probe = Probe
