-- Between the game's calls and ours: an error of ours ends in the log, never in the game, and is written there once. An
-- error of the game's own code that we stand around is the game's, and goes on as without us.

Equipoise = Equipoise or {}

local Boundary = {}
Boundary.__index = Boundary

local kMostReports = 50

function Boundary.New(log)
    return setmetatable({ log = log, reported = {}, reports = 0 }, Boundary)
end

function Boundary:Report(name, fault)
    local text = "Error in " .. name .. ": " .. tostring(fault)
    -- One that comes in every frame may name another number, of a player say, each time.
    local place, what = string.match(text, "^(.-%.lua:%d+:)(.*)$")
    local key = (place or "") .. string.gsub(what or text, "%d[%d%.]*", "")
    if not self.reported[key] and self.reports < kMostReports then
        self.reported[key] = true
        self.reports = self.reports + 1
        self.log(text)
    end
end

-- `fn` as a callback that never throws; after an error it returns nothing.
function Boundary:Guard(name, fn)
    local function Finish(ok, ...)
        if ok then
            return ...
        end
        self:Report(name, (...))
    end
    return function(...)
        return Finish(pcall(fn, ...))
    end
end

-- Puts `before` and `after` around a method of the game. Both get its object; `before` its arguments, `after` its
-- results. When `before` returns false the game's method is not called, and the caller gets false and the first
-- argument: what JoinTeam answers when it refuses. Other mods' wrappers may sit on either side of this one.
function Boundary:Wrap(class, method, before, after)
    local name = class .. "." .. method
    before = before and self:Guard(name, before)
    after = after and self:Guard(name, after)
    local original
    local function Done(object, ...)
        if after then
            after(object, ...)
        end
        return ...
    end
    local function Around(object, ...)
        if before and before(object, ...) == false then
            return false, (...)
        end
        return Done(object, original(object, ...))
    end
    local ok, found = pcall(Class_ReplaceMethod, class, method, Around)
    if ok then
        original = found
    else
        self:Report(name, found)
    end
end

Equipoise.Boundary = Boundary
