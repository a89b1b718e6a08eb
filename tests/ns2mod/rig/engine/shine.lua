-- A fake Shine: its hooks, its wrappers and its shuffle (SH core/shared/hook.lua, lib/player.lua).
--
-- Kept: JoinTeam is wrapped at the first think, the wrapper passes three arguments inward, listeners may veto or
-- redirect, PostJoinTeam follows success, chat is seen first, a hook that throws is removed, and from the first think on
-- ServerAdminPrint prints nothing on the server's console.
local Rig = ...

local kHooks = {}
Shine = { Hook = {}, Plugins = {} }

function Shine.Hook.Add(event, index, fn, priority)
    Shine.Hook.Remove(event, index)
    kHooks[event] = kHooks[event] or {}
    table.insert(kHooks[event], { index = index, fn = fn, priority = priority or 0 })
    table.sort(kHooks[event], function(a, b) return a.priority < b.priority end)
end

function Shine.Hook.Remove(event, index)
    for i, hook in ipairs(kHooks[event] or {}) do
        if hook.index == index then return table.remove(kHooks[event], i) end
    end
end

local function OnError(err)
    return debug.traceback(tostring(err), 2)
end

function Shine.Hook.Call(event, ...)
    for _, hook in ipairs({ unpack(kHooks[event] or {}) }) do
        local ok, a, b = xpcall(hook.fn, OnError, ...)
        if not ok then
            Rig.host.script_error("Shine hook " .. event .. " '" .. tostring(hook.index) .. "' removed: " .. a)
            Shine.Hook.Remove(event, hook.index)
        elseif a ~= nil then
            return a, b
        end
    end
end
Shine.Hook.Broadcast = Shine.Hook.Call

function Shine.GetGamerules() return GetGamerules() end
function Shine:IsExtensionEnabled(name)
    local plugin = self.Plugins[name]
    return plugin ~= nil and plugin.Enabled == true, plugin
end

-- SH extensions/voterandom/server.lua: an enforcement policy says whether the last shuffle is enforced still.
function Rig.ShinePlugin(name, enabled, enforced)
    Shine.Plugins[name] = {
        Enabled = enabled,
        Config = { AutoShuffleAtRoundStart = false },
        EnforcementPolicy = { IsActive = function() return enforced end },
    }
end

-- A nil client is the server's console.
function Shine:HasAccess(client, command)
    return client == nil or Rig.host.is_admin(client:GetUserId())
end

function Shine:NotifyDualColour(target, _, _, _, prefix, _, _, _, text)
    local message = { playerName = prefix, message = text, teamOnly = false, teamNumber = 0, locationId = -1 }
    if target == nil then return Server.SendNetworkMessage("Chat", message, true) end
    for _, each in ipairs(type(target) == "table" and target or { target }) do
        Server.SendNetworkMessage(each, "Chat", message, true)
    end
end

function Shine:Notify(target, prefix, _, text) self:NotifyDualColour(target, 0, 0, 0, prefix, 0, 0, 0, text) end

local original = Server.HookNetworkMessage
rawset(Server, "HookNetworkMessage", function(name, fn)
    if name ~= "ChatClient" then return original(name, fn) end
    original(name, function(client, message)
        local result = Shine.Hook.Call("PlayerSay", client, message)
        if result == "" then return end
        if result then message.message = result end
        return fn(client, message)
    end)
end)

local function WrapJoinTeam()
    local inner
    inner = Class_ReplaceMethod("NS2Gamerules", "JoinTeam", function(self, player, number, force, shineForce)
        local override, other = Shine.Hook.Call("JoinTeam", self, player, number, force, shineForce)
        if override ~= nil then
            if not override then return false, player end
            number = other
        end
        local from = player:GetTeamNumber()
        local success, fresh = inner(self, player, number, force)
        if success then Shine.Hook.Broadcast("PostJoinTeam", self, fresh, from, number, force, shineForce) end
        return success, fresh or player
    end)
end

local function WrapBefore(class, method, event)
    local inner
    inner = Class_ReplaceMethod(class, method, function(...)
        Shine.Hook.Call(event, ...)
        return inner(...)
    end)
end

-- SH core/server/logging.lua "OverrideServerAdminPrint": without a client it returns at once; a client gets pieces of at
-- most 127 bytes, cut between words where it can be, and the server's console gets nothing at all.
local kMaxPrintLength = 127

local function Pieces(line, pieces)
    while #line > kMaxPrintLength do
        local cut = line:sub(1, kMaxPrintLength + 1):match("^.*() ") or kMaxPrintLength + 1
        table.insert(pieces, line:sub(1, cut - 1))
        line = line:sub(cut):gsub("^ ", "")
    end
    table.insert(pieces, line)
end

local function ReplaceServerAdminPrint()
    function ServerAdminPrint(client, text)
        if not client then return end
        local pieces = { text }
        if #text > kMaxPrintLength then
            pieces = {}
            for line in (text .. "\n"):gmatch("(.-)\n") do Pieces(line, pieces) end
        end
        for _, piece in ipairs(pieces) do
            Server.SendNetworkMessage(client, "ServerAdminPrint", { message = piece }, true)
        end
    end
end

local gWrapped = false

function Rig.ShineWraps()
    if gWrapped then return end
    gWrapped = true
    ReplaceServerAdminPrint()
    WrapJoinTeam()
    WrapBefore("NS2Gamerules", "EndGame", "EndGame")
    WrapBefore("CommandStructure", "LoginPlayer", "CommLoginPlayer")
    WrapBefore("CommandStructure", "Logout", "CommLogout")
    local inner
    inner = Class_ReplaceMethod("NS2Gamerules", "SetGameState", function(self, state)
        local before = self.gameState
        inner(self, state)
        Shine.Hook.Call("SetGameState", self, state, before)
    end)
end

function Rig.ShineLoads()
    Event.Hook("UpdateServer", function(dt)
        Rig.ShineWraps()
        Shine.Hook.Call("Think", dt)
    end)
    Event.Hook("ClientConnect", function(client) Shine.Hook.Call("ClientConnect", client) end)
    Event.Hook("ClientDisconnect", function(client) Shine.Hook.Call("ClientDisconnect", client) end)
end

-- SH lib/player.lua EvenlySpreadTeams: a listener of the highest priority forces every team while it moves, marines
-- first, four arguments, each move in xpcall; in a round the reset comes after the moves (SH voterandom).
function Rig.ShineShuffle(wanted)
    Shine.Hook.Add("JoinTeam", "TeamEnforcement", function(_, player)
        local client = Server.GetOwner(player)
        local number = client and wanted[client:GetId()]
        if number then return true, number end
    end, -20)
    for number = 1, 2 do
        for _, client in ipairs(Rig.Clients()) do
            local player = client:GetControllingPlayer()
            if wanted[client:GetId()] == number and player:GetTeamNumber() ~= number then
                xpcall(GetGamerules().JoinTeam, OnError, GetGamerules(), player, number, true, true)
            end
        end
    end
    Shine.Hook.Remove("JoinTeam", "TeamEnforcement")
    if GetGamerules():GetGameStarted() then GetGamerules():ResetGame() end
end
