-- What waits for the daemon: finished rounds (ring.lua) and events of this map.
--
-- One batch is in flight at a time. Without an answer it is sent once more as it was, so that the daemon can tell a
-- repetition; after that it is given up, and a fresh hello and roster say what its events said. A round leaves its slot
-- only when the daemon has stored it, or will never take it.

Equipoise = Equipoise or {}

local Codec = Equipoise.Codec
local Ring = Equipoise.Ring

local Outbox = {}
Outbox.__index = Outbox

-- A batch takes 256; besides these it holds the rounds, a hello and a roster.
local kMostEvents = 128
-- How many rounds a batch takes in each mode: "none" and "one" find the round that makes the daemon refuse a batch.
local kMostRounds = { all = 8, one = 1, none = 0 }

-- The batch, or an event in it, is not understood, and would not be the next time either. What is refused for any other
-- reason is right to be sent again: the daemon is busy, or an operator has to change something first.
local kUnacceptable = { schema = true, twice = true, unstorable = true, json = true, size = true, form = true,
    charset = true }

-- `options`:
--   files          read(name) -> text or nil, write(name, text) -> whether it was written
--   json           the game's
--   boot           a number that no other start has: epoch milliseconds
--   server         the server's name in the daemon's configuration
--   at()           seconds of a clock that never goes back
--   hello(), roster()   the event, or nil while there is no game to describe
--   log(text)
function Outbox.New(options)
    return setmetatable({
        ring = Ring.New(options),
        json = options.json,
        boot = options.boot,
        server = options.server,
        at = options.at,
        hello = options.hello,
        roster = options.roster,
        log = options.log,
        seq = 0,
        events = {},
        wanted = { hello = true, roster = true },
        rounds = "all",
    }, Outbox)
end

-- Takes back what an earlier map or process left. To be called once, before anything is added.
function Outbox:Load()
    self.ring:Load()
end

local function Only(list, wanted)
    local kept = {}
    for _, item in ipairs(list) do
        if wanted(item) then
            table.insert(kept, item)
        end
    end
    return kept
end

local function IsDurable(item)
    return item.durable
end

local function Encoded(self, event)
    if event.at == nil then
        event.at = self.at()
    end
    local text, fault = Codec.Encode(self.json, event)
    if not text then
        self.log("An event " .. tostring(event.kind) .. " cannot be sent: " .. tostring(fault))
    end
    return text
end

local function WantAll(self)
    self:Want("hello")
    self:Want("roster")
end

-- "hello" or "roster": it goes with the next batch.
function Outbox:Want(word)
    if word == "hello" or word == "roster" then
        self.wanted[word] = true
    end
end

-- A copy is kept. Durable events say what no later hello and roster says: what became of an order.
function Outbox:Add(event, durable)
    local text = Encoded(self, event)
    if not text then
        return
    end
    local item = { kind = event.kind, text = text, at = event.at, durable = durable and true or false }
    table.insert(self.events, item)
    if #self.events > kMostEvents then
        self.events = Only(self.events, IsDurable)
        WantAll(self)
    end
    if #self.events > kMostEvents then
        table.remove(self.events, 1)
    end
end

-- Events of this kind that were not sent yet are out of date. What their rosters said, a new one says.
function Outbox:Forget(kind)
    local kept = Only(self.events, function(item) return item.kind ~= kind end)
    if #kept < #self.events then
        self:Want("roster")
    end
    self.events = kept
end

-- A `round_ended` event. It is on the disk when this returns.
function Outbox:Finish(event)
    local text = Encoded(self, event)
    if text then
        self.ring:Add(event.round, text, event.at)
        -- The round is over: a daemon that hears of it now must not think that it begins.
        self:Forget("round_started")
        self:Forget("round_live")
    end
end

-- There is nothing to say but that nothing happened.
function Outbox:Empty()
    return #self.events == 0 and not self.wanted.hello and not self.wanted.roster and not self.ring:IsDue()
end

-- The text of a hello or roster that is wanted; nil when it is not, or cannot be made yet.
local function Described(self, word)
    local event = self.wanted[word] and self[word]()
    return event and Encoded(self, event) or nil
end

-- Who we are comes first, then rounds that ended and events, as they happened; the roster, last, is the truth after
-- everything before it. Nil when a hello is due and there is no game yet.
local function Collect(self)
    local hello = Described(self, "hello")
    if self.wanted.hello and not hello then
        return nil
    end
    local items = {}
    if hello then
        table.insert(items, { kind = "hello", text = hello })
    end
    local rounds, more = self.ring:Due(kMostRounds[self.rounds])
    for _, slot in ipairs(rounds) do
        while slot.at and self.events[1] and self.events[1].at < slot.at do
            table.insert(items, table.remove(self.events, 1))
        end
        table.insert(items, { kind = "round_ended", slot = slot, text = slot.text })
    end
    -- Else the rest came after a round that goes with the next batch.
    local last = not more or #rounds == 0
    local roster = last and Described(self, "roster")
    while last and self.events[1] do
        table.insert(items, table.remove(self.events, 1))
    end
    if roster then
        table.insert(items, { kind = "roster", text = roster })
    end
    -- A roster that cannot be made yet stays wanted; a hello was made, or nothing is sent.
    self.wanted = { roster = self.wanted.roster and not roster or nil }
    return items
end

local function Text(self, items, now, dropped)
    local texts = {}
    for i, item in ipairs(items) do
        texts[i] = item.text
    end
    -- `boot` needs more than the 32 bits that %d is sure to write.
    return string.format('{"v":1,"server":%s,"boot":%.0f,"seq":%d,"at":%.3f,"dropped":%d,"events":[%s]}',
        Codec.Encode(self.json, self.server), self.boot, self.seq, now, dropped, table.concat(texts, ","))
end

-- Everything there is to say, as the text of a batch, and its number; an answer to any other number is late. Nil while
-- one is in flight. A batch that was not answered comes again as it was.
function Outbox:Batch(now)
    if self.inFlight then
        return nil
    end
    -- Before a batch, so that a full disk that has room again is noticed without a new round.
    self.ring:Retry()
    if not self.sent then
        local items = Collect(self)
        if not items then
            return nil
        end
        self.seq = self.seq + 1
        local dropped = self.ring.dropped
        self.sent = { items = items, dropped = dropped, attempts = 0, text = Text(self, items, now, dropped) }
    end
    self.inFlight = true
    return self.sent.text, self.seq
end

-- The batch is over. Its items that `keep` wants wait again, before what came meanwhile. Rounds are the ring's.
local function Close(self, keep)
    local sent = self.sent
    self.sent = nil
    self.inFlight = false
    local events = Only(sent.items, function(item)
        if item.kind == "hello" or item.kind == "roster" then
            self.wanted[item.kind] = self.wanted[item.kind] or (keep(item) and true or nil)
            return false
        end
        return not item.slot and keep(item)
    end)
    for _, item in ipairs(self.events) do
        table.insert(events, item)
    end
    self.events = events
    return sent
end

local function GiveUp(self)
    Close(self, IsDurable)
    self.events = Only(self.events, IsDurable)
    self.ring:MakeDue()
    WantAll(self)
end

local function Nothing()
    return false
end

-- The batch was taken. `reply` is Reply.Decode's.
function Outbox:Answered(reply)
    if not self.sent then
        return
    end
    local sent = Close(self, Nothing)
    self.ring:Settle(reply.rounds, sent.dropped)
    -- A batch was taken again: rounds are tried one by one, as long as any is due.
    if self.rounds ~= "all" then
        self.rounds = self.ring:IsDue() and "one" or "all"
    end
    for _, word in ipairs(reply.want) do
        self:Want(word)
        if word == "hello" then
            -- Another daemon than before: it has nothing in memory.
            self.ring:MakeDue()
        end
    end
end

-- No answer, or none that can be read. "again": the next batch is the same; "given_up": only durable events are kept.
function Outbox:Unanswered()
    if not self.sent then
        return "given_up"
    end
    self.inFlight = false
    self.sent.attempts = self.sent.attempts + 1
    -- Once more with the same number: a daemon that had taken it, and whose answer was lost, answers as before.
    if self.sent.attempts < 2 then
        return "again"
    end
    GiveUp(self)
    return "given_up"
end

-- One item is not understood: the others go again.
local function RefusedItem(self, refused)
    if refused.slot then
        self.ring:Remove(refused.slot)
    end
    Close(self, function(item) return item ~= refused end)
    return "again"
end

-- The batch as a whole is not understood. To find out whether a round is at fault the next one has none; when that one
-- is taken they go one by one.
local function RefusedWhole(self)
    local rounds = Only(self.sent.items, function(item) return item.slot end)
    if self.rounds == "one" and #rounds == 1 then
        self.ring:Remove(rounds[1].slot)
    else
        self.rounds = "none"
    end
    GiveUp(self)
    self.events = {}
    return #rounds > 0 and "again" or "later"
end

-- The daemon refuses the batch. "again": without what it named the rest goes with the next batch at once; "later": it
-- goes again in 30 s, and no round is lost; "stale": likewise, with hello and roster.
function Outbox:Refused(fault)
    if not self.sent then
        return "later"
    elseif fault.code == "stale" then
        Close(self, Nothing)
        self.ring:Settle(fault.rounds, 0)
        WantAll(self)
        return "stale"
    end
    -- A path inside an event, from 0; Lua counts from 1.
    local index = string.match(fault.path or "", "^%$%.events%[(%d+)%]")
    local item = index and self.sent.items[tonumber(index) + 1]
    -- A fault at another place of the batch is this server's settings: nothing of what is waiting is wrong.
    if not kUnacceptable[fault.code] or not (item or (fault.path or "$") == "$") then
        GiveUp(self)
        return "later"
    end
    self.log("The daemon refuses " .. (item and item.kind or "a batch") .. ": " .. tostring(fault.message))
    if item then
        return RefusedItem(self, item)
    end
    return RefusedWhole(self)
end

Equipoise.Outbox = Outbox
