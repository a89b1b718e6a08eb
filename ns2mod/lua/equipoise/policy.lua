-- What Equipoise decides inside the game, without the game: when a round starts and ends, who may change side, and when
-- a split that the daemon ordered is applied.
--
-- A start is a series of game states, and the same names mean different things in it. A normal start is
-- PreGame, NotStarted, Countdown, Started: the middle two in one call, because NS2Gamerules resets the game before it
-- counts down. An abandoned one is PreGame, NotStarted, WarmUp. Only the next frame tells the two apart. Other mods
-- start rounds without PreGame; then the round starts when both sides have a commander, at the latest at Countdown.
--
-- `people` is a snapshot: id -> { team, human, commander, alive }. `now` is the system's clock in seconds.

Equipoise = Equipoise or {}

local Plan = Equipoise.Plan

local Policy = {}
Policy.__index = Policy

local kMarines, kAliens, kSpectators = 1, 2, 3
local kWinners = { Team1Won = kMarines, Team2Won = kAliens, Draw = 0 }
local kOutcomes = { [0] = "none", [kMarines] = "red", [kAliens] = "blu" }

-- How long a player who asks for a side waits for the daemon.
local kHoldSeconds = 1
-- How much of the countdown the daemon's answer may take.
local kPatienceSeconds = 2
-- Two who ask for each other's side within so long swap.
local kSwapSeconds = 3

function Policy.New()
    return setmetatable({
        state = "",         -- of the game, by name
        phase = "idle",     -- idle, freeze, running, over: the protocol's words
        start = 0,          -- how many starts there were
        locks = {},         -- id -> { team, ends }; ends 0: to the next shuffle
        holds = {},         -- id -> { team, ends }
        leaving = {},       -- id -> { from, team, at }: who asked for the other side last
        moves = {},         -- orders that wait for a death
        dueIf = {},
        always = false,     -- a shuffle before every round
        pending = false,    -- the daemon said that a shuffle is due
        due = false,        -- found out here
        dueSeq = 0,         -- an answer to this batch, or a later one, knows better
        answeredAt = -1,
        startedAt = 0,
        countdownAt = 0,
        alone = 0,          -- the start whose teams were made here
        tried = 0,          -- the start for which that was tried, or the daemon's split was
    }, Policy)
end

-- The game is in this state now. `winner` is the number of the side that EndGame was called with, 0 for a draw, nil
-- when it was not called: build 266 set the state of the wrong side. Returns what happened, in order: tables whose
-- `kind` is round_started, countdown, round_live, round_ended, over, round_aborted or order_failed. `over`: the winner
-- is shown no more.
function Policy:State(name, winner, now)
    local events = {}
    if name == self.state then
        return events
    end
    self.state = name
    if self.phase == "running" then
        -- A state that names no winner, in a running round, is a reset: nil, and the round is partial.
        self:End(events, kWinners[name] and (winner or kWinners[name]))
    end
    if name == "PreGame" or name == "Countdown" or name == "Started" then
        self:Begin(events, now)
        self.doubted = false
        self.announced = true
        if name == "Countdown" then
            self.countdownAt = now
            events[#events + 1] = { kind = "countdown" }
        elseif name == "Started" then
            self.phase = "running"
            self:DropHeld(events, "too_late")
            events[#events + 1] = { kind = "round_live" }
        end
    elseif kWinners[name] then
        self:Abort(events)
        self.phase = "over"
    elseif self.phase == "freeze" then
        -- It may not be over: a start passes through NotStarted too, and the next frame tells (see above).
        self.doubted = true
    else
        if self.phase == "over" then
            events[#events + 1] = { kind = "over" }
        end
        self.phase = "idle"
    end
    return events
end

-- Once a frame, after the game's own calls: `chairs` says that both sides have a commander.
function Policy:Frame(name, chairs, now)
    local events = self:State(name, nil, now)
    if self.phase == "freeze" and not kWinners[name] and name ~= "PreGame" and name ~= "Countdown" then
        -- What the game announced is off; what only the two commanders announced is off when one has left.
        if (self.doubted and self.announced) or not chairs then
            self:Abort(events)
        end
    end
    if self.phase == "idle" and chairs and (name == "NotStarted" or name == "WarmUp") then
        self:Begin(events, now)
    end
    return events
end

function Policy:Begin(events, now)
    if self.phase == "freeze" then
        return
    end
    self.phase = "freeze"
    self.start = self.start + 1
    self.startedAt = now
    self.doubted = false
    self.announced = false
    events[#events + 1] = { kind = "round_started" }
end

function Policy:Abort(events)
    if self.phase ~= "freeze" then
        return
    end
    self.phase = "idle"
    events[#events + 1] = { kind = "round_aborted" }
    self:DropHeld(events, "aborted")
end

-- `winner` is nil when the round ended without EndGame: by a reset.
function Policy:End(events, winner)
    self.phase = winner and "over" or "idle"
    events[#events + 1] = { kind = "round_ended", winner = winner or 0, partial = winner == nil }
    for _, move in ipairs(self.moves) do
        events[#events + 1] = { kind = "order_failed", order = move.order, reason = "no_round" }
    end
    self.moves = {}
end

function Policy:DropHeld(events, reason)
    if self.held then
        events[#events + 1] = { kind = "order_failed", order = self.held.order, reason = reason }
        self.held = nil
    end
end

-- What becomes of a call of JoinTeam: "pass" to the game; "swap", and who has to go the other way too, as { id, team };
-- "hold" while the daemon is asked, and whether this player was not held yet; or "refuse", and a text. `call` has id,
-- human, from, to, force (or another mod's shuffle), ours, enforcing (the daemon's last answer lets Equipoise act here)
-- and silent (it does not answer).
function Policy:Join(call, people, now)
    if call.force or call.ours then
        self.holds[call.id] = nil  -- put somewhere meanwhile: what they asked for is out of date
    end
    -- After the last moment of a round the game itself puts everybody into the ready room.
    if not call.enforcing or not call.human or call.force or call.ours or kWinners[self.state] then
        return "pass"
    end
    if not Plan.IsSide(call.to) or call.from == call.to then
        self.holds[call.id] = nil
        return "pass"
    end
    local other = self:Partner(call, people, now)
    if other then
        return "swap", other
    end
    local text = self:LockText(call.id, call.from, call.to, people, now)
    -- From the ready room the daemon decides, which knows of gaps; on a side, or without it, the lock alone does.
    if text and (call.silent or Plan.IsSide(call.from)) then
        return "refuse", text
    end
    if call.silent then
        return "pass"
    end
    local hold = self.holds[call.id]
    if hold then
        hold.team = call.to
        return "hold", false
    end
    self.holds[call.id] = { team = call.to, ends = now + kHoldSeconds }
    return "hold", true
end

-- Who asked a moment ago to come from the side that this player asks for: a swap leaves the sizes as they are, so
-- neither a lock nor a gap is in its way. Who stands on no side leaves the one that they are locked to.
function Policy:Partner(call, people, now)
    local lock = self.locks[call.id]
    local from = Plan.IsSide(call.from) and call.from or (lock and lock.team)
    if not from or from == call.to then
        return nil
    end
    self.leaving[call.id] = { from = from, team = call.to, at = now }
    for id, other in pairs(self.leaving) do
        local stands = people[id] and people[id].team
        if now > other.at + kSwapSeconds or not stands then
            self.leaving[id] = nil
        elseif other.from == call.to and other.team == from and (stands == call.to or stands == 0) then
            self.leaving[id], self.leaving[call.id] = nil, nil
            return { id = id, team = from }
        end
    end
    return nil
end

-- Two change side, and their locks with them. Who was held is answered.
function Policy:SwapLocks(first, firstTeam, second, secondTeam)
    for id, team in pairs({ [first] = firstTeam, [second] = secondTeam }) do
        self.holds[id] = nil
        if self.locks[id] then
            self.locks[id].team = team
        end
    end
end

-- Why a lock keeps this player from `to`, or nil. Players may leave a side that is larger by two, and none is sent
-- back to one that would be.
function Policy:LockText(id, from, to, people, now)
    local lock = self.locks[id]
    if lock and lock.ends > 0 and lock.ends <= now then
        self.locks[id] = nil
        lock = nil
    end
    -- On a side that is not the lock's the game or an admin has put them: the lock says nothing about that.
    if not lock or lock.team == to or (Plan.IsSide(from) and lock.team ~= from) then
        return nil
    end
    -- Without the player, so the sides are compared as they are beside them.
    local sizes = Plan.Sizes(people, id)
    if sizes[lock.team] - sizes[to] > 0 then
        return nil
    end
    if lock.ends == 0 then
        return { phrase = "Equipoise_RefusedLockedScramble", args = {} }
    end
    return { phrase = "Equipoise_RefusedLocked", args = { tostring(math.ceil(lock.ends - now)) } }
end

function Policy:Lock(id, team, seconds, now)
    if Plan.IsSide(team) then
        self.locks[id] = { team = team, ends = seconds > 0 and now + seconds or 0 }
    end
end

function Policy:Unlock(ids)
    for _, id in ipairs(ids) do
        self.locks[id] = nil
    end
end

-- The daemon answered this player, or they are not here any more: the side they asked for, where they were held.
function Policy:Release(id)
    local hold = self.holds[id]
    self.holds[id] = nil
    return hold and hold.team
end

-- Who was held too long, as a list of { id, team }.
function Policy:Expired(now)
    local list = {}
    for id, hold in pairs(self.holds) do
        if hold.ends <= now then
            list[#list + 1] = { id = id, team = hold.team }
        end
    end
    table.sort(list, function(a, b) return a.id < b.id end)
    for _, held in ipairs(list) do
        self.holds[held.id] = nil
    end
    return list
end

-- What becomes of an `assign`: a list of { id, team } to carry out now; "hold", and the order that it replaces; or nil
-- and why not. `start` is what Policy.start was when the question went out that this order answers.
function Policy:Assign(order, people, start)
    local now = order.moment == "now"
    if now and self.phase == "over" then
        return nil, "no_round"
    elseif now and self.phase ~= "freeze" then
        return Plan.Moves(order, people)
    end
    -- "Now" was said before the start began, whose commanders stay.
    if self.phase == "running" then
        return nil, "too_late"
    elseif self.phase ~= "freeze" or not (now or start == self.start) then
        return nil, "aborted"
    -- The cached split is on the sides already: a second one in the same start would move everybody again.
    elseif self.alone == self.start then
        return nil, "alone"
    elseif self.state == "Countdown" then
        self.tried = self.start
        return Plan.Moves(order, people)
    end
    local replaced = self.held
    self.held = order
    return "hold", replaced
end

-- The split that waited for the countdown.
function Policy:TakeHeld()
    local held = self.held
    self.held = nil
    if held then
        self.tried = self.start
    end
    return held
end

-- Nil when the order waits for a death, else why it cannot.
function Policy:Move(order, people)
    local person = people[order.id]
    if self.phase ~= "running" then
        return "no_round"
    elseif not person then
        return "left"
    elseif not Plan.IsSide(person.team) or not Plan.IsSide(order.team) then
        return "no_side"
    end
    self.moves[#self.moves + 1] = order
    return nil
end

function Policy:Cancel(order)
    -- Downwards, because entries are removed.
    for i = #self.moves, 1, -1 do
        if self.moves[i].order == order then
            table.remove(self.moves, i)
        end
    end
    if self.held and self.held.order == order then
        self.held = nil
    end
end

-- Orders to carry out now, because the player is dead, and orders that failed as { order, reason }. A commander is not
-- moved out of the chair.
function Policy:DueMoves(people)
    local due, failed, waiting = {}, {}, {}
    for _, move in ipairs(self.moves) do
        local person = people[move.id]
        if not person or not Plan.IsSide(person.team) then
            failed[#failed + 1] = { order = move.order, reason = "left" }
        elseif person.alive or person.commander then
            waiting[#waiting + 1] = move
        else
            due[#due + 1] = move
        end
    end
    self.moves = waiting
    return due, failed
end

-- The daemon answered batch `seq`.
function Policy:Answered(reply, seq, now)
    self.answeredAt = now
    self.pending = reply.pending == true
    self.reason = reply.reason
    -- An answer to an older batch was given before the daemon knew of this round.
    if seq >= self.dueSeq then
        self.due = false
    end
    self.dueIf = {}
    for _, outcome in ipairs(reply.due_if or {}) do
        self.dueIf[outcome] = true
    end
    -- Whatever the outcome: then each round starts with a shuffle, the first one too.
    self.always = self.dueIf.any or (self.dueIf.red and self.dueIf.blu and self.dueIf.none) or false
end

-- A counted round ended; what happens from now on is in batch `nextSeq` or a later one.
function Policy:Counted(winner, nextSeq)
    local word = kOutcomes[winner]
    if self.dueIf.any or self.dueIf[word] or self.dueIf[word .. ":0"] then
        self.due = true
        self.dueSeq = nextSeq
    end
end

-- Whether the cached split is to be applied now: the countdown runs, a shuffle is due, and the daemon did not answer
-- what it heard of this start. True once for each start.
function Policy:ActsAlone(silent, now)
    local due = self.pending or self.due or self.always
    if self.state ~= "Countdown" or self.tried == self.start or not due then
        return false
    end
    -- It answers, but what it answered last was written before this start: its split would come too late.
    local late = now >= self.countdownAt + kPatienceSeconds and self.answeredAt < self.startedAt
    if not (silent or late) then
        return false
    end
    self.tried = self.start
    return true
end

-- The cached split was applied.
function Policy:ActedAlone()
    self.alone = self.start
    self.pending = false
    self.due = false
    self.locks = {}
end

Equipoise.Policy = Policy
