-- What players and admins type. The daemon answers; here names become ids. Admins' commands go through the game's
-- CreateServerAdminCommand, whose rights are Shine's where Shine is (it replaces GetClientCanRunCommand).

Equipoise = Equipoise or {}

local Commands = {}
Commands.__index = Commands

-- `player`: a player comes first; `number`: and a number last.
-- Made by make texts from daemon/equipoise/core/commands.py.
local kAdmin = {
    { word = "status", help = "What Equipoise knows of this server" },
    { word = "why", help = "The last decisions and their reasons" },
    { word = "rating", player = true, help = "<player>: their rating, also before it is shown to all" },
    { word = "shuffle", help = "[now|next|skip|dry|cancel]: shuffle the teams; skip: not before the next round" },
    { word = "balance", help = "Close a gap between the sides now" },
    { word = "move", player = true, help = "<player>: put them on the other side now" },
    { word = "choice", help = "[cancel]: let all players choose a side in secret, and shuffle" },
    { word = "set", player = true, number = true, help = "<player> <rating>: set their rating" },
    { word = "reset", player = true, help = "<player>: make them a newcomer again" },
    { word = "on", help = "Go on balancing this server" },
    { word = "off", help = "Leave this server's teams alone; rounds are still rated" },
}

-- What players may say. `secret`: no other player must read it.
local kPlayers = {
    vote = {},
    rating = { admin = true },
    rank = { admin = true },
    top = {},
    teams = {},
    hide = {},
    prefer = {},
    friend = { player = true },
    choice = {},
    choose = { secret = true },
}
local kSpoken = "vote, rating, rank, top, teams, hide, prefer, friend, choice, sit, lang"
-- The last line of what make texts made.

function Commands.New(mod)
    return setmetatable({ mod = mod }, Commands)
end

function Commands:Register()
    local guard = self.mod.boundary
    for _, command in ipairs(kAdmin) do
        local name = "sv_eq_" .. command.word
        CreateServerAdminCommand("Console_" .. name, guard:Guard(name, function(client, ...)
            self:Admin(client, command, { ... })
        end), command.help)
    end
    CreateServerAdminCommand("Console_sv_eq_probe", guard:Guard("sv_eq_probe", function(client, ...)
        local by = self:By(client)
        if by then
            self.mod.probe:Start({ ... })
            self.mod.chat:Print(by, "The probe writes into the server's log; play a round, and send us its lines.")
        end
    end), "Write into the log what we cannot know of your server")
    -- The daemon's, by the game's web admin. Anybody may type what is hooked so.
    Event.Hook("Console_equipoise_poll", guard:Guard("equipoise_poll", function(client)
        if client == nil then
            self.mod.post:Hurry()
        end
    end))
    Event.Hook("Console_eq", guard:Guard("eq", function(client, ...)
        self:Player(client, { ... }, true)
    end))
end

function Commands:Admin(client, command, words)
    local by = self:By(client)
    if not by then
        return
    end
    self.mod.chat:Asked(by, self.mod:Now())
    if command.word == "status" then
        for _, line in ipairs(self.mod.damage) do
            self.mod.chat:Print(by, line)
        end
    end
    if command.player then
        words = self:WithPlayer(by, command, words)
    end
    if words and not self:Send(by, command.word, words, true) then
        local trouble = self.mod.fault or self.mod.post.complaint
        if trouble then
            self.mod.chat:Print(by, trouble)
        end
    end
end

-- The words as one name. The game's console splits a name in quotes at its blanks and leaves the quotes.
local function Name(words)
    return (string.gsub(table.concat(words, " "), '"', ""))
end

-- The words with an id for the player whom they name; nil when they name none, and the admin has read why. All words
-- but the number are the name.
function Commands:WithPlayer(by, command, words)
    -- With one word alone that is the name: the number is missing, and they read how it is written.
    local number = command.number and #words > 1 and table.remove(words) or nil
    local name = Name(words)
    if name == "" or (command.number and not tonumber(number)) then
        self.mod.chat:Print(by, "Usage: sv_eq_" .. command.word .. " " .. command.help)
        return nil
    end
    local id = self.mod.people:Find(name)
    if not id then
        self.mod.chat:Print(by, "No player, or more than one, is called " .. name .. ".")
        return nil
    end
    return { Equipoise.Codec.SteamId(id), number }
end

-- The id of who typed it: "" for the server's console, nil for a client whom Steam has not named yet.
function Commands:By(client)
    if client == nil then
        return ""
    end
    local person = self.mod.people:OfClient(client)
    if person then
        person.lived = true
    end
    return person and person.id
end

-- A player's words, without the prefix. What was typed in chat others may have read: `private` is false then, and a
-- secret is not taken.
function Commands:Player(client, words, private)
    local by = self:By(client)
    if not by then
        return
    end
    self.mod.chat:Asked(by, nil)
    local word = string.lower(table.remove(words, 1) or "help")
    local command = kPlayers[word]
    if word == "lang" then
        self:Language(by, words[1])
    elseif word == "sit" and client then
        local person = self.mod.people.byId[by]
        person.sits = not person.sits or nil
        self:Text(by, person.sits and "Equipoise_Sits" or "Equipoise_SitsNoMore")
    elseif not command then
        self:Text(by, "Equipoise_Help", kSpoken)
    elseif command.secret and not private then
        self:Text(by, "Equipoise_NotInChat", "eq " .. word)
    else
        if command.player and words[1] and string.lower(words[1]) ~= "none" then
            local name = Name(words)
            local id = self.mod.people:Find(name)
            if not id then
                self:Text(by, "Equipoise_UnknownPlayer", name)
                return
            end
            words = { Equipoise.Codec.SteamId(id) }
        end
        self:Send(by, word, words, client == nil or (command.admin and self.mod:May(client, "sv_eq_rating")) or false)
    end
end

function Commands:Language(by, language)
    language = string.lower(language or "")
    if self.mod.chat:Choose(by, language) then
        self:Text(by, "Equipoise_LanguageSet")
    else
        self:Text(by, "Equipoise_Languages", table.concat(Equipoise.Texts.Languages(), " "))
    end
end

function Commands:Text(id, phrase, ...)
    self.mod.chat:Tell(id, { phrase = phrase, args = { ... } })
end

-- Whether there is a daemon to answer it.
function Commands:Send(by, word, words, admin)
    if self.mod.post:Silent() then
        self.mod.chat:Answer(by, { phrase = "Equipoise_Silent" })
        return false
    end
    table.insert(words, 1, word)
    self.mod:Tell({ kind = "command", words = words, by = by, admin = admin })
    return true
end

-- A chat line. True: it was ours, and no other player needs to read it. `hidden`: that can be had.
function Commands:Said(client, text, hidden)
    local person = self.mod.people:OfClient(client)
    if not person then
        return false  -- without a client it is no player's, and must not be taken for the server's console
    end
    person.lived = true
    -- The frontier keeps "!equal" from being "!eq ual".
    local prefix, rest = string.match(text, "^([!/])[eE][qQ]%f[%s%z]%s*(.*)$")
    if not prefix then
        return false
    end
    local words = {}
    for word in string.gmatch(rest, "%S+") do
        words[#words + 1] = word
    end
    self:Player(client, words, hidden)
    return prefix == "/" or (kPlayers[string.lower(words[1] or "")] or {}).secret == true
end

Equipoise.Commands = Commands
