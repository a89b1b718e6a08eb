-- Clients and `Server`: connecting, disconnecting, consoles, network messages, settings.
local Rig = ...

local kClients = {}
local kLater = {}
local gLastClient = 0

ServerClient = Rig.DefineClass("ServerClient")

-- ns2_game.md 3.6 (B266 comment): 0 for bots, and for people while Steam has not answered.
function ServerClient:GetUserId()
    local fields = Rig.Fields(self)
    if fields.known_at and Rig.system < fields.known_at then return 0 end
    return fields.userId
end
function ServerClient:GetId() return Rig.Fields(self).index end
function ServerClient:GetIsVirtual() return Rig.Fields(self).virtual end
function ServerClient:GetIsSpectator() return Rig.Fields(self).watches == true end
function ServerClient:GetPing() return 40 end
function ServerClient:GetControllingPlayer() return Shared.GetEntity(Rig.Fields(self).playerId) end
function ServerClient:GetControllingPlayerId() return Rig.Fields(self).playerId end
function ServerClient:GetPlayer() return self:GetControllingPlayer() end
function ServerClient:SetControllingPlayer(player)
    Rig.Fields(self).playerId = player:GetId()
    Rig.SetOwner(player, self)
end

Server = {}

function Rig.Clients()
    local found = {}
    for index = 1, gLastClient do
        if kClients[index] then table.insert(found, kClients[index]) end
    end
    return found
end

-- ns2_game.md 3.6: the event runs for bots too, inside AddVirtualClient; the handler of the gamerules is the first.
function Rig.Connect(fields)
    gLastClient = gLastClient + 1
    fields.index = gLastClient
    fields.playerId = Entity.invalidId
    local client = Rig.NewObject("ServerClient", fields)
    kClients[gLastClient] = client
    Rig.Fire("ClientConnect", client)
    return client
end

-- ns2_game.md 3.6: the handler of the gamerules takes the player off their team before other hooks see the event.
function Rig.Disconnect(client)
    local fields = Rig.Fields(client)
    if fields.leaving or not Rig.IsAlive(client) then return end
    fields.leaving = true
    Rig.Fire("ClientDisconnect", client)
    local player = Shared.GetEntity(fields.playerId)
    kClients[fields.index] = nil
    if player then Rig.DestroyPlayer(player) end
    Rig.Kill(client)
end

function Server.AddVirtualClient()
    return Rig.Connect({ userId = 0, virtual = true, name = "Bot" })
end

-- SH, 2025-07: an invalid client crashes the engine. ns2_game.md 3.9: a bot goes by bot:Disconnect().
function Server.DisconnectClient(client, ...)
    if select("#", ...) > 0 and type((...)) ~= "string" then Rig.Fault("DisconnectClient: reason is no text") end
    if type(client) ~= "userdata" or not Rig.IsAlive(client) then
        Rig.Fault("DisconnectClient: invalid client: the engine crashes")
    end
    if Rig.Fields(client).virtual then Rig.Fault("DisconnectClient of a bot") end
    Rig.Disconnect(client)
    Rig.host.disconnected(Rig.Fields(client).index)
end

function Server.GetOwner(player)
    if type(player) ~= "userdata" then Rig.Fault("GetOwner: an entity expected, got " .. type(player)) end
    player:GetId()
    return Rig.OwnerOf(player)
end

function Server.GetClientById(index) return kClients[index] end
function Server.GetNumPlayers() return #Rig.Clients() end
function Server.GetMaxPlayers() return Rig.settings.max_players end
function Server.GetName() return Rig.settings.server_name end
function Server.GetPort() return 27015 end
function Server.IsDedicated() return true end
function Server.GetMaxSpectators() return Rig.settings.max_spectators end -- SH extensions/basecommands, STUB
-- LZZZZ/ns2-improved-web-admin, docs/CONSTRAINTS.md 18: what the engine looks at; `whitelisted` is every mounted mod.
function Server.GetIsRankingActive()
    local slots = Rig.settings.max_players
    return not Shared.GetCheatsEnabled() and Rig.settings.max_spectators <= 5 and slots >= 12 and slots <= 20
        and Rig.settings.whitelisted
end
function Server.GetNumActiveMods() return Rig.mods end -- SH core/shared/logging.lua
function Server.SetMaxHttpRequestsLimit(limit) Rig.host.limit(limit) end

function Server.ForAllPlayers(fn)
    for _, player in ipairs(Rig.EntitiesOf("Player")) do
        if Rig.IsAlive(player) then fn(player) end
    end
end

-- ns2_game.md 6.4: the client runs the command: it comes back a round trip later.
function Server.ClientCommand(player, command)
    local client = Server.GetOwner(player)
    if client and not Rig.Fields(client).virtual then
        table.insert(kLater, { client = client, command = command, at = Rig.time + Rig.switches.round_trip })
    end
end

function Rig.RunClientCommands()
    local due = kLater
    kLater = {}
    for _, one in ipairs(due) do
        if one.at > Rig.time then
            table.insert(kLater, one)
        elseif Rig.IsAlive(one.client) then
            Rig.Console(one.client, one.command)
        end
    end
end

-- `Server` settings of ServerConfig.json: set at run time, never saved (SH tournamentmode).
function Server.GetConfigSetting(name) return Rig.settings[name] end
function Server.SetConfigSetting(name, value) Rig.settings[name] = value end

function Server.StartWorld(_, map) Rig.host.next_map(map) end
function MapCycle_ChangeMap(map) Server.StartWorld({}, map) end
function MapCycle_CycleMap() MapCycle_ChangeMap(Rig.settings.next_map) end

local function Plain(variables)
    local copy = {}
    for key, value in pairs(variables) do
        local kind = type(value)
        if kind == "string" or kind == "number" or kind == "boolean" then copy[key] = value end
    end
    return copy
end

local function Recipient(target)
    if Rig.IsA(Rig.ClassOf(target), "ServerClient") then
        target:GetId()
        return Rig.Fields(target).index
    end
    local owner = Server.GetOwner(target)
    return owner and Rig.Fields(owner).index or -1
end

-- STUB api/Server.lua SendNetworkMessage: to everybody, or with a player or client first.
function Server.SendNetworkMessage(first, second, third)
    if type(first) == "string" and type(second) == "table" then return Rig.host.sent(0, first, Plain(second)) end
    if type(first) == "userdata" and type(second) == "string" and type(third) == "table" then
        return Rig.host.sent(Recipient(first), second, Plain(third))
    end
    Rig.Fault("SendNetworkMessage: no overload takes " .. type(first) .. ", " .. type(second) .. ", " .. type(third))
end

local kNetworkHooks = {}

-- ns2_game.md 6.3: whether a second hook of a name adds or replaces is not known.
function Server.HookNetworkMessage(name, fn)
    if not kNetworkHooks[name] or not Rig.switches.network_hooks_add then kNetworkHooks[name] = {} end
    table.insert(kNetworkHooks[name], fn)
end

function Rig.Receive(client, name, message)
    for _, fn in ipairs(kNetworkHooks[name] or {}) do
        local copy = {}
        for key, value in pairs(message) do copy[key] = value end
        Rig.Protected(name, fn, client, copy)
    end
end

-- ns2_game.md 12.1, measured on 26-09: split at blanks; quotes and semicolons are text (Shine's commands put quoted
-- words together themselves, SH core/shared/commands.lua AdjustArguments).
local function Arguments(text)
    local found = {}
    for word in text:gmatch("%S+") do table.insert(found, word) end
    return found
end

function Rig.Console(client, line)
    local words = Arguments(line)
    local name = "Console_" .. table.remove(words, 1):lower()
    if not Rig.IsHooked(name) then return false end
    Rig.Fire(name, client, unpack(words))
    return true
end

-- B266 ServerAdmin.lua GetClientCanRunCommand: the server's console may everything.
function GetClientCanRunCommand(client, command)
    return client == nil or Rig.host.is_admin(client:GetUserId())
end

function CreateServerAdminCommand(event, fn, help, always)
    assert(event:match("^Console_sv_"), "CreateServerAdminCommand: " .. event)
    Event.Hook(event, function(client, ...)
        if client == nil or always == true or GetClientCanRunCommand(client, event) then return fn(client, ...) end
        ServerAdminPrint(client, "You are not allowed to run this command")
    end)
end

-- ns2_game.md 6.3 (B266 ServerAdmin.lua): pieces of 128 bytes to the controlling player, and always to the console.
function ServerAdminPrint(client, text)
    if client then
        local player = client:GetControllingPlayer()
        for from = 1, #text, 128 do
            Server.SendNetworkMessage(player, "ServerAdminPrint", { message = text:sub(from, from + 127) }, true)
        end
    end
    Shared.Message(text)
end

-- B266 ConfigFileUtility.lua; nil for a missing file, and for one that does not parse (which is printed).
function LoadConfigFile(name, default, complete)
    local file = io.open("config://" .. name, "r")
    if not file then
        if default then SaveConfigFile(name, default) end
        return default
    end
    local value, _, err = json.decode(file:read("*all"))
    file:close()
    if err then
        Shared.Message("Error while parsing " .. name .. ": " .. err)
        return nil
    end
    if complete then
        for key, each in pairs(default) do if value[key] == nil then value[key] = each end end
    end
    return value
end

function SaveConfigFile(name, value)
    local file = io.open("config://" .. name, "w+")
    if not file then return end
    file:write(json.encode(value, { indent = true }))
    file:close()
end

function WriteDefaultConfigFile(name, default)
    local file = io.open("config://" .. name, "r")
    if file then return file:close() end
    SaveConfigFile(name, default)
end

Server = Rig.EngineTable("Server", Server)
