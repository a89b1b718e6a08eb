-- The game's global `json`: what dkjson 1.0 writes and reads, in our own words (ns2.md 1.2; dkjson is by David Kolf).
-- Kept with its weaknesses: numbers through tostring (14 digits), raw nan and inf, `[  ]` for an empty table, a sparse
-- table as an object with string keys, decode("") -> nil, position, text, and decode(nil) throws.
-- Loads without the engine (dofile), so that tests of pure modules may use it.
local Rig = ...
Rig = Rig or { switches = { json_digits = 14 } }

json = {}

local kEscapes = { ['"'] = '\\"', ["\\"] = "\\\\", ["\b"] = "\\b", ["\f"] = "\\f", ["\n"] = "\\n", ["\r"] = "\\r",
    ["\t"] = "\\t" }

local function Quote(text)
    return '"' .. text:gsub('[%c"\\\127]', function(c)
        return kEscapes[c] or string.format("\\u%04x", c:byte())
    end) .. '"'
end

-- dkjson isarray: positive whole keys only, and not so sparse that nulls would outweigh the values.
local function IsArray(value)
    local largest, count, named = 0, 0, 0
    for key, item in pairs(value) do
        if key == "n" and type(item) == "number" then
            named = item
            largest = math.max(largest, item)
        elseif type(key) ~= "number" or key < 1 or key % 1 ~= 0 then
            return false
        else
            largest = math.max(largest, key)
            count = count + 1
        end
    end
    if largest > 10 and largest > named and largest > count * 2 then return false end
    return true, largest
end

local function Number(value)
    if Rig.switches.json_digits == 14 then return tostring(value) end
    return string.format("%." .. Rig.switches.json_digits .. "g", value)
end

local Write

local function WriteArray(value, length, seen)
    local parts = {}
    for i = 1, length do parts[i] = Write(value[i], seen) end
    return "[ " .. table.concat(parts, ", ") .. " ]"
end

local function WriteObject(value, seen)
    local parts = {}
    for key, item in pairs(value) do
        if type(key) ~= "string" and type(key) ~= "number" then
            error("type '" .. type(key) .. "' is not supported as a key by JSON.", 0)
        end
        table.insert(parts, Quote(tostring(key)) .. ": " .. Write(item, seen))
    end
    return "{ " .. table.concat(parts, ", ") .. " }"
end

function Write(value, seen)
    local kind = type(value)
    if value == nil then return "null" end
    if kind == "string" then return Quote(value) end
    if kind == "number" then return Number(value) end
    if kind == "boolean" then return tostring(value) end
    if kind ~= "table" then error("type '" .. kind .. "' is not supported by JSON.", 0) end
    if seen[value] then error("reference cycle", 0) end
    seen[value] = true
    local isArray, length = IsArray(value)
    local text = isArray and WriteArray(value, length, seen) or WriteObject(value, seen)
    seen[value] = nil
    return text
end

function json.encode(value)
    local ok, text = pcall(Write, value, {})
    if ok then return text end
    return nil, text
end

local function Blank(text, at)
    return text:find("[^ \t\r\n]", at) or #text + 1
end

local kUnescapes = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }

local function Utf8(code)
    if code < 0x80 then return string.char(code) end
    if code < 0x800 then return string.char(0xC0 + math.floor(code / 64), 0x80 + code % 64) end
    if code < 0x10000 then
        return string.char(0xE0 + math.floor(code / 4096), 0x80 + math.floor(code / 64) % 64, 0x80 + code % 64)
    end
    return string.char(0xF0 + math.floor(code / 262144), 0x80 + math.floor(code / 4096) % 64,
        0x80 + math.floor(code / 64) % 64, 0x80 + code % 64)
end

local function CodePoint(text, at)
    local code = tonumber(text:sub(at, at + 3), 16) or 0xFFFD
    local low = text:match("^\\u([dD][c-fC-F]%x%x)", at + 4)
    if code >= 0xD800 and code < 0xDC00 and low then
        return (code - 0xD800) * 0x400 + tonumber(low, 16) - 0xDC00 + 0x10000, at + 10
    end
    return code, at + 4
end

local function Unescape(text)
    local parts, from = {}, 1
    local at = text:find("\\", 1, true)
    while at do
        table.insert(parts, text:sub(from, at - 1))
        local c = text:sub(at + 1, at + 1)
        from = at + 2
        if c == "u" then
            local code
            code, from = CodePoint(text, from)
            c = Utf8(code)
        end
        table.insert(parts, kUnescapes[c] or c)
        at = text:find("\\", from, true)
    end
    return table.concat(parts) .. text:sub(from)
end

local function ReadString(text, at)
    local from = at + 1
    local to = from
    while true do
        to = text:find('["\\]', to)
        if not to then return nil, at, "unterminated string at " .. at end
        if text:sub(to, to) == '"' then return Unescape(text:sub(from, to - 1)), to + 1 end
        to = to + 2
    end
end

local Read

local function ReadArray(text, at, null)
    local result, n = {}, 0
    at = Blank(text, at + 1)
    if text:sub(at, at) == "]" then return result, at + 1 end
    while true do
        local value, after, err = Read(text, at, null)
        if err then return nil, after, err end
        n = n + 1
        result[n] = value
        at = Blank(text, after)
        local c = text:sub(at, at)
        if c == "]" then return result, at + 1 end
        if c ~= "," then return nil, at, "missing ',' or ']' at " .. at end
        at = Blank(text, at + 1)
    end
end

local function ReadObject(text, at, null)
    local result = {}
    at = Blank(text, at + 1)
    if text:sub(at, at) == "}" then return result, at + 1 end
    while true do
        if text:sub(at, at) ~= '"' then return nil, at, "no valid JSON key at " .. at end
        local key, after, err = ReadString(text, at)
        if err then return nil, after, err end
        at = Blank(text, after)
        if text:sub(at, at) ~= ":" then return nil, at, "missing ':' at " .. at end
        local value
        value, after, err = Read(text, Blank(text, at + 1), null)
        if err then return nil, after, err end
        result[key] = value
        at = Blank(text, after)
        local c = text:sub(at, at)
        if c == "}" then return result, at + 1 end
        if c ~= "," then return nil, at, "missing ',' or '}' at " .. at end
        at = Blank(text, at + 1)
    end
end

local kWords = { ["true"] = true, ["false"] = false }

function Read(text, at, null)
    local c = text:sub(at, at)
    if c == "{" then return ReadObject(text, at, null) end
    if c == "[" then return ReadArray(text, at, null) end
    if c == '"' then return ReadString(text, at) end
    local number = text:match("^-?%d+%.?%d*[eE]?[+-]?%d*", at)
    if number and tonumber(number) then return tonumber(number), at + #number end
    local word = text:match("^%a+", at)
    if word == "null" then return null, at + 4 end
    if kWords[word] ~= nil then return kWords[word], at + #word end
    return nil, at, "no valid JSON value at " .. at
end

-- dkjson decode(str, pos, nullval): the value and the position after it, or nil, position, text.
function json.decode(text, position, null)
    local at = position or 1
    at = text:find("[^ \t\r\n]", at)
    if not at then return nil, #text + 1, "no valid JSON value (reached the end)" end
    return Read(text, at, null)
end
