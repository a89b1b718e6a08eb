-- The game's own balancing (NS2Gamerules:UpdateAutoTeamBalance) holds respawning players of the larger side back,
-- without a look at their skill. It is off while the daemon decides who plays where, and as it was at all other times,
-- also when the map ends: whether a setting outlasts the map is not known. It is not saved.

Equipoise = Equipoise or {}

local Rival = {}
Rival.__index = Rival

local kSetting = "auto_team_balance"

function Rival.New()
    return setmetatable({ off = false }, Rival)
end

-- Newer builds read `enabled` of the table, older ones take any table for on.
local function Disabled(setting)
    if type(setting) ~= "table" then
        return false
    end
    local copy = {}
    for key, value in pairs(setting) do
        copy[key] = value
    end
    copy.enabled = false
    return copy
end

-- `acts`: the daemon balances this map now.
function Rival:Look(acts)
    if acts == self.off then
        return
    end
    self.off = acts
    if acts then
        self.before = Server.GetConfigSetting(kSetting) or false
        Server.SetConfigSetting(kSetting, Disabled(self.before))
    else
        Server.SetConfigSetting(kSetting, self.before)
    end
end

Equipoise.Rival = Rival
