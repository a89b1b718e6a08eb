-- Who played a round, when, on which side and in which role: the spans of `round_ended`.
--
-- The engine has no event for half of the ways out of a side or a chair (a commander who is moved, leaves or
-- disconnects fires no Logout), and players come back with new clients and entities. The record is therefore kept by
-- account id, each call is a state that holds from then on and may come twice, and a look at all players closes and
-- opens what calls missed. Its clock is the game's, which stands still in a pause; it never goes back here.

Equipoise = Equipoise or {}

local Record = {}
Record.__index = Record

local kSides = { "marines", "aliens" }
local kMostPlayers = 128
-- The daemon takes 256. A player who changes sides all the time must not make the round too long to be sent.
local kMostSpans = 64

local function IsBot(id)
    return string.find(id, "^bot:") ~= nil
end

local function ById(one, other)
    return one.id < other.id
end

local function FirstOf(list, most)
    for i = #list, most + 1, -1 do
        list[i] = nil
    end
end

local function LineupOf(players)
    local lineup = {}
    for id, player in pairs(players) do
        if kSides[player.team] then
            table.insert(lineup, { id = id, side = kSides[player.team] })
        end
    end
    table.sort(lineup, ById)
    FirstOf(lineup, kMostPlayers)
    return lineup
end

-- The round `id` goes live at `clock` with `players`: id -> {team, role, counts}, everybody who is connected.
function Record.New(options)
    local record = setmetatable({
        id = options.id,
        start = options.clock,
        clock = options.clock,
        people = {},
        lineup = LineupOf(options.players),
    }, Record)
    record:Look(options.players, options.clock)
    return record
end

-- Seconds since the round went live.
local function Time(self, clock)
    -- No span may close before it begins: the daemon would refuse the round.
    self.clock = math.max(self.clock, clock)
    return self.clock - self.start
end

local function Close(person, time)
    local open = person.open
    person.open = nil
    if open then
        open.to = time
        table.insert(person.spans, open)
    end
end

-- What they did since they were looked at last. Fewer than then: the game began at 0 again, or they are here anew.
local function Count(person, now)
    local before = person.counted or now
    for name, number in pairs(now) do
        local last = before[name] or 0
        -- Fewer than before: all of them are new. Else the difference.
        person.done[name] = (person.done[name] or 0) + number - (number < last and 0 or last)
    end
    person.counted = now
end

-- `id` is on `team` in `role` ("field" by default, or as before on the same team) from now on. On any team but 1 and 2
-- they play on no side.
function Record:Enter(id, team, role, clock)
    local time = Time(self, clock)
    local side = kSides[team]
    local person = self.people[id]
    if not person then
        if not side then
            return
        end
        person = { id = id, spans = {}, done = {} }
        self.people[id] = person
    end
    person.left = false
    local open = person.open
    -- The same as before: calls may come twice, and one span is not to become two.
    if open and open.side == side and (role == nil or open.role == role) then
        return
    end
    Close(person, time)
    if side then
        person.side = side
        person.open = { side = side, role = role or "field", from = time }
    end
end

-- In the chair or out of it, on the same side.
function Record:Role(id, role, clock)
    local time = Time(self, clock)
    local person = self.people[id]
    if person and person.open and person.open.role ~= role then
        local side = person.open.side
        Close(person, time)
        person.open = { side = side, role = role, from = time }
    end
end

-- To the ready room or the spectators.
function Record:Leave(id, clock)
    self:Enter(id, 0, nil, clock)
end

function Record:Disconnect(id, clock)
    self:Leave(id, clock)
    if self.people[id] then
        self.people[id].left = true
    end
end

-- Everybody who is connected: id -> {team, role, counts, hive}. `counts` are those of the scoreboard.
function Record:Look(snapshot, clock)
    for id, player in pairs(snapshot) do
        self:Enter(id, player.team, player.role or "field", clock)
        if self.people[id] and player.counts then
            Count(self.people[id], player.counts)
            self.people[id].hive = self.people[id].hive or player.hive
        end
    end
    for id, person in pairs(self.people) do
        if not snapshot[id] and not person.left then
            self:Disconnect(id, clock)
        end
    end
end

-- {id, side} of everybody who was on a side when the round went live, bots too.
function Record:Lineup()
    return self.lineup
end

local function Rounded(seconds)
    return math.floor(seconds * 1000 + 0.5) / 1000
end

-- Spans in thousandths: none is empty, and those that touch and say the same are one.
local function Whole(spans)
    local whole = {}
    for _, span in ipairs(spans) do
        local from, to = Rounded(span.from), Rounded(span.to)
        local last = whole[#whole]
        if last and last.to == from and last.side == span.side and last.role == span.role then
            last.to = to
        elseif to > from then
            table.insert(whole, { side = span.side, role = span.role, from = from, to = to })
        end
    end
    return whole
end

local function Shortest(spans)
    local found = 1
    for i, span in ipairs(spans) do
        if span.to - span.from < spans[found].to - spans[found].from then
            found = i
        end
    end
    return found
end

local function Total(spans)
    local seconds = 0
    for _, span in ipairs(spans) do
        seconds = seconds + span.to - span.from
    end
    return seconds
end

-- Of too many, people stay before bots, and who played longest before the others.
local function Sooner(one, other)
    if IsBot(one.id) ~= IsBot(other.id) then
        return IsBot(other.id)
    end
    local mine, theirs = Total(one.spans), Total(other.spans)
    return mine > theirs or (mine == theirs and one.id < other.id)
end

-- Ends the round: its players, bots too, and how long it was in seconds. It may be called again.
function Record:Finish(clock)
    local time = Time(self, clock)
    local players = {}
    for id, person in pairs(self.people) do
        local open = person.open
        Close(person, time)
        local spans = Whole(person.spans)
        -- The shortest first: that loses the least time.
        while #spans > kMostSpans do
            table.remove(spans, Shortest(spans))
        end
        if #spans > 0 then
            person.done.hive = person.hive
            table.insert(players, { id = id, side = person.side, left = person.left, spans = spans,
                counts = next(person.done) and person.done or nil })
        end
        if open then
            person.open = { side = open.side, role = open.role, from = time }
        end
    end
    -- First by what counts, to cut the list; then by id, so that the same round gives the same text.
    table.sort(players, Sooner)
    FirstOf(players, kMostPlayers)
    table.sort(players, ById)
    return players, Rounded(time)
end

-- The whole `round_ended` event. `round` says clock, session, map, startedAt (epoch seconds), winner, partial, cheats.
function Record:Event(round)
    local players, seconds = self:Finish(round.clock)
    return {
        kind = "round_ended",
        round = self.id,
        session = round.session,
        map = round.map,
        game = "ns2",
        started_at = round.startedAt,
        seconds = seconds,
        winner = round.winner,
        partial = round.partial and true or false,
        cheats = round.cheats and true or nil,
        lineup = self.lineup,
        players = players,
    }
end

Equipoise.Record = Record
