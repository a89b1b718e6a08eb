-- What the daemon orders, one after the other, and what came of it.

Equipoise = Equipoise or {}

local Plan = Equipoise.Plan

local Orders = {}
Orders.__index = Orders

function Orders.New(mod)
    return setmetatable({ mod = mod }, Orders)
end

local kObey = {
    say = function(self, order)
        self.mod.chat:Say(order.text)
    end,
    tell = function(self, order)
        self.mod.policy:Release(order.id)
        for _, text in ipairs(order.lines) do
            self.mod.chat:Answer(order.id, text)
        end
    end,
    place = function(self, order)
        self.mod.joins:Obey(order)
    end,
    lock = function(self, order)
        self.mod.policy:Lock(order.id, Equipoise.People.Team(order.side), order.seconds, self.mod:Now())
    end,
    unlock = function(self, order)
        self.mod.policy:Unlock(order.ids)
    end,
    cancel = function(self, order)
        self.mod.policy:Cancel(order.order)
    end,
    move = function(self, order)
        self:Move(order)
    end,
    assign = function(self, order, start)
        self:Assign(order, start)
    end,
}

-- `start` is the start of a round that the daemon knew of.
function Orders:Obey(orders, start)
    for _, order in ipairs(orders) do
        local obey = kObey[order.kind]
        local ok, fault = true, nil
        if obey then
            ok, fault = pcall(obey, self, order, start)
        end
        if not ok then
            self.mod.boundary:Report("the order " .. order.kind, fault)
        end
        -- The daemon waits for an answer to every order that has a number.
        if order.order and not (obey and ok) then
            self:Answer(order.order, obey and "error" or "unknown")
        end
    end
end

-- `why` is a short word, nil when the order was carried out.
function Orders:Answer(order, why)
    self.mod:Tell({ kind = why and "order_failed" or "order_done", order = order, reason = why }, true)
end

function Orders:Assign(order, start)
    local mod = self.mod
    if not mod:Enforcing() then
        self:Answer(order.order, "off")
        return
    end
    local answer, more = mod.policy:Assign(order, mod.people:Snapshot(), start)
    if answer == "hold" then
        if more then
            self:Answer(more.order, "replaced")
        end
    elseif answer then
        self:Answer(order.order, self:Apply(answer))
    else
        self:Answer(order.order, more)
    end
end

-- The countdown begins: everybody who is named is looked up again.
function Orders:Countdown()
    local mod = self.mod
    local order = mod.policy:TakeHeld()
    if not order then
        return
    end
    local moves, why
    if mod:Enforcing() then
        moves, why = Plan.Moves(order, mod.people:Snapshot())
    else
        why = "off"
    end
    self:Answer(order.order, moves and self:Apply(moves) or why)
end

-- Carries out the moves, all in one frame: a side that is empty in between frames loses. Nil, or "refused" when another
-- mod did not let a player go; then it stops, because the sides were to be even after the last move only. The daemon
-- tells everybody why when it is done.
function Orders:Apply(moves)
    local mod = self.mod
    local before = self:Gap()
    local last
    for _, move in ipairs(moves) do
        if not mod.joins:Put(move.id, move.team, true) then
            -- The moves before it are even in pairs: only the last one may have made the sides worse.
            if last and self:Gap() > before + 1 then
                mod.joins:Put(last.id, last.from, true)
            end
            mod.people:Look()
            return "refused"
        end
        last = move
    end
    mod.people:Look()
    -- Of a shuffle in a running round the game begins again (docs/rules.md), with these sides.
    if last and mod.policy.state == "Started" then
        local rules = GetGamerules()
        mod.boundary:Guard("NS2Gamerules.ResetGame", rules.ResetGame)(rules)
    end
    return nil
end

function Orders:Gap()
    local sizes = Plan.Sizes(self.mod.people:Snapshot())
    return math.abs(sizes[1] - sizes[2])
end

function Orders:Move(order)
    local mod = self.mod
    local move = { order = order.order, id = order.id, team = Equipoise.People.Team(order.side), reason = order.reason }
    local why = not mod:Enforcing() and "off" or mod.policy:Move(move, mod.people:Snapshot())
    if why then
        self:Answer(order.order, why)
    else
        self:Frame()
    end
end

-- Players who have died since the last frame.
function Orders:Frame()
    local mod = self.mod
    if #mod.policy.moves == 0 then
        return
    end
    local due, failed = mod.policy:DueMoves(mod.people:Snapshot())
    for _, move in ipairs(failed) do
        self:Answer(move.order, move.reason)
    end
    for _, move in ipairs(due) do
        -- Without force: they wait in the other side's queue, like players who died there.
        local moved = mod:Enforcing() and mod.joins:Put(move.id, move.team, false)
        if moved then
            mod.chat:Tell(move.id, move.reason)
        end
        self:Answer(move.order, not moved and (mod:Enforcing() and "refused" or "off") or nil)
    end
end

-- The daemon is silent at a start that needs a shuffle: its last splits, fitted to who is here. Commanders and who is
-- immune stay.
function Orders:Alone()
    local mod = self.mod
    if not mod:Enforcing() or not mod.policy:ActsAlone(mod.post:Silent(), mod:Now()) then
        return
    end
    local present, lead = {}, 0
    local snapshot = mod.people:Snapshot()
    if not mod.policy.pending and Plan.IsDraft(snapshot) then
        return
    end
    for id, seen in pairs(snapshot) do
        local stays = seen.human and Plan.IsSide(seen.team)
            and (seen.commander or mod:May(mod.people.byId[id].client, "sv_eq_immune"))
        if stays then
            lead = lead + (seen.team == 1 and 1 or -1)
        elseif seen.human and (Plan.IsSide(seen.team) or seen.waiting) then
            present[#present + 1] = id
        end
    end
    -- The order of `pairs` is not the same twice, and ties of the split go by it.
    table.sort(present)
    local split = mod.cache and Equipoise.Fallback.Split(mod.cache, present, lead)
    local moves = split and Plan.Moves({ red = split.marines, blu = split.aliens }, snapshot)
    if moves and not self:Apply(moves) then
        if #moves > 0 then
            -- What is due and not pending is the shuffle that begins every round.
            local why = mod.policy.pending and mod.policy.reason or { phrase = "Equipoise_ReasonRoundStart" }
            mod.chat:Say({ phrase = "Equipoise_ScrambledUnknown", args = { why } })
        end
        mod.policy:ActedAlone()
        self:Report()
    end
end

function Orders:Report()
    local event = { kind = "scrambled_alone", red = {}, blu = {} }
    for id, seen in pairs(self.mod.people:Snapshot()) do
        if seen.human and Plan.IsSide(seen.team) then
            table.insert(seen.team == 1 and event.red or event.blu, id)
        end
    end
    table.sort(event.red)
    table.sort(event.blu)
    self.mod:Tell(event, true)
end

Equipoise.Orders = Orders
