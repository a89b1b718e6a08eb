-- Chat: from a client to everybody, and the words that the game itself listens to (ns2_game.md 6.3).
local Rig = ...

kMaxChatLength = 120
kMaxNameLength = 20

-- B266 NetworkMessages.lua: bytes are cut, so a character may be split.
function BuildChatMessage(teamOnly, name, locationId, teamNumber, teamType, text)
    return { teamOnly = teamOnly, playerName = name:sub(1, kMaxNameLength), locationId = locationId,
        teamNumber = teamNumber, teamType = teamType, message = text:sub(1, kMaxChatLength) }
end

-- B266 TournamentMode.lua: words of tournament mode; a global, so that mods put theirs around it.
function ProcessSayCommand() end

-- B266 NetworkMessages_Server.lua: five at once, one more each second, looked at before the event.
local function Allowed(client)
    local fields = Rig.Fields(client)
    local tokens = math.min(5, (fields.chat_tokens or 5) + Rig.system - (fields.chat_at or Rig.system))
    fields.chat_at = Rig.system
    fields.chat_tokens = math.max(0, tokens - 1)
    return tokens >= 1
end

local function OnChat(client, message)
    local player = client:GetControllingPlayer()
    if not player then return end
    local text = message.message:sub(1, kMaxChatLength)
    local number = player:GetTeamNumber()
    local team = GetGamerules():GetTeam(number)
    local built = BuildChatMessage(message.teamOnly, player:GetName(), -1, number, team:GetTeamType(), text)
    if message.teamOnly then
        team:ForEachPlayer(function(each) Server.SendNetworkMessage(each, "Chat", built, true) end)
    else
        Server.SendNetworkMessage("Chat", built, true)
    end
    Shared.Message("Chat " .. (message.teamOnly and "Team" or "All") .. " - " .. player:GetName() .. ": " .. text)
    ProcessSayCommand(player, text)
end

Server.HookNetworkMessage("ChatClient", OnChat)

function Rig.Say(client, text, teamOnly)
    if Allowed(client) then Rig.Receive(client, "ChatClient", { message = text, teamOnly = teamOnly }) end
end
