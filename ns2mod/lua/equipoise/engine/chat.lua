-- What players read. The daemon names a phrase and its arguments. The server cannot know a client's language: it is the
-- server's, or what the player chose by command.

Equipoise = Equipoise or {}

local Chat = {}
Chat.__index = Chat

local kName = "Equipoise"
-- kMaxChatLength counts bytes, and the game cuts in the middle of a character.
local kLongest = 120
-- How long what the daemon tells an admin is taken for the answer to what they typed in their console.
local kAnswerSeconds = 10

function Chat.New(mod)
    local language = mod.config.language
    if not Equipoise.Languages[language] then
        mod.log("No language " .. language .. " (config://Equipoise.json): there are "
            .. table.concat(Equipoise.Texts.Languages(), " ") .. ". Texts are English.")
    end
    return setmetatable({ mod = mod, languages = Equipoise.Files.Languages() }, Chat)
end

function Chat:Language(id)
    return self.languages[id] or self.mod.config.language
end

-- The language that a player reads from now on; false when there is none of this name.
function Chat:Choose(id, language)
    for _, known in ipairs(Equipoise.Texts.Languages()) do
        if known == language then
            self.languages[id] = language
            Equipoise.Files.SaveLanguages(self.languages)
            return true
        end
    end
    return false
end

function Chat:Line(id, text)
    return self.mod.texts:Line(self:Language(id), text, function(other) return self.mod.people:NameOf(other) end)
end

-- A text to one player who is here; "" is the server's console. No text is no message.
function Chat:Tell(id, text)
    if not text then
        return
    end
    if id == "" then
        self.mod.log(self:Line(id, text))
        return
    end
    local person = self.mod.people.byId[id]
    if person and not person.bot then
        self:Send(person.client, self:Line(id, text))
    end
end

-- An admin's command was typed in a console: its answer belongs there. Nil: the next one belongs in chat. The game
-- writes what it prints for a client into the server's log too, so nothing that is a player's own goes that way.
function Chat:Asked(id, now)
    local person = self.mod.people.byId[id]
    if person then
        person.askedAt = now
    end
end

-- A text that the daemon has for one player.
function Chat:Answer(id, text)
    local person = self.mod.people.byId[id]
    local asked = person and person.askedAt
    if not asked or self.mod:Now() > asked + kAnswerSeconds then
        self:Tell(id, text)
    else
        self:Print(id, self:Line(id, text))
    end
end

-- A line in the console of an admin who is here; "" is the server's, which ServerAdminPrint says nothing to any more
-- where Shine has replaced it.
function Chat:Print(id, line)
    local person = self.mod.people.byId[id]
    if id == "" then
        self.mod.log(line)
    elseif person and person.client:GetControllingPlayer() then
        for _, piece in ipairs(Equipoise.Codec.Lines(line, kLongest)) do
            ServerAdminPrint(person.client, piece)
        end
    end
end

function Chat:Send(client, line)
    for _, piece in ipairs(Equipoise.Codec.Lines(line, kLongest)) do
        local message = BuildChatMessage(false, kName, -1, kTeamReadyRoom, kNeutralTeamType, piece)
        Server.SendNetworkMessage(client, "Chat", message, true)
    end
end

function Chat:Say(text)
    for id in pairs(self.mod.people.byId) do
        self:Tell(id, text)
    end
    self.mod.log(self:Line("", text))
end

Equipoise.Chat = Chat
