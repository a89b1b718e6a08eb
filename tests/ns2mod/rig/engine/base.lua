-- Objects and classes of the virtual machine, script errors and the strict globals.
--
-- ns2_game.md 1.4: engine objects are userdata that carry Lua fields; a destroyed entity throws on any access.
-- ns2_game.md 1.2 (B266 Class.lua Class_ReplaceMethod): a class holds copies of the methods that it inherits, so a
-- replacement walks the derived classes and skips those that override the method.
local Rig = ...

local kClasses = {}
local kObjects = setmetatable({}, { __mode = "k" })

-- Faults that a mod cannot hide with pcall: a test fails on them even where the mod swallowed the error.
function Rig.Fault(text)
    Rig.host.fault(text)
    error(text, 3)
end

local function Caught(err)
    return debug.traceback(tostring(err), 2)
end

-- Every way from the engine into a script: an error ends that call, not the frame.
function Rig.Protected(what, fn, ...)
    local ok, a, b, c = xpcall(fn, Caught, ...)
    if not ok then
        Rig.host.script_error(what .. ": " .. a)
        return nil
    end
    return a, b, c
end

function Rig.Fields(object)
    local data = kObjects[object]
    return data and data.fields
end

function Rig.ClassOf(object)
    local data = kObjects[object]
    return data and data.class
end

function Rig.IsAlive(object)
    local data = kObjects[object]
    return data ~= nil and not data.stale
end

function Rig.Kill(object)
    kObjects[object].stale = true
end

local function Stale(data, key)
    Rig.Fault(string.format("stale %s touched: %s", data.class, tostring(key)))
end

-- An engine object: userdata whose fields live beside it for as long as the object does.
function Rig.NewObject(className, fields)
    local object = newproxy(true)
    local data = { class = className, fields = fields or {}, stale = false }
    local meta = getmetatable(object)
    local methods = kClasses[className].methods
    meta.__index = function(_, key)
        if data.stale then Stale(data, key) end
        local value = data.fields[key]
        if value ~= nil then return value end
        return methods[key]
    end
    meta.__newindex = function(_, key, value)
        if data.stale then Stale(data, key) end
        data.fields[key] = value
    end
    meta.__tostring = function() return className .. (data.stale and " (destroyed)" or "") end
    kObjects[object] = data
    return object
end

function Rig.DefineClass(name, parentName)
    local methods = {}
    local parent = parentName and kClasses[parentName]
    if parent then
        for key, method in pairs(parent.methods) do methods[key] = method end
        table.insert(parent.derived, name)
    end
    kClasses[name] = { methods = methods, parent = parentName, derived = {} }
    rawset(_G, name, methods)
    return methods
end

-- Methods that a parent got after its children were declared.
function Rig.LinkClasses(name)
    for _, derived in ipairs(kClasses[name].derived) do
        for key, method in pairs(kClasses[name].methods) do
            if kClasses[derived].methods[key] == nil then kClasses[derived].methods[key] = method end
        end
        Rig.LinkClasses(derived)
    end
end

function Rig.IsA(className, wanted)
    while className do
        if className == wanted then return true end
        className = kClasses[className] and kClasses[className].parent
    end
    return false
end

local function Replace(className, methodName, original, fn)
    local class = kClasses[className]
    class.methods[methodName] = fn
    for _, derived in ipairs(class.derived) do
        if kClasses[derived].methods[methodName] == original then Replace(derived, methodName, original, fn) end
    end
end

function Class_ReplaceMethod(className, methodName, fn)
    local class = kClasses[className]
    assert(class, "Class_ReplaceMethod: no class " .. tostring(className))
    local original = class.methods[methodName]
    assert(original, "Class_ReplaceMethod: no method " .. className .. ":" .. tostring(methodName))
    Replace(className, methodName, original, fn)
    return original
end

function Rig.DerivedClasses(name)
    return kClasses[name].derived
end

-- B266 Utility.lua enum: names to numbers from 1 and numbers to names.
function enum(names)
    local result = {}
    for i, name in ipairs(names) do
        result[name] = i
        result[i] = name
    end
    return result
end

function IsValid(entity)
    return entity ~= nil and Rig.IsAlive(entity)
end

-- A table of the engine: a name that the reference page does not list is an error and no nil.
function Rig.EngineTable(name, members)
    if not Rig.strict then return members end
    return setmetatable(members, {
        __index = function(_, key) Rig.Fault("unknown engine function: " .. name .. "." .. tostring(key)) end,
    })
end

-- Globals that are absent by design: other virtual machines' and other mods' names are asked for by mods.
local kAbsent = { Client = true, Predict = true, Shine = true, NSL_Mod = true, modEntry = true }

function Rig.StrictGlobals(own)
    if not Rig.strict then return end
    local absent = {}
    for name in pairs(kAbsent) do absent[name] = true end
    for name in string.gmatch(own, "[^,]+") do absent[name] = true end
    setmetatable(_G, {
        __index = function(_, key)
            if not absent[key] then Rig.Fault("unknown engine global: " .. tostring(key)) end
        end,
    })
end
