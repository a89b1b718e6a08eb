-- Players who ask for a side, and players whom we put on one: both go through NS2Gamerules:JoinTeam, which asks
-- no rule of its own (GetCanJoinTeamNumber is the console command's).

Equipoise = Equipoise or {}

local Joins = {}
Joins.__index = Joins

local kQuietSeconds = 3

function Joins.New(mod)
    return setmetatable({ mod = mod, moving = {} }, Joins)
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
    local snapshot = mod.people:Snapshot()
    local answer, more = mod.policy:Join(call, snapshot, mod:Now())
    if answer == "pass" then
        return nil
    elseif answer == "refuse" then
        self:Refuse(person, more)
    elseif more then
        person.lived = true
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

-- Puts a player on a team. False when the game, or another mod, did not let them go where they should.
function Joins:Put(id, team, force)
    local mod = self.mod
    local person, rules = mod.people.byId[id], GetGamerules()
    local player = person and person.client:GetControllingPlayer()
    if not player or not rules then
        return false
    end
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
    if to ~= 0 and to ~= team then
        self:Put(order.id, to, false)
    end
    mod.chat:Tell(order.id, order.reason)
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
    if not text and (uneven or rules:GetCanJoinTeamNumber(player, team) == false) then
        text = { phrase = "Equipoise_RefusedGap",
            args = { tostring(math.max(sizes[1], sizes[2])), tostring(math.min(sizes[1], sizes[2])) } }
    end
    if text then
        mod.chat:Tell(person.id, text)
    else
        self:Put(person.id, team, false)
    end
end

Equipoise.Joins = Joins
