-- Which players a split moves, and in which order. `people` is a snapshot: id -> { team, human, commander }.

Equipoise = Equipoise or {}

local Plan = {}

local kMarines, kAliens, kSpectators = 1, 2, 3

function Plan.IsSide(team)
    return team == kMarines or team == kAliens
end

-- Humans on the two sides; without the player `except`, where one is named.
function Plan.Sizes(people, except)
    local sizes = { 0, 0 }
    for id, person in pairs(people) do
        if person.human and id ~= except and Plan.IsSide(person.team) then
            sizes[person.team] = sizes[person.team] + 1
        end
    end
    return sizes
end

-- Whether people made these teams: at least half of the players were put on their side by an admin or another mod.
function Plan.IsDraft(people)
    local count, forced = 0, 0
    for _, person in pairs(people) do
        if person.human and Plan.IsSide(person.team) then
            count = count + 1
            forced = forced + (person.forced and 1 or 0)
        end
    end
    return forced > 0 and 2 * forced >= count
end

-- The moves that put the players who are here where `order` names them (red: marines, blu: aliens), or nil, "sizes".
-- Commanders stay: the game does not wait for a new one. A spectator chose to watch, and in the ready room some wait no
-- more. The sizes are counted as they would be, with who came or left since the split was made.
function Plan.Moves(order, people)
    local wanted = {}
    for _, id in ipairs(order.red or {}) do
        wanted[id] = kMarines
    end
    for _, id in ipairs(order.blu or {}) do
        wanted[id] = kAliens
    end
    local before, after, moves = Plan.Sizes(people), { 0, 0 }, {}
    for id, person in pairs(people) do
        if person.human then
            local team = person.team
            local free = (Plan.IsSide(team) or person.waiting) and not person.commander
            if wanted[id] and team ~= wanted[id] and free then
                moves[#moves + 1] = { id = id, from = team, team = wanted[id] }
                team = wanted[id]
            end
            if Plan.IsSide(team) then
                after[team] = after[team] + 1
            end
        end
    end
    -- Judged by who is here now: the daemon made even sides of who was here when it was asked.
    if math.abs(after[kMarines] - after[kAliens]) > 1 then
        return nil, "sizes"
    end
    return Plan.InTurns(moves, before)
end

-- The same moves, each to the side that is smaller then, so that a refusal in the middle leaves the sides nearly even.
function Plan.InTurns(moves, sizes)
    -- `pairs` has no order, and the same moves are to come out alike each time.
    table.sort(moves, function(a, b) return a.id < b.id end)
    local lead, ordered = sizes[kMarines] - sizes[kAliens], {}
    while #moves > 0 do
        local smaller, chosen = lead > 0 and kAliens or kMarines, 1
        -- Downwards, so that the first of those that fit is taken; without any, the first at all.
        for i = #moves, 1, -1 do
            if moves[i].team == smaller then
                chosen = i
            end
        end
        local move = table.remove(moves, chosen)
        ordered[#ordered + 1] = move
        -- Who changes side takes one from the other, too.
        lead = lead + (move.team == kMarines and 1 or -1) * (Plan.IsSide(move.from) and 2 or 1)
    end
    return ordered
end

Equipoise.Plan = Plan
