-- The game's states as rounds of the protocol, and the record of the one that runs.

Equipoise = Equipoise or {}

local Rounds = {}
Rounds.__index = Rounds

local kWinners = { [0] = "none", "marines", "aliens" }
local kFile = "EquipoiseRound.json"
local kSaveSeconds = 20

function Rounds.New(mod)
    return setmetatable({ mod = mod, number = 0 }, Rounds)
end

-- The name of the game's state: the numbers changed with build 302.
local function StateName()
    local rules = GetGamerules()
    return rules and kGameState[rules:GetGameState()]
end

-- NS2Gamerules:EndGame begins, in Started or without effect; nil is a draw.
function Rounds:Ending(winner)
    self.winner = winner and winner:GetTeamNumber() or 0
end

function Rounds:Ended()
    self.winner = nil
end

-- NS2Gamerules:SetGameState was called.
function Rounds:StateSet()
    local name = StateName()
    if name then
        self.mod.people:Look()
        self:Handle(self.mod.policy:State(name, self.winner, self.mod:Now()))
    end
end

function Rounds:Frame()
    local name = StateName()
    if name then
        self:Handle(self.mod.policy:Frame(name, self.mod.people:BothCommanded(), self.mod:Now()))
    end
    -- Cheats may be on for a moment only.
    self.cheats = self.cheats or Shared.GetCheatsEnabled()
    self:Save(self.mod:Now())
end

function Rounds:Handle(events)
    for _, event in ipairs(events) do
        if event.kind == "round_started" then
            self.mod:Tell(self:Start())
        elseif event.kind == "countdown" then
            self.mod.orders:Countdown()
        elseif event.kind == "round_live" then
            self:Live()
        elseif event.kind == "round_ended" then
            self:Finish(event.winner, event.partial)
        elseif event.kind == "over" then
            -- No event says so but a hello: before it the daemon orders nothing at once.
            self.mod:Want("hello")
            self.mod:Want("roster")
        else
            self.mod:Tell(event, event.kind == "order_failed")
        end
    end
end

function Rounds:Start()
    return { kind = "round_started", players = self.mod.people:Roster() }
end

function Rounds:Live()
    local mod = self.mod
    if not mod:Watching() then
        return
    end
    self.number = self.number + 1
    self.startedAt = Shared.GetSystemTime()
    self.nextSave = mod:Now() + kSaveSeconds
    self.cheats = false
    self.record = Equipoise.Record.New({
        id = string.format("%.0f-%d", mod.boot, self.number),
        clock = Shared.GetTime(),
        players = mod.people:Snapshot(),
    })
    mod:Tell({ kind = "round_live", round = self.record.id, players = mod.people:Roster() })
end

function Rounds:Observe(snapshot)
    if self.record then
        self.record:Look(snapshot, Shared.GetTime())
    end
end

function Rounds:Left(id)
    if self.record then
        self.record:Disconnect(id, Shared.GetTime())
    end
end

function Rounds:Event(winner, partial)
    return self.record:Event({
        clock = Shared.GetTime(),
        session = self.mod.session,
        map = Shared.GetMapName(),
        startedAt = self.startedAt,
        winner = kWinners[winner],
        partial = partial,
        cheats = self.cheats,
    })
end

-- `winner` is 1, 2 or 0. It is on the disk when this returns.
function Rounds:Finish(winner, partial)
    local mod = self.mod
    if not self.record then
        return
    end
    -- Into the ring before the copy on the disk is emptied: a crash between the two leaves it twice, which the daemon
    -- tells by its id.
    mod.outbox:Finish(self:Event(winner, partial))
    self:Drop()
    mod.policy:Counted(winner, mod.post:NextSeq())
    mod.post:Soon()
end

-- No round is recorded any more.
function Rounds:Drop()
    if self.record then
        self.record = nil
        Equipoise.Files.Write(kFile, "")
    end
end

-- No event announces that a map or the process ends: what is known of the running round is written now and then.
function Rounds:Save(now)
    if self.record and now >= self.nextSave then
        self.nextSave = now + kSaveSeconds
        -- As partial: where the process dies now, nobody saw how the round ended.
        local text = Equipoise.Codec.Encode(json, self:Event(0, true))
        Equipoise.Files.Write(kFile, text and Equipoise.Codec.Seal(self.number, text) or "")
    end
end

-- The round that an earlier map, or process, did not see ending. The daemon knows by its id whether it has it.
function Rounds:Load()
    local _, text = Equipoise.Codec.Open(Equipoise.Files.Read(kFile) or "")
    local ok, event = pcall(json.decode, text or "")
    if ok and type(event) == "table" and type(event.round) == "string" and event.kind == "round_ended" then
        self.mod.outbox:Finish(event)
        Equipoise.Files.Write(kFile, "")
    end
end

-- The map is about to be changed: nothing runs after it.
function Rounds:MapEnds()
    if self.record then
        self.mod.people:Look()
        self:Finish(0, true)
    end
end

Equipoise.Rounds = Rounds
