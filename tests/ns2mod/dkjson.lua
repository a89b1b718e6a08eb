-- What the game's `lua/dkjson.lua` (David Kolf's module) does, in our own words, faults included:
--   quotestring, encode2: numbers by tostring, so 14 digits; version 1 writes nan and inf as they are, version 2.5 null
--   isarray: every table without other keys is an array, `[  ]` when it is empty; a field `n` is taken as its length
--   addpair: keys that are neither strings nor numbers are an error; so are functions, userdata, cycles
--   scanwhite: comments are blanks; decode: nil, position, text for what is no JSON; text behind the value is not read
--   decode(nil) throws

local version = ...
local json = {}

local kEscapes = { ['"'] = '\\"', ["\\"] = "\\\\", ["\b"] = "\\b", ["\f"] = "\\f", ["\n"] = "\\n", ["\r"] = "\\r",
    ["\t"] = "\\t" }

local function Quote(text)
    return '"' .. string.gsub(text, '[%z\1-\31"\\\127]', function(c)
        return kEscapes[c] or string.format("\\u%04x", string.byte(c))
    end) .. '"'
end

local function IsArray(value)
    local most, count, length = 0, 0, 0
    for key, item in pairs(value) do
        if key == "n" and type(item) == "number" then
            length, most = item, math.max(most, item)
        elseif type(key) ~= "number" or key < 1 or math.floor(key) ~= key then
            return false
        else
            most, count = math.max(most, key), count + 1
        end
    end
    if most > 10 and most > length and most > count * 2 then
        return false
    end
    return true, most
end

local function Number(value)
    local finite = value == value and value < math.huge and value > -math.huge
    return (finite or version == 1) and tostring(value) or "null"
end

local Write

local function WriteTable(value, seen)
    assert(not seen[value], "reference cycle")
    seen[value] = true
    local parts = {}
    local isArray, length = IsArray(value)
    for i = 1, length or 0 do
        parts[i] = Write(value[i], seen)
    end
    if not isArray then
        for key, item in pairs(value) do
            assert(type(key) == "string" or type(key) == "number", "not supported as a key by JSON")
            parts[#parts + 1] = Quote(tostring(key)) .. ": " .. Write(item, seen)
        end
    end
    seen[value] = nil
    local body = table.concat(parts, ", ")
    return isArray and "[ " .. body .. " ]" or "{ " .. body .. " }"
end

function Write(value, seen)
    local kind = type(value)
    if kind == "table" then
        return WriteTable(value, seen)
    elseif kind == "string" then
        return Quote(value)
    elseif kind == "number" then
        return Number(value)
    elseif kind == "boolean" or kind == "nil" then
        return value == nil and "null" or tostring(value)
    end
    error("type '" .. kind .. "' is not supported by JSON.")
end

function json.encode(value)
    return Write(value, {})
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

local Read

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
        return nil, at + 4
    end
    return nil, at, "no valid JSON value"
end

function json.decode(text, position)
    local at = White(text, position or 1)
    if not at then
        return nil, #text + 1, "no valid JSON value (reached the end)"
    end
    return Read(text, at)
end

return json
