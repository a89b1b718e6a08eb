-- What the league mod NSL does to a server: the pause, and the places of players who lost their connection
-- (ns2_game.md 3.6, 6.5; xToken/NSL pause and statesave).
local Rig = ...

local raw = Shared.GetTime
local gLost, gPausedAt = 0, nil

-- Stands still in a pause and stays behind by it; with true, the raw clock.
Shared.GetTime = function(real)
    if real then return raw() end
    return (gPausedAt or raw()) - gLost
end

-- xToken/NSL: whether the league's rules apply.
function GetNSLModEnabled() return Rig.settings.nsl_match end

function Rig.Pause()
    Rig.paused, gPausedAt = true, raw()
end

function Rig.Unpause()
    gLost = gLost + raw() - gPausedAt
    Rig.paused, gPausedAt = false, nil
end

local function Give(player, from, to)
    Rig.Fields(from).playerId = Entity.invalidId
    to:SetControllingPlayer(player)
end

-- The entity goes to a virtual client that has no player of its own, without Replace.
function Rig.Park(client)
    local player = client:GetControllingPlayer()
    local keeper = Rig.Connect({ userId = 0, virtual = true, name = player:GetName() })
    Rig.DestroyPlayer(keeper:GetControllingPlayer())
    Give(player, client, keeper)
    Rig.Disconnect(client)
    return keeper
end

-- On the way back: JoinTeam with force, then the entities change their owners.
function Rig.Unpark(client, keeper)
    local parked = keeper:GetControllingPlayer()
    local _, fresh = GetGamerules():JoinTeam(client:GetControllingPlayer(), parked:GetTeamNumber(), true)
    Give(parked, keeper, client)
    Rig.DestroyPlayer(fresh)
    Rig.Disconnect(keeper)
end
