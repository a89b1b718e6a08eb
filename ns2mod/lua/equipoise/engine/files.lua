-- What stands in config://, the server's own folder. Nothing else of a mod is private: every client downloads it.

Equipoise = Equipoise or {}

local Files = {}

local kConfig = "Equipoise.json"
local kLanguages = "EquipoiseLanguages.json"
local kDefaults = {
    url = "http://127.0.0.1:27500",
    server = "",
    secret = "",
    language = "en",
}

-- The text of a file in config://, or nil.
function Files.Read(name)
    local file = io.open("config://" .. name, "r")
    if not file then
        return nil
    end
    local text = file:read("*all")
    io.close(file)
    return text
end

-- Whether it was written.
function Files.Write(name, text)
    local file = io.open("config://" .. name, "w+")
    if not file then
        return false
    end
    file:write(text)
    io.close(file)
    return true
end

-- Editors may put a byte order mark in front, which the game's decoder does not know.
local function Decoded(text)
    local ok, value = pcall(json.decode, (string.gsub(text, "^\239\187\191", "")))
    return ok and type(value) == "table" and value or nil
end

-- The operator's settings, and what is wrong with them. A missing file is written with the defaults; a broken one is
-- left as it is.
function Files.Config()
    local text = Files.Read(kConfig)
    local config, fault = {}, nil
    if text == nil then
        Files.Write(kConfig, json.encode(kDefaults, { indent = true }))
    end
    local found = text and Decoded(text)
    if text and not found then
        fault = "config://" .. kConfig .. " is no JSON: mend it and restart the map."
    end
    for key, default in pairs(kDefaults) do
        local value = found and found[key]
        config[key] = type(value) == type(default) and value or default
    end
    config.url = string.gsub(config.url, "/+$", "")
    if not fault and (config.server == "" or config.secret == "") then
        fault = "Set server and secret in config://" .. kConfig .. " (`equipoise server add` prints them)."
    end
    return config, fault
end

-- Which language each player chose, by id.
function Files.Languages()
    return Decoded(Files.Read(kLanguages) or "") or {}
end

function Files.SaveLanguages(languages)
    Files.Write(kLanguages, json.encode(languages))
end

Equipoise.Files = Files
