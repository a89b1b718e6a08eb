-- Players who ask for a side, and players whom we put on one: both go through NS2Gamerules:JoinTeam, which asks no rule
-- of its own. GetCanJoinTeamNumber is the console command's rule: who comes from the ready room, and how we put them on
-- a side, is asked there first.

Equipoise = Equipoise or {}

local Joins = {}
Joins.__index = Joins

local kQuietSeconds = 3
-- Who plays may change: skills come late, and other mods have rules of their own.
local kAskSeconds = 5
-- The game's numbers of reasons. The daemon counts sizes itself.
local kSizes, kRookies = 0, 2

function Joins.New(mod)
    return setmetatable({ mod = mod, moving = {} }, Joins)
end

-- What the game's rule answers, or why it failed, and its reason. Later builds answer false alone, and send the client
-- their reason: who asks for nothing must not read it.
function Joins.Ask(rules, player, team)
    local send, sent = Server.SendNetworkMessage, nil
    Server.SendNetworkMessage = function(target, name, message, ...)
        if name ~= "JoinError" then
            return send(target, name, message, ...)
        end
        sent = message.reason
    end
    local ok, allowed, reason = pcall(rules.GetCanJoinTeamNumber, rules, player, team)
    Server.SendNetworkMessage = send
    return allowed, ok and (reason or sent) or nil
end

-- The game's reason, a number, for keeping this player from a side; nil: it lets them.
local function Refusal(mod, player, team)
    local rules = GetGamerules()
    if not rules then
        return nil
    end
    local allowed, reason = Joins.Ask(rules, player, team)
    if type(allowed) == "string" then
        mod.boundary:Report("NS2Gamerules.GetCanJoinTeamNumber", allowed)
    end
    return allowed == false and (tonumber(reason) or -1) or nil
end

-- What a player reads of it; nil where sizes alone are in the way.
local function Text(reason)
    if not reason or reason == kSizes then
        return nil
    end
    return { phrase = reason == kRookies and "Equipoise_RefusedRookies" or "Equipoise_RefusedGame", args = {} }
end

-- Whether somebody in the ready room may play at all. Sizes, which the game asks first, close one side at most.
function Joins:MayPlay(person, player)
    local now = self.mod:Now()
    if now >= (person.askAt or 0) then
        person.askAt = now + kAskSeconds
        local first, second = Refusal(self.mod, player, 1), Refusal(self.mod, player, 2)
        person.barred = first and second and (Text(first) or Text(second)) or nil
    end
    return not person.barred
end

-- JoinTeam is called for this player. False: it must not go on.
function Joins:Asked(player, team, force)
    local mod = self.mod
    local person = player and mod.people:OfPlayer(player)
    if not person then
        return nil
    end
    local call = { id = person.id, human = not person.bot, from = player:GetTeamNumber(), to = team,
        force = force == true, ours = self.moving[person.id], enforcing = mod:Enforcing(), silent = mod.post:Silent() }
    if not call.ours then
        -- Where another mod or an admin is putting them; `People:Look` sees whether they got there.
        person.put = call.force and call.human and team or nil
        if Equipoise.Plan.IsSide(team) and not call.force then
            person.sits = nil
        end
    end
    local snapshot = mod.people:Snapshot()
    local answer, more = mod.policy:Join(call, snapshot, mod:Now())
    if answer == "pass" then
        return nil
    elseif answer == "swap" then
        mod.policy:SwapLocks(person.id, team, more.id, more.team)
        self:Put(more.id, more.team, false)
        return nil
    elseif answer == "refuse" then
        self:Refuse(person, more)
    elseif more then
        person.lived = true
        local text = call.from == 0 and (Text(Refusal(mod, player, team)) or person.barred)
        if text then
            mod.policy:Release(person.id)
            self:Refuse(person, text)
            return false
        end
        mod:Tell({ kind = "side_wanted", id = person.id, side = Equipoise.People.Side(team) })
    end
    return false
end

-- A player who stands in the ready room's door asks in every frame.
function Joins:Refuse(person, text)
    local now = self.mod:Now()
    if now >= (person.quietUntil or 0) then
        person.quietUntil = now + kQuietSeconds
        self.mod.chat:Tell(person.id, text)
    end
end

-- Puts a player on a team. False, and what they may read of it, when the game, or another mod, did not let them go.
function Joins:Put(id, team, force)
    local mod = self.mod
    local person, rules = mod.people.byId[id], GetGamerules()
    local player = person and person.client:GetControllingPlayer()
    if not player or not rules then
        return false
    end
    local text = player:GetTeamNumber() == 0 and Equipoise.Plan.IsSide(team) and Text(Refusal(mod, player, team))
    if text then
        return false, text
    end
    person.put = nil
    self.moving[id] = true
    -- Our own call comes back to us in `Asked`, where `moving` lets it pass.
    local ok, fault = pcall(rules.JoinTeam, rules, player, team, force)
    self.moving[id] = nil
    if not ok then
        mod.boundary:Report("NS2Gamerules.JoinTeam", fault)
    end
    local now = person.client:GetControllingPlayer()
    -- Asked anew: JoinTeam replaces the player's entity, and its result differs between builds and mods.
    return now ~= nil and now:GetTeamNumber() == team
end

-- The daemon answers a wish.
function Joins:Obey(order)
    local mod = self.mod
    local person = mod.people.byId[order.id]
    local wanted = mod.policy:Release(order.id)
    if not person then
        return
    elseif not mod:Enforcing() then
        if wanted then
            self:Alone(person, wanted)
        end
        return
    end
    local team = mod.people:Snapshot()[order.id].team
    local to = Equipoise.People.Team(order.side)
    if not wanted and team ~= 0 then
        return  -- went on a side without an answer, or watches
    end
    local moved, text = true, nil
    if to ~= 0 and to ~= team then
        moved, text = self:Put(order.id, to, false)
    end
    if not moved then
        -- The daemon takes them for placed.
        mod:Want("roster")
    end
    mod.chat:Tell(order.id, text or order.reason)
end

-- The daemon took too long: they go where they asked, as far as the game lets them.
function Joins:Expire()
    local mod = self.mod
    for _, held in ipairs(mod.policy:Expired(mod:Now())) do
        local person = mod.people.byId[held.id]
        if person then
            self:Alone(person, held.team)
        end
    end
end

-- Without the daemon's word: a lock and sizes decide. The game's own rule counts them before somebody changes side.
function Joins:Alone(person, team)
    local mod = self.mod
    local player, rules = person.client:GetControllingPlayer(), GetGamerules()
    if not player or not rules or player:GetTeamNumber() == team then
        return
    end
    local snapshot = mod.people:Snapshot()
    local text = mod:Enforcing()
        and mod.policy:LockText(person.id, player:GetTeamNumber(), team, snapshot, mod:Now()) or nil
    local sizes, switches = Equipoise.Plan.Sizes(snapshot, person.id), Equipoise.Plan.IsSide(player:GetTeamNumber())
    local uneven = false
    if Equipoise.Plan.IsSide(team) then
        sizes[team] = sizes[team] + 1
        -- How much larger the side would be than the other one, with the player gone from there.
        uneven = switches and 2 * sizes[team] - sizes[1] - sizes[2] > 1
    end
    local reason = Refusal(mod, player, team)
    if not text and (uneven or reason) then
        text = Text(reason) or { phrase = "Equipoise_RefusedGap",
            args = { tostring(math.max(sizes[1], sizes[2])), tostring(math.min(sizes[1], sizes[2])) } }
    end
    if text then
        mod.chat:Tell(person.id, text)
    else
        self:Put(person.id, team, false)
    end
end

Equipoise.Joins = Joins
