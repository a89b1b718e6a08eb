-- Command structures: the ways into the chair and out of it (ns2_game.md 4.1; CS CommandStructure_Server.lua).
local Rig = ...

local kClasses = { "MarineCommander", "AlienCommander" }
local gStructures = {}
local kLogin = 1.5

CommandStructure = Rig.DefineClass("CommandStructure", "Entity")
Rig.DefineClass("CommandStation", "CommandStructure")
Rig.DefineClass("Hive", "CommandStructure")

function CommandStructure:GetCommander() return Shared.GetEntity(Rig.Fields(self).commanderId) end
function CommandStructure:GetIsBuilt() return true end
function CommandStructure:OnCommanderLogin() end

function Rig.NewCommandStructures()
    for number, name in ipairs({ "CommandStation", "Hive" }) do
        if gStructures[number] then Rig.DestroyEntity(gStructures[number]) end
        gStructures[number] = Rig.CreateEntity(name, { teamNumber = number, commanderId = Entity.invalidId })
    end
end

-- CN26 NS2Gamerules OnCommanderLogin: a bot in the chair makes room for a person. Returns whether the chair is free.
function NS2Gamerules:OnCommanderLogin(structure, player)
    local seated = structure:GetCommander()
    local client = seated and Rig.OwnerOf(seated)
    if client and client:GetIsVirtual() and not Server.GetOwner(player):GetIsVirtual() then Rig.RemoveBot(client) end
    return not self:GetTeam(structure:GetTeamNumber()):GetHasCommander()
end

function NS2Gamerules:OnCommanderLogout() end

-- The hook runs on the old entity, the structure's on the new one.
function CommandStructure:LoginPlayer(player, forced)
    local number = self:GetTeamNumber()
    player:OnCommanderStructureLogin(self)
    local commander = player:Replace(kClasses[number], number)
    Rig.Fields(self).commanderId = commander:GetId()
    Rig.Fields(commander).frozen = GetGamerules().gameState == kGameState.Countdown
    self:OnCommanderLogin(commander, forced == true)
    return commander
end

function CommandStructure:Logout()
    local commander = self:GetCommander()
    if not commander then return end
    GetGamerules():OnCommanderLogout(self, commander)
    Rig.Fields(self).commanderId = Entity.invalidId
    local player = commander:Replace(Rig.LivingClass(self:GetTeamNumber()))
    player:OnCommanderStructureLogout(self)
    return player
end

function Rig.StructureOf(commander)
    for _, structure in ipairs(gStructures) do
        if Rig.Fields(structure).commanderId == commander:GetId() then return structure end
    end
end

function Rig.LogoutOf(commander)
    local structure = Rig.StructureOf(commander)
    return structure and structure:Logout()
end

-- ns2_game.md 4.1: out by JoinTeam or disconnect: no Logout; the structure notices that its commander is gone.
function Rig.LeaveChair(player)
    local structure = player:isa("Commander") and Rig.StructureOf(player)
    if structure then Rig.Fields(structure).commanderId = Entity.invalidId end
end

function Rig.CommandersOut()
    local clients = {}
    for number, structure in ipairs(gStructures) do
        local commander = structure:GetCommander()
        if commander then
            clients[number] = Rig.OwnerOf(commander)
            structure:Logout()
        end
    end
    return clients
end

-- ns2_game.md 2.5 #6: those remembered, where they still are on the team.
function Rig.CommandersBack(clients)
    for number, structure in ipairs(gStructures) do
        local client = clients[number]
        local player = client and Rig.IsAlive(client) and client:GetControllingPlayer()
        if player and player:GetTeamNumber() == number then structure:LoginPlayer(player, true) end
    end
end

-- ns2_game.md 4.1: the use key closes the chair, and the login follows when its animation has ended.
function CommandStructure:OnUse(player)
    if self:GetTeamNumber() ~= player:GetTeamNumber() or not player:GetIsAlive() then return end
    Rig.Fields(self).entering = { id = player:GetId(), at = Shared.GetTime() + kLogin }
end

function Rig.UpdateChairs()
    for _, structure in ipairs(gStructures) do
        local entering = Rig.Fields(structure).entering
        if entering and Shared.GetTime() >= entering.at then
            Rig.Fields(structure).entering = nil
            local player = Shared.GetEntity(entering.id)
            if player and player:GetIsAlive() then Rig.TakeChair(player) end
        end
    end
end

function Rig.TakeChair(player)
    local structure = gStructures[player:GetTeamNumber()]
    if structure and GetGamerules():OnCommanderLogin(structure, player) then return structure:LoginPlayer(player) end
end

function Rig.UseChair(player)
    gStructures[player:GetTeamNumber()]:OnUse(player)
end
