-- Who is connected. Clients and ids are kept, players' entities never: the game replaces them at every death, join,
-- evolution and reset, and a stale one throws on any access.

Equipoise = Equipoise or {}

local People = {}
People.__index = People

local kSides = { "marines", "aliens" }
local kAfkSeconds = 60
-- The daemon takes no more of the game's own skill.
local kMostPoints = 100000
-- What the scoreboard counts (ScoringMixin), by the protocol's names. Nil before the first.
local kCounted = { kills = "GetKills", deaths = "GetDeaths", assists = "GetAssistKills", points = "GetScore" }

-- `mod` is server.lua's.
function People.New(mod)
    return setmetatable({ mod = mod, byClient = {}, byId = {}, bots = 0 }, People)
end

function People.Side(team)
    return kSides[team] or "none"
end

function People.Team(side)
    return side == "marines" and 1 or (side == "aliens" and 2 or 0)
end

-- Also called for bots, inside AddVirtualClient.
function People:Connected(client)
    if self.byClient[client] then
        return
    end
    local person = { client = client, bot = client:GetIsVirtual() == true, team = 0, alive = false, commander = false,
        since = self.mod:Now() }
    self.byClient[client] = person
    if person.bot then
        self.bots = self.bots + 1
        person.id = "bot:" .. self.bots
    end
    self:Identify(person)
end

-- The account id is 0 before Steam has answered: asked again at every look.
function People:Identify(person)
    if person.known then
        return true
    end
    if not person.id then
        local account = person.client:GetUserId()
        if type(account) ~= "number" or account <= 0 then
            return false
        end
        person.id = string.format("%.0f", account)
    end
    person.known = true
    person.name = self:Name(person)
    self.byId[person.id] = person
    self:Introduce(person)
    self.mod:Want("roster")
    return true
end

-- A client sends its name when it has loaded, and may send another at any time.
function People:Introduce(person)
    local name = person.name ~= rawget(_G, "kDefaultPlayerName") and person.name or nil
    if self.mod:Tell({ kind = "player_joined", id = person.id, name = name }) then
        person.told = person.name
    end
end

function People:Name(person)
    local player = person.client:GetControllingPlayer()
    return player and player:GetName() or person.name
end

-- The gamerules have taken them off their team already.
function People:Disconnected(client)
    local person = self.byClient[client]
    self.byClient[client] = nil
    -- The engine may tell that the old client is gone after the new one has come.
    if not person or not person.known or self.byId[person.id] ~= person then
        return  -- they are here again, with a new client
    end
    self.byId[person.id] = nil
    self.mod.policy:Release(person.id)
    self.mod.rounds:Left(person.id)
    self.mod:Tell({ kind = "player_left", id = person.id })
end

function People:OfClient(client)
    local person = client and self.byClient[client]
    return person and self:Identify(person) and person or nil
end

function People:OfPlayer(player)
    return self:OfClient(player and Server.GetOwner(player))
end

local function Counts(player)
    local counts = {}
    for name, getter in pairs(kCounted) do
        local number = player[getter] and player[getter](player) or 0
        counts[name] = type(number) == "number" and math.max(0, math.floor(number)) or 0
    end
    return counts
end

-- The game's own skill of a player, from Steam's statistics: -1 or 0 before they come, and of new accounts.
local function Hive(player)
    local function Ask(getter)
        local number = player[getter] and player[getter](player)
        return type(number) == "number" and math.max(-kMostPoints, math.min(kMostPoints, math.floor(number + 0.5))) or 0
    end
    local skill = Ask("GetPlayerSkill")
    if skill <= 0 then
        return nil
    end
    return { skill = skill, offset = Ask("GetPlayerSkillOffset"), commander = math.max(0, Ask("GetCommanderSkill")) }
end

-- In the middle of a replacement a client has no player: then what was seen last still holds.
local function Read(person, joins)
    local player = person.client:GetControllingPlayer()
    if not player then
        return
    end
    local team = player:GetTeamNumber()
    person.team = team > 0 and team or 0
    person.commander = player:isa("Commander")
    person.alive = player:GetIsAlive()
    person.name = player:GetName()
    person.counts = not person.bot and Counts(player) or nil
    -- As it was when it came: the game changes it after each round that it ranks.
    person.hive = person.hive or (not person.bot and Hive(player)) or nil
    -- The game sets the time at any input. A client that still loads has none, and an AFK time of 0.
    local away = player:GetAFKTime()
    person.lived = person.lived or person.team ~= 0 or away > 0 or person.client.timeLastNotAFK ~= nil
    -- Who has a spectators' slot cannot play; the game lets them change it.
    local plays = not person.bot and person.client:GetIsSpectator() ~= true
    person.waiting = plays and team == 0 and person.lived and away < kAfkSeconds and not person.sits
        and joins:MayPlay(person, player)
end

-- Everybody who is connected and known, as policy.lua and record.lua want it.
function People:Snapshot()
    local snapshot = {}
    for _, person in pairs(self.byClient) do
        if self:Identify(person) and self.byId[person.id] == person then
            local ok, fault = pcall(Read, person, self.mod.joins)
            if not ok then
                self.mod.boundary:Report("reading a player", fault)
            end
            snapshot[person.id] = { team = person.team, human = not person.bot, commander = person.commander,
                alive = person.alive, waiting = person.waiting, forced = person.forced, counts = person.counts,
                hive = person.hive,
                role = person.commander and "commander" or "field" }
        end
    end
    return snapshot
end

-- Looks at everybody: the spans and the daemon follow. The hooks alone miss half of the ways out of a chair.
function People:Look()
    local snapshot = self:Snapshot()
    self.mod.rounds:Observe(snapshot)
    for id, now in pairs(snapshot) do
        local person = self.byId[id]
        local side = People.Side(now.team)
        if person.side ~= side then
            local forced = side ~= "none" and person.put == now.team or nil
            if forced ~= person.forced then
                person.forced = forced
                self.mod:Want("roster")
            end
            person.put = nil
        end
        -- Nil before the first look: where they stand then is in the roster that `Identify` wants.
        if person.side ~= side and person.side then
            self.mod:Tell({ kind = "side_changed", id = id, side = side, waiting = now.waiting or nil })
        elseif person.wasWaiting ~= now.waiting then
            self.mod:Want("roster")
        end
        if person.wasCommander ~= now.commander or (person.hadHive or false) ~= (now.hive ~= nil) then
            self.mod:Want("roster")
        end
        if person.name ~= person.told then
            self:Introduce(person)
        end
        person.side, person.wasWaiting, person.wasCommander = side, now.waiting, now.commander
        person.hadHive = now.hive ~= nil
    end
    return snapshot
end

-- Whether both sides have a commander; bots count, as for the game.
function People:BothCommanded()
    local chairs = {}
    for _, person in pairs(self.byId) do
        if person.commander then
            chairs[person.team] = true
        end
    end
    return (chairs[1] and chairs[2]) == true
end

local function ById(one, other)
    return one.id < other.id
end

-- The lines of a roster.
function People:Roster()
    local now, lines = self.mod:Now(), {}
    for id, seen in pairs(self:Snapshot()) do
        local person = self.byId[id]
        local line = { id = id, side = People.Side(seen.team) }
        line.waiting = seen.waiting or nil
        line.forced = seen.forced
        -- Between two entities a commander may stand on no side; the daemon refuses such a line.
        line.commander = (seen.commander and line.side ~= "none") or nil
        if not seen.alive then
            line.alive = false
        end
        if not person.bot then
            line.connected = now - person.since
            line.hive = seen.hive
            line.immune = self.mod:May(person.client, "sv_eq_immune") or nil
        end
        lines[#lines + 1] = line
    end
    table.sort(lines, ById)
    return lines
end

-- The one human whose name fits, and how many there are.
function People:Named(fits)
    local found, count = nil, 0
    for id, person in pairs(self.byId) do
        if not person.bot and fits(person.name or "") then
            found, count = id, count + 1
        end
    end
    return count == 1 and found or nil, count
end

-- The id of the player that a text names: a SteamID64, the account id of somebody who is here, a name, the account id
-- of somebody who is not, or a part of one name. Nil when none or several fit. Only ASCII's letters have cases here.
function People:Find(text)
    local account = string.match(text, "^%d+$")
        and (Equipoise.Codec.AccountId(text) or (Equipoise.Codec.SteamId(text) and text)) or nil
    if account and (account ~= text or self.byId[account]) then
        return account
    end
    local found, count = self:Named(function(name) return name == text end)
    local lower = string.lower(text)
    if count == 0 then
        found, count = self:Named(function(name) return string.lower(name) == lower end)
    end
    if count == 0 and not account then
        found = self:Named(function(name) return string.find(string.lower(name), lower, 1, true) ~= nil end)
    end
    return found or (count == 0 and account) or nil
end

-- What players are called in texts; one who is not here stays an id.
function People:NameOf(id)
    local person = self.byId[id]
    return person and person.name or id
end

Equipoise.People = People
