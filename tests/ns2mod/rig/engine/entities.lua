-- Entities and their lists; who controls them.
local Rig = ...

local kEntities = {}
local kOwners = {}
local gLastId = 0

Entity = Rig.DefineClass("Entity")
Entity.invalidId = -1

function Entity:GetId() return Rig.Fields(self).id end
function Entity:GetClassName() return Rig.ClassOf(self) end
function Entity:isa(name) return Rig.IsA(Rig.ClassOf(self), name) end
function Entity:GetTeamNumber() return Rig.Fields(self).teamNumber end
function Entity:GetIsDestroyed() return false end

function Rig.CreateEntity(className, fields)
    gLastId = gLastId + 1
    fields.id = gLastId
    local entity = Rig.NewObject(className, fields)
    kEntities[gLastId] = entity
    return entity
end

function Rig.DestroyEntity(entity)
    local id = Rig.Fields(entity).id
    kEntities[id] = nil
    kOwners[id] = nil
    Rig.Kill(entity)
end

function Rig.SetOwner(entity, client)
    kOwners[Rig.Fields(entity).id] = client
end

function Rig.OwnerOf(entity)
    return kOwners[Rig.Fields(entity).id]
end

function Rig.EntitiesOf(className)
    local found = {}
    for id = 1, gLastId do
        local entity = kEntities[id]
        if entity and Rig.IsA(Rig.ClassOf(entity), className) then table.insert(found, entity) end
    end
    return found
end

function Shared.GetEntity(id)
    return kEntities[id]
end

-- STUB api/Shared.lua GetEntitiesWithClassname; ns2_game.md 1.4: ientitylist yields (index, entity).
function Shared.GetEntitiesWithClassname(className)
    local found = Rig.EntitiesOf(className)
    return {
        GetSize = function() return #found end,
        GetEntityAtIndex = function(_, index) return found[index + 1] end,
    }
end

function ientitylist(list)
    local index = -1
    return function()
        index = index + 1
        local entity = list:GetEntityAtIndex(index)
        if entity then return index, entity end
    end
end

function EntityListToTable(list)
    local result = {}
    for _, entity in ientitylist(list) do table.insert(result, entity) end
    return result
end

Shared = Rig.EngineTable("Shared", Shared)
