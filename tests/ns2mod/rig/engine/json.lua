-- The game's global `json`: what dkjson 1.0 writes and reads, in our own words (ns2.md 1.2; dkjson is by David Kolf).
-- Kept with its weaknesses: numbers through tostring (14 digits), raw nan and inf, `[  ]` for an empty table, a sparse
-- table as an object with string keys, comments as blanks, decode("") -> nil, position, text, and decode(nil) throws.
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

local function White(text, at)
    while true do
        at = string.find(text, "%S", at)
        if not at then
            return nil
        elseif string.sub(text, at, at + 1) == "//" then
            at = string.find(text, "[\n\r]", at)
        elseif string.sub(text, at, at + 1) == "/*" then
            local _, last = string.find(text, "*/", at + 2, true)
            at = last and last + 1
        else
            return at
        end
        if not at then
            return nil
        end
    end
end

local kUnescapes = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }

local function Character(code)
    if code < 0x80 then
        return string.char(code)
    elseif code < 0x800 then
        return string.char(0xC0 + math.floor(code / 64), 0x80 + code % 64)
    elseif code < 0x10000 then
        return string.char(0xE0 + math.floor(code / 4096), 0x80 + math.floor(code / 64) % 64, 0x80 + code % 64)
    end
    return string.char(0xF0 + math.floor(code / 262144), 0x80 + math.floor(code / 4096) % 64,
        0x80 + math.floor(code / 64) % 64, 0x80 + code % 64)
end

local function ReadString(text, at)
    local parts, from = {}, at + 1
    while true do
        local stop = string.find(text, '["\\]', from)
        if not stop then
            return nil, #text + 1, "unterminated string"
        end
        table.insert(parts, string.sub(text, from, stop - 1))
        if string.sub(text, stop, stop) == '"' then
            return table.concat(parts), stop + 1
        end
        local letter = string.sub(text, stop + 1, stop + 1)
        local code = letter == "u" and tonumber(string.sub(text, stop + 2, stop + 5), 16)
        from = stop + (code and 6 or 2)
        local low = code and code >= 0xD800 and code < 0xDC00 and string.match(text, "^\\u([dD][c-fC-F]%x%x)", from)
        if low then
            code, from = (code - 0xD800) * 0x400 + tonumber(low, 16) - 0xDC00 + 0x10000, from + 6
        end
        table.insert(parts, code and Character(code) or kUnescapes[letter] or letter)
    end
end

local Read, gNull

-- dkjson reads arrays and objects by one loop: a comma may be missing behind the last, and a key counts only with ":".
local function ReadTable(close, text, at)
    local value, count = {}, 0
    at = at + 1
    while true do
        at = White(text, at)
        if not at then
            return nil, #text + 1, "unterminated"
        elseif string.sub(text, at, at) == close then
            return value, at + 1
        end
        local item, fault
        item, at, fault = Read(text, at)
        if fault then
            return nil, at, fault
        end
        at = White(text, at)
        if at and string.sub(text, at, at) == ":" then
            if item == nil then
                return nil, at, "cannot use nil as table index"
            end
            local start = White(text, at + 1)
            if not start then
                return nil, #text + 1, "unterminated"
            end
            value[item], at, fault = Read(text, start)
            if fault then
                return nil, at, fault
            end
            at = White(text, at)
        else
            count = count + 1
            value[count] = item
        end
        if at and string.sub(text, at, at) == "," then
            at = at + 1
        end
        if not at then
            return nil, #text + 1, "unterminated"
        end
    end
end

function Read(text, at)
    local letter = string.sub(text, at, at)
    if letter == "{" or letter == "[" then
        return ReadTable(letter == "{" and "}" or "]", text, at)
    elseif letter == '"' then
        return ReadString(text, at)
    end
    local number = string.match(text, "^%-?[%d%.]+[eE]?[%+%-]?%d*", at)
    if number and tonumber(number) then
        return tonumber(number), at + #number
    end
    local word = string.match(text, "^%a%w*", at)
    if word == "true" or word == "false" then
        return word == "true", at + #word
    elseif word == "null" then
        return gNull, at + 4
    end
    return nil, at, "no valid JSON value"
end

-- The value and the position after it, or nil, position, text. What stands behind the value is not read.
function json.decode(text, position, null)
    gNull = null
    local at = White(text, position or 1)
    if not at then
        return nil, #text + 1, "no valid JSON value (reached the end)"
    end
    return Read(text, at)
end
