-- The last finished rounds that the daemon has not stored, oldest first. They outlive the map and the process.
--
-- The engine announces neither that a map ends nor that itself does, and opening a file for writing empties it. The
-- rounds are therefore saved at every change, into two files in turn: a crash in the middle of a write leaves the other
-- one whole.

Equipoise = Equipoise or {}

local Codec = Equipoise.Codec

local Ring = {}
Ring.__index = Ring

local kSlots = 8
local kFiles = { "EquipoiseOutbox1.json", "EquipoiseOutbox2.json" }

-- `options`: files, json and log as in outbox.lua. A slot is {round, text, at, due}: its id, its event, when that was
-- (nil where another process had ended it), and whether it goes with the next batch.
function Ring.New(options)
    return setmetatable({
        files = options.files,
        json = options.json,
        log = options.log,
        slots = {},
        -- Rounds that were given up, and that the daemon does not know of yet.
        dropped = 0,
        -- The number of the newest whole file.
        number = 0,
        saved = true,
    }, Ring)
end

-- What was written is read again: a full disk may show only there. The number moves on with a whole file, so that a
-- failed write is repeated into the same file and the other one stays.
function Ring:Save()
    local rounds = {}
    for i, slot in ipairs(self.slots) do
        rounds[i] = slot.text
    end
    local data = string.format('{"dropped":%d,"rounds":[%s]}', self.dropped, table.concat(rounds, ","))
    local number = self.number + 1
    -- By the number's parity: never into the file that was written last.
    local name = kFiles[number % 2 + 1]
    local text = Codec.Seal(number, data)
    local whole = self.files.write(name, text) and self.files.read(name) == text
    if whole then
        self.number = number
        if not self.saved then
            self.log(name .. " is written again.")
        end
    elseif self.saved then
        self.log(name .. " cannot be written: finished rounds are lost when the server ends. Is the disk full? Then "
            .. "free the disk. If not, let the server's user write into its config directory.")
    end
    self.saved = whole and true or false
end

-- Tries again what failed.
function Ring:Retry()
    if not self.saved then
        self:Save()
    end
end

-- The number and the content of a file that was written whole, or nil.
local function Read(self, name)
    local text = self.files.read(name)
    if type(text) ~= "string" or text == "" then
        return nil
    end
    local number, data = Codec.Open(text)
    if number then
        local ok, content = pcall(self.json.decode, data)
        if ok and type(content) == "table" and type(content.rounds) == "table" then
            return number, content
        end
    end
    self.log(name .. " is damaged and left out.")
    return nil
end

-- Takes back what an earlier map or process left. To be called once, before anything is added.
function Ring:Load()
    local newest
    for _, name in ipairs(kFiles) do
        local number, content = Read(self, name)
        -- The newer of the two whole files; `self.number` goes on from it.
        if number and number > self.number then
            self.number = number
            newest = content
        end
    end
    for _, round in ipairs(newest and newest.rounds or {}) do
        local text = type(round) == "table" and type(round.round) == "string" and Codec.Encode(self.json, round)
        if text and #self.slots < kSlots then
            table.insert(self.slots, { round = round.round, text = text, due = true })
        end
    end
    self.dropped = newest and tonumber(newest.dropped) or 0
end

-- It is on the disk when this returns. A round that is in a slot already stays as it is: what a crash left of it comes
-- after what its last event said.
function Ring:Add(round, text, at)
    for _, slot in ipairs(self.slots) do
        if slot.round == round then
            return
        end
    end
    if #self.slots == kSlots then
        table.remove(self.slots, 1)
        self.dropped = self.dropped + 1
        self.log("The daemon has taken no round in a long time: the oldest of " .. kSlots .. " was given up.")
    end
    table.insert(self.slots, { round = round, text = text, at = at, due = true })
    self:MakeDue()
    self:Save()
end

-- Every round goes with the next batch.
function Ring:MakeDue()
    for _, slot in ipairs(self.slots) do
        slot.due = true
    end
end

function Ring:IsDue()
    for _, slot in ipairs(self.slots) do
        if slot.due then
            return true
        end
    end
    return false
end

-- The slots that are due, as many as fit into a form, oldest first, and whether more are. One goes however long it is.
function Ring:Due(most)
    local due, bytes, more = {}, 0, false
    for _, slot in ipairs(self.slots) do
        -- Not a break: rounds that the daemon has in memory lie between others.
        if slot.due then
            bytes = bytes + Codec.FormBytes(slot.text)
            if #due < most and (#due == 0 or bytes <= Codec.kMostFormBytes) then
                table.insert(due, slot)
            else
                more = true
            end
        end
    end
    return due, more
end

local function Without(slots, unwanted)
    local kept = {}
    for _, slot in ipairs(slots) do
        if not unwanted(slot) then
            table.insert(kept, slot)
        end
    end
    return kept
end

-- What became of rounds, as a reply says it, and how many dropped ones it has heard of. Only "stored" frees a slot; one
-- that the daemon has in memory is offered again with the next round, or to the next daemon.
function Ring:Settle(rounds, dropped)
    local kept = Without(self.slots, function(slot) return rounds[slot.round] == "stored" end)
    local changed = #kept < #self.slots or dropped > 0
    self.slots = kept
    -- Not 0: more may have been dropped while the batch was under way.
    self.dropped = self.dropped - dropped
    for _, slot in ipairs(kept) do
        -- The daemon keeps it in memory: to offer it at once again would go round and round.
        slot.due = slot.due and rounds[slot.round] ~= "kept"
    end
    if changed then
        self:Save()
    end
end

-- The daemon will never take this round.
function Ring:Remove(unwanted)
    self.slots = Without(self.slots, function(slot) return slot == unwanted end)
    self:Save()
end

Equipoise.Ring = Ring
