-- Values as the JSON of the protocol (docs/protocol.md), and texts of a limited length. The game's dkjson writes what
-- is no JSON, or means something else: nan and inf raw, `[  ]` for every empty table, 14 digits of a number. What it
-- gets is therefore made safe first. Replies are read by reply.lua.

Equipoise = Equipoise or {}

local Codec = {}

local kDeepest = 16
local kMostWords = 16
-- The daemon takes 256 KiB, in which every quote and bracket of a form's field has three bytes.
Codec.kMostFormBytes = 200000

-- Identifiers: printable characters, at least one.
local kIdentifiers = { server = 64, session = 64, round = 64, order = 64, plugin = 64, reason = 64, map = 128 }
-- What people write.
local kLongestLine = 128
-- Lists that the daemon asks for even when they are empty.
local kLists = { events = true, players = true, lineup = true, words = true, red = true, blu = true, bench = true,
    spans = true }

-- Whether the engine encodes the fields of a form is not known. These stand in strings only, and JSON can say them
-- otherwise.
local kInForm = { ["&"] = "\\u0026", ["%"] = "\\u0025" }

-- SteamID64 = 76561197960265728 + account id. A double holds not all of its 17 digits, but ten and seven.
local kBaseHigh = 7656119
local kBaseLow = 7960265728
local kLowUnit = 1e10
local kAccounts = 4294967296

local function IsAccount(number)
    return number > 0 and number < kAccounts
end

local function IsBot(id)
    return string.match(id, "^bot:%d+$") ~= nil
end

-- The SteamID64 of an account id, both as decimal strings; bots pass; nil when it is no id.
function Codec.SteamId(id)
    if type(id) ~= "string" or IsBot(id) then
        return id
    end
    local account = string.match(id, "^[1-9]%d*$") and #id <= 10 and tonumber(id)
    if not account or not IsAccount(account) then
        return nil
    end
    -- Seventeen digits in two parts, added as in writing: the carry goes to the upper one.
    local low = kBaseLow + account
    local carry = low >= kLowUnit and 1 or 0
    return string.format("%d%010.0f", kBaseHigh + carry, low - carry * kLowUnit)
end

-- The account id of a SteamID64, both as decimal strings; bots pass; nil when it is no id.
function Codec.AccountId(steamId)
    if type(steamId) ~= "string" or IsBot(steamId) then
        return steamId
    end
    local high, low = string.match(steamId, "^(76561[12]%d)(%d%d%d%d%d%d%d%d%d%d)$")
    local account = high and (tonumber(high) - kBaseHigh) * kLowUnit + tonumber(low) - kBaseLow
    if not account or not IsAccount(account) then
        return nil
    end
    return string.format("%.0f", account)
end

-- How many bytes of `text` are a whole UTF-8 character at `at`; nil when there is none.
local function CharacterAt(text, at)
    local first, second = string.byte(text, at, at + 1)
    if first < 0x80 then
        return 1
    end
    second = second or 0
    if first >= 0xC2 and first <= 0xDF and second >= 0x80 and second <= 0xBF then
        return 2
    end
    -- The second byte's range is narrower after E0, ED, F0 and F4: without it overlong forms, surrogates and more than
    -- U+10FFFF would pass (RFC 3629).
    local low, high = 0x80, 0xBF
    if first == 0xE0 or first == 0xF0 then
        low = first == 0xE0 and 0xA0 or 0x90
    elseif first == 0xED or first == 0xF4 then
        high = first == 0xED and 0x9F or 0x8F
    end
    local bytes = first >= 0xE0 and first <= 0xEF and 3 or (first >= 0xF0 and first <= 0xF4 and 4)
    if not bytes or second < low or second > high then
        return nil
    end
    local rest = string.sub(text, at + 2, at + bytes - 1)
    return #rest == bytes - 2 and not string.find(rest, "[^\128-\191]") and bytes or nil
end

-- Valid UTF-8 of at most `longest` characters without control characters; "?" stands for each byte that is no UTF-8.
local function Clean(text, longest)
    text = string.gsub(text, "[%z\1-\31\127]", "")
    if not string.find(text, "[\128-\255]") then
        return string.sub(text, 1, longest)
    end
    local pieces = {}
    local at = 1
    while at <= #text and #pieces < longest do
        local bytes = CharacterAt(text, at)
        local piece = bytes and string.sub(text, at, at + bytes - 1) or "?"
        at = at + (bytes or 1)
        -- U+0080 to U+009F are control characters too.
        if not string.find(piece, "^\194[\128-\159]") then
            pieces[#pieces + 1] = piece
        end
    end
    return table.concat(pieces)
end

-- The daemon wants printable characters, and which of Unicode's are it alone knows: ASCII's are.
local function Identifier(text, longest)
    -- Cut again: a character that became several "?" is longer than it was.
    local identifier = string.sub(string.gsub(Clean(text, longest), "[\128-\255]", "?"), 1, longest)
    return identifier == "" and "unknown" or identifier
end

local function SafeText(text, key)
    if kIdentifiers[key] then
        return Identifier(text, kIdentifiers[key])
    end
    return Clean(text, kLongestLine)
end

-- In thousandths, which is what 14 digits leave of an epoch second; nil when it is no number that JSON has.
local function SafeNumber(number)
    if number ~= number or number == math.huge or number == -math.huge then
        return nil
    end
    if number == math.floor(number) then
        -- -0 would be written as "-0".
        return number == 0 and 0 or number
    end
    local rounded = math.floor(number * 1000 + 0.5) / 1000
    return rounded == 0 and 0 or rounded
end

local Safe

local function SafeList(list, key, depth)
    local safe = {}
    for _, item in ipairs(list) do
        local kept = Safe(item, nil, depth)
        if kept ~= nil and not (key == "words" and #safe == kMostWords) then
            safe[#safe + 1] = kept
        end
    end
    return safe
end

local function SafeFields(object, depth)
    local safe = {}
    for key, item in pairs(object) do
        if type(key) == "string" then
            safe[key] = Safe(item, key, depth)
        end
    end
    return safe
end

-- What of a value can be sent; nil when nothing can.
function Safe(value, key, depth)
    local kind = type(value)
    if kind == "string" then
        return SafeText(value, key)
    elseif kind == "number" then
        return SafeNumber(value)
    elseif kind == "boolean" then
        return value
    elseif kind ~= "table" then
        return nil
    elseif depth > kDeepest then
        error("a value holds itself, or lies too deep", 0)
    elseif kLists[key] or value[1] ~= nil then
        return SafeList(value, key, depth + 1)
    end
    local fields = SafeFields(value, depth + 1)
    return next(fields) ~= nil and fields or nil
end

-- The text of a value; or nil and why there is none. `json` is the game's.
function Codec.Encode(json, value)
    local ok, text = pcall(function()
        return json.encode(Safe(value, nil, 0))
    end)
    if ok and type(text) == "string" then
        -- In brackets, as gsub returns the count too.
        return (string.gsub(text, "[&%%]", kInForm))
    end
    return nil, ok and "json.encode gave no text" or tostring(text)
end

-- How many bytes the text has as a field of a form.
function Codec.FormBytes(text)
    local _, quoted = string.gsub(text, "[^%w%-_%.~ ]", "")
    return #text + 2 * quoted
end

-- Adler-32, as eight hexadecimal digits: tells a file that was written whole from one that was not.
function Codec.Sum(text)
    local low, high = 1, 0
    for at = 1, #text do
        low = (low + string.byte(text, at)) % 65521
        high = (high + low) % 65521
    end
    return string.format("%04x%04x", high, low)
end

-- The text of a file that shows whether it was written whole: a power loss may leave any part of it, and JSON of two
-- writes may still be JSON.
function Codec.Seal(number, data)
    -- Put together by hand, so that the sum is of the very bytes that are read again.
    return string.format('{"number":%d,"sum":"%s","data":%s}', number, Codec.Sum(data), data)
end

-- The number and the data of such a text; nil when it is none or not whole.
function Codec.Open(text)
    local number, sum, data = string.match(text, '^{"number":(%d+),"sum":"(%x+)","data":(.*)}%s*$')
    if number and Codec.Sum(data) == sum then
        return tonumber(number), data
    end
    return nil
end

-- Pieces of at most `limit` bytes, split at blanks, or inside a word that is too long, but never inside a character.
function Codec.Lines(text, limit)
    local pieces = {}
    text = string.match(text, "^%s*(.-)%s*$")
    while #text > limit do
        -- One more: a blank right behind the piece is a good place to split.
        local head = string.sub(text, 1, limit + 1)
        local cut = string.match(head, "^.*()%s")
        if not cut or cut == 1 then
            cut = limit + 1
            -- A character has at most three bytes after its first; what has more is no UTF-8, and is cut anywhere.
            while cut > 2 and string.find(text, "^[\128-\191]", cut) and limit + 1 - cut < 3 do
                cut = cut - 1
            end
        end
        pieces[#pieces + 1] = string.match(string.sub(text, 1, cut - 1), "^(.-)%s*$")
        text = string.match(string.sub(text, cut), "^%s*(.*)$")
    end
    if text ~= "" then
        pieces[#pieces + 1] = text
    end
    return pieces
end

Equipoise.Codec = Codec
