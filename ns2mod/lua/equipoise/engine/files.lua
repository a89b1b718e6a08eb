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
-- In the order in which they are read: of several that are wrong the first is said.
local kKeys = { "url", "server", "secret", "language" }

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

-- The settings of the file. Nil, and why there are none; a missing file is written with the defaults.
local function Found()
    local text = Files.Read(kConfig)
    if text == nil then
        if Files.Write(kConfig, json.encode(kDefaults, { indent = true })) then
            return {}
        end
        return nil, " can be neither read nor written: let the server's user read and write it, and change the map."
    end
    local found = Decoded(text)
    if not found then
        return nil, " is no JSON: mend it, and change the map."
    end
    return found
end

local function IsAddress(url)
    return type(url) == "string" and string.find(string.lower(url), "^http://[^%s/]+[^%s]*$") ~= nil
end

-- What a setting must be that it is not; nil when it is right.
local function Wrong(key, value)
    if key == "url" and not IsAddress(value) then
        return "the daemon's address in quotes, beginning with http://, as in " .. '"' .. kDefaults.url .. '"'
    end
    return type(value) ~= "string" and "a text in quotes" or nil
end

-- As the file has it. A secret must not stand in a log.
local function Shown(key, value)
    if key == "secret" then
        return "a " .. type(value)
    elseif type(value) == "string" then
        return '"' .. value .. '"'
    end
    return type(value) == "table" and "a list or a table" or tostring(value)
end

-- The operator's settings, and what is wrong with them: then the mod sends nothing. A broken file is left as it is.
function Files.Config()
    local config = {}
    local found, fault = Found()
    for _, key in ipairs(kKeys) do
        local value = found and found[key]
        if value == nil then
            value = kDefaults[key]
        end
        local wrong = Wrong(key, value)
        if wrong and not fault then
            fault = ': "' .. key .. '" is ' .. Shown(key, value) .. ". It must be " .. wrong .. ". Then change the map."
        end
        config[key] = wrong and kDefaults[key] or value
    end
    config.url = string.gsub(config.url, "/+$", "")
    if fault then
        return config, "config://" .. kConfig .. fault
    elseif config.server == "" or config.secret == "" then
        return config, "Set server and secret in config://" .. kConfig .. " (`equipoise server add` prints them)."
    end
    return config, nil
end

-- Which language each player chose, by id.
function Files.Languages()
    return Decoded(Files.Read(kLanguages) or "") or {}
end

function Files.SaveLanguages(languages)
    Files.Write(kLanguages, json.encode(languages))
end

Equipoise.Files = Files
