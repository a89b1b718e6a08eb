-- Phrases in the languages of languages/. The server cannot know which language a client has: the caller of a line
-- says which one it is to be in.

Equipoise = Equipoise or {}

local Texts = {}
Texts.__index = Texts

-- `languages`: code -> key -> text with {1}, {2} … for the arguments. What `default` lacks is English.
function Texts.New(languages, default)
    return setmetatable({ languages = languages, default = default }, Texts)
end

-- The codes of the languages that are loaded, in order.
function Texts.Languages()
    local codes = {}
    for code in pairs(Equipoise.Languages or {}) do
        table.insert(codes, code)
    end
    table.sort(codes)
    return codes
end

local function Find(self, language, phrase)
    for _, code in ipairs({ language or self.default, self.default, "en" }) do
        local texts = self.languages[code]
        if texts and texts[phrase] then
            return texts[phrase]
        end
    end
    return phrase
end

-- The text of {phrase, args}. An argument "@<id>" is a player, whose name `nameOf` knows, or nil; a table is a text
-- itself. A phrase that is not known is shown by its key.
function Texts:Line(language, text, nameOf)
    local args = text.args or {}
    local line = string.gsub(Find(self, language, text.phrase), "{(%d+)}", function(number)
        local arg = args[tonumber(number)]
        if type(arg) == "table" then
            return self:Line(language, arg, nameOf)
        end
        local id = type(arg) == "string" and string.match(arg, "^@(.+)$")
        if id then
            return nameOf and nameOf(id) or id
        end
        return arg ~= nil and tostring(arg) or ""
    end)
    return line
end

Equipoise.Texts = Texts
