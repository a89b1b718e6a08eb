-- The splits that the daemon sent last, fitted to the players who are here: the law of
-- daemon/equipoise/core/fallback.py without a bench. An absent player's place goes to the unplaced player nearest to
-- them in the cache's order, in whose middle unknown players stand; ties go to the stronger. Players who are left fill
-- the smaller side, strongest first. Commanders are not placed, but count: `lead` is how many more the marines have.

Equipoise = Equipoise or {}

local Fallback = {}

local function CountOf(split, letter)
    local _, count = string.gsub(split, letter, "")
    return count
end

-- The largest split that so many can fill, and whose sides are even with the commanders in them; around a lead of two
-- and more who is left over has to make them so. One that does not fit the ids is none.
local function Largest(cache, present, lead)
    -- The largest comes last.
    for i = #cache.splits, 1, -1 do
        local split = cache.splits[i]
        local first, second = CountOf(split, "A"), CountOf(split, "B")
        local gap, left = first - second, present - first - second
        local even = math.abs(gap + lead) <= 1 or (gap == 0 and left >= math.abs(lead) - 1)
        if #split == #cache.ids and first + second > 0 and left >= 0 and even then
            return split
        end
    end
    return nil
end

-- Everybody who is here, strongest first; of equals the first of `present`. table.sort keeps no such order.
local function Ranked(cache, present)
    local places = {}
    for place, id in ipairs(cache.ids) do
        places[id] = place
    end
    local ranked = {}
    for _, id in ipairs(present) do
        -- Ids stand strongest first, so the middle is where nothing is known.
        local one = { id = id, place = places[id] or (#cache.ids + 1) / 2 }
        local at = #ranked + 1
        while at > 1 and ranked[at - 1].place > one.place do
            at = at - 1
        end
        table.insert(ranked, at, one)
    end
    return ranked
end

local function SideAt(split, place)
    local letter = string.sub(split, place, place)
    return (letter == "A" or letter == "B") and letter or nil
end

-- The unplaced player nearest to the place, of equals the stronger.
local function Nearest(ranked, place)
    local nearest
    for _, one in ipairs(ranked) do
        local away = math.abs(one.place - place)
        if not one.side and (not nearest or away < math.abs(nearest.place - place)) then
            nearest = one
        end
    end
    return nearest
end

local function Substitute(cache, split, ranked, byId)
    for place, id in ipairs(cache.ids) do
        local side = SideAt(split, place)
        local nearest = side and not byId[id] and Nearest(ranked, place)
        if nearest then
            nearest.side = side
        end
    end
end

local function Fill(ranked, lead)
    for _, one in ipairs(ranked) do
        lead = lead + (one.side == "A" and 1 or (one.side == "B" and -1 or 0))
    end
    for _, one in ipairs(ranked) do
        if not one.side then
            one.side = lead <= 0 and "A" or "B"
            lead = lead + (one.side == "A" and 1 or -1)
        end
    end
end

-- {marines, aliens}, lists of ids; nil when the cache has no split that is small enough. `cache` is that of a reply,
-- `present` the ids of those who take part.
function Fallback.Split(cache, present, lead)
    lead = lead or 0
    local split = Largest(cache, #present, lead)
    if not split then
        return nil
    end
    local ranked = Ranked(cache, present)
    local byId = {}
    for _, one in ipairs(ranked) do
        byId[one.id] = one
    end
    for place, id in ipairs(cache.ids) do
        if byId[id] then
            byId[id].side = SideAt(split, place)
        end
    end
    Substitute(cache, split, ranked, byId)
    Fill(ranked, lead)
    local sides = { A = {}, B = {} }
    for _, id in ipairs(present) do
        table.insert(sides[byId[id].side], id)
    end
    return { marines = sides.A, aliens = sides.B }
end

Equipoise.Fallback = Fallback
