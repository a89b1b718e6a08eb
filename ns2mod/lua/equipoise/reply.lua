-- The daemon's reply, brought into one form: every field is there with its type, every player id is an account id, and
-- what is not understood is left out. No other file has to doubt a reply, whatever answered.

Equipoise = Equipoise or {}

local Codec = Equipoise.Codec

local Reply = {}

-- A reply has at most 16 KB.
local kLongest = 65536

local function Text(value)
    return type(value) == "string" and value or ""
end

local function Number(value, otherwise, least, most)
    -- NaN is not equal to itself.
    if type(value) ~= "number" or value ~= value then
        return otherwise
    end
    return math.max(least, math.min(most, value))
end

local function Table(value)
    return type(value) == "table" and value or {}
end

local function Map(list, convert)
    local converted = {}
    for _, item in ipairs(Table(list)) do
        converted[#converted + 1] = convert(item)
    end
    return converted
end

local function PlayerId(value)
    return type(value) == "string" and Codec.AccountId(value) or nil
end

local Phrase

-- One that is a table is a text itself.
local function Argument(value)
    if type(value) == "table" then
        return Phrase(value) or ""
    end
    local player = string.match(Text(value), "^@(.*)$")
    local account = player and PlayerId(player)
    return account and "@" .. account or (type(value) == "number" and tostring(value) or Text(value))
end

function Phrase(value)
    if type(value) ~= "table" or type(value.phrase) ~= "string" then
        return nil
    end
    return { phrase = value.phrase, args = Map(value.args, Argument) }
end

local function Word(value)
    return type(value) == "string" and value or nil
end

local function Side(value)
    return (value == "marines" or value == "aliens" or value == "none") and value or nil
end

local function Seconds(value)
    return Number(value, 0, 0, 1e12)
end

local function Ids(value)
    return Map(value, PlayerId)
end

local function Moment(value)
    return (value == "freeze" or value == "now") and value or nil
end

-- The console has no id.
local function Reader(value)
    return value == "" and "" or PlayerId(value)
end

-- How each field of an order is read. One that is nil makes the order none.
local kOrders = {
    assign = { order = Word, reason = Phrase, red = Ids, blu = Ids, bench = Ids, moment = Moment },
    move = { order = Word, reason = Phrase, id = PlayerId, side = Side, deadline = Seconds },
    cancel = { order = Word },
    place = { id = PlayerId, side = Side, reason = Phrase },
    lock = { id = PlayerId, side = Side, seconds = Seconds },
    unlock = { ids = Ids },
    vote = { order = Word, seconds = Seconds },
    say = { text = Phrase },
    tell = { id = Reader, lines = function(lines) return Map(lines, Phrase) end },
}

local function Order(value)
    local fields = kOrders[Table(value).kind]
    if not fields then
        return nil
    end
    local order = { kind = value.kind }
    for name, read in pairs(fields) do
        order[name] = read(value[name])
        -- An order that lacks a part is none: half an order must not be carried out.
        if order[name] == nil then
            return nil
        end
    end
    return order
end

-- The pool of another system has none.
local function Skills(value)
    local skills = Table(value)
    for _, name in ipairs({ "marines", "aliens", "commander" }) do
        if type(skills[name]) ~= "number" then
            return nil
        end
    end
    return { marines = skills.marines, aliens = skills.aliens, commander = skills.commander }
end

local function Player(value)
    value = Table(value)
    local id = PlayerId(value.id)
    if not id or type(value.rating) ~= "number" then
        return nil
    end
    return { id = id, rating = value.rating, rounds = Number(value.rounds, 0, 0, 1e12), visible = value.visible == true,
        skills = Skills(value.skills) }
end

-- The places of the splits' letters are those of the ids, so one strange id spoils the cache.
local function Cache(value)
    if type(value) ~= "table" then
        return nil
    end
    local ids = Ids(value.ids)
    if #ids ~= #Table(value.ids) then
        return nil
    end
    return { ids = ids, splits = Map(value.splits, Word) }
end

local function Rounds(value)
    local rounds = {}
    for round, status in pairs(Table(value)) do
        if type(round) == "string" and type(status) == "string" then
            rounds[round] = status
        end
    end
    return rounds
end

local function Accepted(value)
    return {
        ok = true,
        orders = Map(value.orders, Order),
        rounds = Rounds(value.rounds),
        players = Map(value.players, Player),
        pending = value.pending == true,
        reason = Phrase(value.reason),
        due_if = Map(value.due_if, Word),
        cache = Cache(value.cache),
        want = Map(value.want, Word),
        enabled = value.enabled ~= false,
        level = Word(value.level) or "balance",
        level_reason = Text(value.level_reason),
        next = Number(value.next, 5, 1, 60),
    }
end

local function Refusal(value)
    local fault = Table(value.error)
    return { code = Text(fault.code), message = Text(fault.message), path = Word(fault.path),
        rounds = Rounds(value.rounds) }
end

-- The value of a text that is JSON and nothing else.
local function Parse(json, text)
    local ok, value, position, fault = pcall(json.decode, text)
    if not ok or fault or value == nil then
        return nil
    end
    -- dkjson reads a value and leaves what follows: an error page that begins with a number is no reply.
    if type(position) == "number" and string.find(text, "%S", position) then
        return nil
    end
    return value
end

-- A reply with player ids as account ids and every field of its type. Or nil and why: "silent", "too_large",
-- "not_json", "not_ours"; "refused" with {code, message, path, rounds}. Never throws.
function Reply.Decode(json, text)
    if type(text) ~= "string" or text == "" then
        return nil, "silent"
    elseif #text > kLongest then
        return nil, "too_large"
    end
    local value = Parse(json, text)
    if value == nil then
        return nil, "not_json"
    elseif type(value) ~= "table" or type(value.ok) ~= "boolean" then
        return nil, "not_ours"
    elseif value.ok then
        return Accepted(value)
    elseif type(value.error) ~= "table" then
        return nil, "not_ours"
    end
    return nil, "refused", Refusal(value)
end

Equipoise.Reply = Reply
