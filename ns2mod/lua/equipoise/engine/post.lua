-- One batch at a time to the daemon. The engine has no timeout, and calls back late or never: the time is ours, by the
-- system's clock, because the game's stands still in a pause. It has eight requests for all mods; we
-- take two at most, of which the older one has been given up.

Equipoise = Equipoise or {}

local Post = {}
Post.__index = Post

local kTimeoutSeconds = 5
local kRetrySeconds = 1
local kPollSeconds = 5
-- Refused for what only an operator can change, or answered by something that is no daemon.
local kPauseSeconds = 30
local kMostRequests = 2
-- A request whose callback did not come for so long has none.
local kForgetSeconds = 60
-- So many failures in a row, and the daemon is lost.
local kLost = 2
-- Nothing is wrong with the batch or with this server's settings.
local kTryAgain = { busy = true, unavailable = true, internal = true }
-- By Reply.Decode's words.
local kInstead = { silent = "no connection", too_large = "the answer is too large",
    not_json = "the answer is no JSON", not_ours = "the answer is not Equipoise's" }

function Post.New(mod)
    return setmetatable({ mod = mod, failures = 0, dueAt = 0, answered = false, open = {}, serial = 0, seq = 0 }, Post)
end

-- What is new goes out in this frame, together.
function Post:Soon()
    -- Without an answer nothing is hurried: the next attempt has its time.
    if self.failures == 0 then
        self.soon = true
    end
end

-- There are orders: the daemon is asked in this frame, or after the answer that is awaited. After a failure the next
-- attempt has its time.
function Post:Hurry()
    if self.failures == 0 then
        self.dueAt, self.hurried = 0, self.current ~= nil
    end
end

-- The last batch was not answered, or none ever was on this map.
function Post:Silent()
    return self.failures > 0 or not self.answered
end

function Post:Lost()
    return self.failures >= kLost
end

-- What happens from now on is in this batch, or a later one.
function Post:NextSeq()
    return self.seq + 1
end

function Post:Frame()
    local now = self.mod:Now()
    if self.current and now >= self.sentAt + kTimeoutSeconds then
        self:Failed("no answer within " .. kTimeoutSeconds .. " seconds")
    end
    -- Without an answer the next attempt is made when it is due.
    local news = self.soon and self.failures == 0 and not self.mod.outbox:Empty()
    if not self.current and (now >= self.dueAt or news) then
        self:Send(now)
    end
end

function Post:Requests(now)
    local count = 0
    for serial, sentAt in pairs(self.open) do
        if now >= sentAt + kForgetSeconds then
            self.open[serial] = nil
        else
            count = count + 1
        end
    end
    return count
end

function Post:Send(now)
    if self.mod.fault or self:Requests(now) >= kMostRequests then
        return
    end
    self:Refresh()
    local text, seq = self.mod.outbox:Batch(now)
    if not text then
        return
    end
    self.soon = false
    self.serial = self.serial + 1
    local serial = self.serial
    self.current, self.sentAt = serial, now
    if seq ~= self.seq then
        -- A batch that goes again as it was says nothing of what happened since.
        self.seq, self.writtenAt, self.start = seq, now, self.mod.policy.start
    end
    -- Counted as long as its callback has not come, given up or not: the engine's request is still there.
    self.open[serial] = now
    self.dueAt = now + kPollSeconds
    local config = self.mod.config
    local callback = self.mod.boundary:Guard("the daemon's answer", function(body, ...)
        self.open[serial] = nil
        -- A late answer to one that was given up is not read: the same batch is on its way again.
        if self.current == serial then
            self:Answer(body, ...)
        end
    end)
    Shared.SendHTTPRequest(config.url .. "/v1/events", "POST", { secret = config.secret, data = text }, callback)
end

-- What came instead of a reply: the engine's error and its code, and the HTTP status, where the build tells them.
local function Instead(reason, fault, code, status)
    local words = { kInstead[reason] }
    if type(fault) == "string" and fault ~= "" then
        words = { string.format("no connection: %s, code %s", fault, tostring(code)) }
    elseif reason == "silent" and status and status ~= 0 then
        words = { "the answer is empty" }
    end
    if type(status) == "number" and status ~= 0 then
        words[2] = "HTTP status " .. status
    end
    return table.concat(words, ", ")
end

function Post:Answer(body, ...)
    local reply, reason, fault = Equipoise.Reply.Decode(json, body)
    if reply then
        self:Accepted(reply)
    elseif reason == "refused" then
        self:Refused(fault)
    else
        self:Failed(Instead(reason, ...))
    end
end

function Post:Accepted(reply)
    local now = self.mod:Now()
    self.current = nil
    self.failures = 0
    self.answered = true
    -- The answer that was on its way when the daemon had new orders may be without them.
    self.dueAt, self.hurried = self.hurried and now or now + reply.next, nil
    self.mod.outbox:Answered(reply)
    if self.complaint then
        self.complaint = nil
        self.mod.log("The daemon answers again.")
    end
    self.mod:Obey(reply, self.seq, self.start)
    self:Soon()
end

-- Of what happened while the daemon was lost only the newest hello and roster go out. A start still has time for a
-- split.
function Post:Refresh()
    local mod = self.mod
    if self:Lost() then
        mod.outbox:Forget("round_started")
        if mod.policy.phase == "freeze" then
            mod.outbox:Add(mod.rounds:Start())
        end
    end
end

function Post:Failed(why)
    self.current = nil
    self.failures = self.failures + 1
    self.mod.outbox:Unanswered()
    self.dueAt = self.mod:Now() + (self:Lost() and kPollSeconds or kRetrySeconds)
    if self:Lost() then
        self:Complain("The daemon does not answer at " .. self.mod.config.url .. " (" .. why
            .. "): the game goes on with the splits it gave last.")
    end
end

function Post:Refused(fault)
    if kTryAgain[fault.code] then
        self:Failed(fault.code .. ": " .. fault.message)
        return
    end
    self.current = nil
    local what = self.mod.outbox:Refused(fault)
    if what == "again" then
        self.failures = 0
        self:Soon()
        return
    end
    -- Refused is as good as lost: the cached splits are used, and no player is held.
    self.failures = kLost
    self.dueAt = self.mod:Now() + kPauseSeconds
    if what == "stale" then
        self:Complain("The daemon serves another start of this server (stale): is its name used on two servers?")
    else
        self:Complain("The daemon refuses this server (" .. fault.code .. "): compare url, server and secret in "
            .. "config://Equipoise.json with the daemon's configuration. It says: " .. fault.message)
    end
end

-- Says a thing once, and again when something else was wrong or all was well.
function Post:Complain(text)
    if text ~= self.complaint then
        self.complaint = text
        self.mod.log(text)
    end
end

Equipoise.Post = Post
