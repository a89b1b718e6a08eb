do
    -- Loads the mod's files, each on its own, says which of them are damaged, and starts what works without them.
    --
    -- A download may break off, and the engine's preprocessor has been seen to drop the rest of a file.
    -- The last line of every file puts its table in its place in Equipoise, under the file's name: what is not there
    -- was not read to the last line. This file is one block: of a part of it the engine runs nothing, and names it.
    -- That preprocessor matches the words that open and close blocks, perhaps in comments and strings too: build.py
    -- refuses a file that has one there.

    local function Nothing()
    end

    Equipoise = { Languages = {}, GetSkill = Nothing }

    -- Without one of these the game is left alone.
    local kNeeded = { "codec", "reply", "ring", "outbox", "record", "plan", "policy", "engine/boundary", "engine/files",
        "engine/people", "engine/rounds", "engine/post", "server" }
    -- Without one of these players would be moved and not told why.
    local kActing = { "texts", "engine/joins", "engine/orders", "engine/chat" }
    -- The rest works without them.
    local kOptional = { "fallback", "engine/commands", "engine/rival", "engine/probe" }
    local kLanguages = { "languages/en", "languages/de", "languages/es", "languages/fr", "languages/pl",
        "languages/pt", "languages/ru", "languages/chi" }
    -- All that Commands registers.
    -- Made by make texts from daemon/equipoise/core/commands.py.
    local kWords = { "status", "why", "rating", "shuffle", "balance", "move", "choice", "set", "reset", "on", "off" }
    -- The last line of what make texts made.

    local damage = {}

    local function Say(line, client)
        if client == nil then
            Shared.Message("[Equipoise] " .. line)
        elseif client:GetControllingPlayer() then
            ServerAdminPrint(client, line)
        end
    end

    -- The table where a file's last line puts it, and its key there.
    local function Place(name)
        local folder, key = string.match(name, "^(.-)/?([^/]+)$")
        if folder == "languages" then
            return Equipoise.Languages, key
        end
        return Equipoise, string.upper(string.sub(key, 1, 1)) .. string.sub(key, 2)
    end

    -- Whether one of these files is damaged; `without` says what that means.
    local function Damaged(names, without)
        local found = false
        for _, name in ipairs(names) do
            local path = "lua/equipoise/" .. name .. ".lua"
            -- No fault says nothing: of a file that breaks off the engine runs what there is.
            local ok, fault = pcall(Script.Load, path)
            if not ok then
                Say(tostring(fault))
            end
            local place, key = Place(name)
            if place[key] == nil then
                found = true
                table.insert(damage, path .. " is damaged: " .. without)
            end
        end
        return found
    end

    -- What stands for a file: whatever it is asked, nothing happens.
    local nothing = {}

    function nothing.New()
        return nothing
    end

    function nothing.__index()
        return Nothing
    end

    -- `nothing.New()` is itself, and `nothing:Anything()` finds `Nothing` by __index.
    setmetatable(nothing, nothing)

    local function Replace(names, all)
        for _, name in ipairs(names) do
            local place, key = Place(name)
            if all or place[key] == nil then
                place[key] = nothing
            end
        end
    end

    local function Tell(client)
        for _, line in ipairs(damage) do
            Say(line, client)
        end
    end

    local aside = Damaged(kNeeded, "Equipoise leaves the game alone.")
    local quiet = Damaged(kActing, "rounds are rated, no player is moved.")
    Damaged(kOptional, "the rest works without it.")
    Damaged(kLanguages, "who chose it reads the server's language or English.")
    Replace(kActing, quiet)
    Replace(kOptional, quiet)

    if #damage > 0 then
        table.insert(damage, "Remove the server's copy of the mod and restart the server: it downloads the mod anew.")
    end
    Tell(nil)
    if not aside then
        Equipoise.Server.Run(damage, quiet)
    end
    -- Registered here only where the mod does not: an admin who types one has to read why nothing happens.
    if aside or Equipoise.Commands == nothing then
        for _, word in ipairs(kWords) do
            CreateServerAdminCommand("Console_sv_eq_" .. word, Tell, "Says which file of Equipoise is damaged")
        end
    end
end
