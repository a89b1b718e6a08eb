-- `Shared`, `Event`, `Script`, printing, requests and the clocks.
local Rig = ...

local kHooks = {}
Event = Rig.EngineTable("Event", {})

-- ns2.md 1.3; besides these, Console_<command>.
local kEvents = {}
for _, name in ipairs({ "UpdateServer", "ClientConnect", "ClientDisconnect", "ConnectRequested",
    "CheckConnectionAllowed", "MapPreLoad", "MapLoadEntity", "MapPostLoad", "LoadComplete", "CanPlayerHearPlayer",
    "VirtualClientThink", "VirtualClientMove", "WebRequest", "ReceivedSteamStatsForClient",
    "ProcessRoundStatsCompleted" }) do kEvents[name] = true end

function Event.Hook(name, fn)
    assert(type(name) == "string" and type(fn) == "function", "Event.Hook: name and function expected")
    if Rig.strict and not kEvents[name] and not name:match("^Console_") then
        Rig.Fault("unknown engine event: " .. name)
    end
    kHooks[name] = kHooks[name] or {}
    table.insert(kHooks[name], fn)
end

function Event.RemoveHook(name, fn)
    for i, hook in ipairs(kHooks[name] or {}) do
        if hook == fn then return table.remove(kHooks[name], i) end
    end
end

-- Hooks run in the order of their registration, each in its own protected call.
function Rig.Fire(name, ...)
    local hooks = kHooks[name]
    if not hooks then return end
    local result
    for i = 1, #hooks do
        local answer = Rig.Protected(name, hooks[i], ...)
        if answer ~= nil then result = answer end
    end
    return result
end

function Rig.IsHooked(name)
    return kHooks[name] ~= nil and #kHooks[name] > 0
end

-- ns2_game.md 1.1: a file is loaded once; `Script.includes` lists what was loaded (SH hook.lua).
Script = Rig.EngineTable("Script", { includes = {} })

local kFileHooks = {}

local function Run(path)
    local source = Rig.host.source(path)
    if not source then error("Script.Load: cannot find " .. path, 0) end
    local chunk, err = loadstring(source, "@" .. path)
    if not chunk then error(err, 0) end
    return chunk()
end

-- SH core/shared/extensions.lua takes loadfile where it has to catch a file's errors, which Script.Load does not hand on.
local function Load(path)
    if Rig.switches.load_errors_pass then return Run(path) end
    Rig.Protected("loading " .. path, Run, path)
end

function Script.Load(path, reload)
    if Script.includes[path] and not reload then return end
    Script.includes[path] = true
    local hooks = kFileHooks[path] or {}
    for _, hook in ipairs(hooks) do if hook.mode == "pre" then Load(hook.path) end end
    Load(path)
    for _, hook in ipairs(hooks) do if hook.mode == "post" then Load(hook.path) end end
end

-- Hooks around the game's own files, which the rig has none of: before all of them, or after all of them.
function Rig.RunFileHooks(mode)
    for path, hooks in pairs(kFileHooks) do
        for _, hook in ipairs(hooks) do
            if hook.mode ~= "pre" and hook.mode ~= "post" then
                Rig.host.fault("SetupFileHook: mode " .. tostring(hook.mode) .. " is not modelled")
            elseif hook.mode == mode and not Rig.host.source(path) then
                Rig.LoadScript(hook.path)
            end
        end
    end
end

function Rig.LoadScript(path)
    Rig.Protected("loading " .. path, Script.Load, path)
end

function Script.GetDerivedClasses(name)
    return Rig.DerivedClasses(name)
end

-- ns2_game.md 1.1 #2 and #3: entry files tell what to load by a global that may be a table or a string.
ModLoader = Rig.EngineTable("ModLoader", {})

function ModLoader.SetupFileHook(path, hook, mode)
    kFileHooks[path] = kFileHooks[path] or {}
    table.insert(kFileHooks[path], { path = hook, mode = mode })
    return true
end

local function Words(text)
    local entry = {}
    for key, value in text:gmatch("(%w+)%s*:%s*([^,%s]+)") do entry[key] = tonumber(value) or value end
    return entry
end

function Rig.ReadEntry(path)
    rawset(_G, "modEntry", nil)
    Rig.Protected("entry " .. path, Run, path)
    local entry = rawget(_G, "modEntry")
    if type(entry) == "string" then entry = Words(entry) end
    return entry
end

Shared = {}

function Shared.Message(text)
    Rig.host.message(tostring(text))
end

function Print(format, ...)
    Shared.Message(string.format(format, ...))
end

function Log(format, ...)
    Shared.Message(string.format(format, ...))
end

-- ns2_game.md 6.5: world time changes only between ticks.
function Shared.GetTime() return Rig.time end
function Shared.GetSystemTime() return math.floor(Rig.system) end
function Shared.GetSystemTimeReal() return Rig.system end
function Shared.GetMapName() return Rig.map end
function Shared.GetBuildNumber() return 344 end
function Shared.GetCheatsEnabled() return Rig.settings.cheats == true end
function Shared.GetDevMode() return false end
function Shared.GetThunderdomeEnabled() return false end
function Shared.GetRandomInt(low, high) return math.random(low, high) end
function Shared.ConsoleCommand(text) Rig.Console(nil, text) end

local kCallbacks = {}
local gLastRequest = 0

-- The four overloads of ns2.md 1.1 (STUB api/Shared.lua SendHTTPRequest): chosen by count and type, nil is none.
local function Overload(count, a, b)
    if count == 0 then return nil, nil end
    if count == 1 and type(a) == "function" then return nil, a end
    if count == 1 and type(a) == "table" then return a, nil end
    if count == 2 and type(a) == "table" and type(b) == "function" then return a, b end
    Rig.Fault("SendHTTPRequest: no overload takes these arguments (" .. type(a) .. ", " .. type(b) .. ")")
end

local function Form(params)
    local form = {}
    for key, value in pairs(params) do
        local kind = type(value)
        if kind ~= "string" and kind ~= "number" and kind ~= "boolean" then
            Rig.Fault("SendHTTPRequest: parameter " .. tostring(key) .. " is a " .. kind)
        end
        form[tostring(key)] = tostring(value)
    end
    return form
end

function Shared.SendHTTPRequest(url, method, ...)
    if type(url) ~= "string" or (method ~= "GET" and method ~= "POST") then
        Rig.Fault("SendHTTPRequest: url and GET or POST expected")
    end
    local params, callback = Overload(select("#", ...), ...)
    gLastRequest = gLastRequest + 1
    kCallbacks[gLastRequest] = callback
    Rig.host.send(gLastRequest, url, method, params and Form(params) or nil)
end

-- ns2_game.md 12.1, measured on 26-09: body, error text, error code, HTTP status; a failure has an empty body and status
-- 0. Before (ns2.md 1.1, SH lib/query.lua) there was no status, and one argument for an answer.
function Rig.Deliver(id, body, err, code, status)
    local callback = kCallbacks[id]
    kCallbacks[id] = nil
    if not callback then return end
    if Rig.switches.callback_has_status then
        Rig.Protected("HTTP callback", callback, body, err, code, status)
    elseif err then
        Rig.Protected("HTTP callback", callback, body, err, code)
    else
        Rig.Protected("HTTP callback", callback, body)
    end
end

local kPatterns = { ["*all"] = "*a", ["*a"] = "*a", ["*line"] = "*l", ["*l"] = "*l" }

local function Reader(text)
    local file, at = {}, 1
    function file:read(what)
        local pattern = kPatterns[what or "*l"]
        if pattern == "*a" then
            local rest = text:sub(at)
            at = #text + 1
            return rest
        end
        if pattern ~= "*l" then Rig.Fault("io: read(" .. tostring(what) .. ") is not modelled") end
        if at > #text then return nil end
        local stop = text:find("\n", at, true) or #text + 1
        local line = text:sub(at, stop - 1)
        at = stop + 1
        return line
    end
    function file:lines() return function() return self:read("*l") end end
    function file:close() return true end
    return file
end

local function Writer(name)
    local file, closed = {}, false
    function file:write(...)
        if closed then error("attempt to use a closed file", 2) end
        for i = 1, select("#", ...) do Rig.host.append(name, tostring((select(i, ...)))) end
        return true
    end
    function file:close()
        closed = true
        return true
    end
    function file:flush() return true end
    return file
end

-- ns2_game.md 1.4: `io` has open and close with the schemes config:// and game://, modes r and w+; no append, no
-- rename, no delete. Opening for writing truncates at once.
local function Open(path, mode)
    local name = path:match("^config://(.+)$")
    if not name then return nil, path .. ": No such file or directory" end
    mode = mode or "r"
    if mode == "r" or mode == "rb" then
        local text = Rig.host.read(name)
        if not text then return nil, path .. ": No such file or directory" end
        return Reader(text)
    end
    if mode ~= "w" and mode ~= "w+" and mode ~= "wb" then Rig.Fault("io.open: mode " .. mode .. " does not exist") end
    if not Rig.host.truncate(name) then return nil, path .. ": Permission denied" end
    return Writer(name)
end

function Rig.CloseTheSandbox()
    local clock = os.clock
    rawset(_G, "io", Rig.EngineTable("io", { open = Open, close = function(file) return file:close() end }))
    rawset(_G, "os", Rig.EngineTable("os", {
        time = function(fields) return fields and Rig.os_time(fields) or math.floor(Rig.system) end,
        date = function(format, at) return Rig.os_date(format or "%c", at or math.floor(Rig.system)) end,
        clock = clock,
    }))
    rawset(_G, "python", nil)
    rawset(_G, "require", nil)
    rawset(_G, "package", nil)
    rawset(_G, "dofile", nil)
end
Rig.os_time, Rig.os_date = os.time, os.date
