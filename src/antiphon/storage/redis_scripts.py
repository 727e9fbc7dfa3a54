"""The ledger's operations as scripts that Redis and Valkey run: each is atomic over all accounts that it touches.

Keys, all behind one prefix: ``account:<window>:<account>`` is a hash with ``r<slot>`` and ``s<slot>``, what is reserved and
settled in a slot; ``held:<id>`` is a reservation, its holds as ``<account key> <slot> <amount> <policy>``; ``holder:<session>`` has
the reservations of a holder, ``leases`` the holders by the end of their lease; ``done:<id>`` remembers that a reservation was
settled, ``charged:<id>`` what was charged for an abandoned one.
"""

from typing import Final

REMEMBERED: Final = 3600
"""Seconds for which a settlement is known, so that one that is repeated does not count twice, and an abandoned reservation."""

_SHARED: Final = (
    f"""
local REMEMBERED = {REMEMBERED}
"""
    r"""
local prefix = KEYS[1]
local now = tonumber(ARGV[1])
if now < 0 then
  local t = redis.call('TIME')
  now = tonumber(t[1]) + tonumber(t[2]) / 1000000
end
local function whole(n) return string.format('%.0f', n) end
local function add(key, field, n)
  if n ~= 0 then
    if redis.call('HINCRBY', key, field, whole(n)) == 0 then redis.call('HDEL', key, field) end
  end
end
-- what counts at an account: settled, reserved, and its slots in order
local function standing(key, oldest)
  local settled, reserved, slots = 0, 0, {}
  local flat = redis.call('HGETALL', key)
  for i = 1, #flat, 2 do
    local slot, n = tonumber(string.sub(flat[i], 2)), tonumber(flat[i + 1])
    if slot < oldest then
      redis.call('HDEL', key, flat[i])
    else
      if string.sub(flat[i], 1, 1) == 'r' then reserved = reserved + n else settled = settled + n end
      slots[#slots + 1] = {slot, n}
    end
  end
  table.sort(slots, function(a, b) return a[1] < b[1] end)
  return settled, reserved, slots
end
-- what a reservation holds goes back; abandoned, what its limits say is charged, and remembered for a settlement after all
local function free(id, remember)
  local held = redis.call('HGETALL', prefix .. 'held:' .. id)
  for i = 1, #held, 2 do
    local key, slot, n, policy = string.match(held[i + 1], '^(.*) (%-?%d+) (%d+) (%a+)$')
    if redis.call('HEXISTS', key, 'r' .. slot) == 1 then
      add(key, 'r' .. slot, -tonumber(n))
      if remember and policy == 'charge' then
        add(key, 's' .. slot, tonumber(n))
        redis.call('HSET', prefix .. 'charged:' .. id, held[i], key .. ' ' .. slot .. ' ' .. n)
        redis.call('EXPIRE', prefix .. 'charged:' .. id, remember)
      end
    end
  end
  redis.call('DEL', prefix .. 'held:' .. id)
end
local function uncharge(id)
  local charged = redis.call('HGETALL', prefix .. 'charged:' .. id)
  for i = 1, #charged, 2 do
    local key, slot, n = string.match(charged[i + 1], '^(.*) (%-?%d+) (%d+)$')
    if redis.call('HEXISTS', key, 's' .. slot) == 1 then add(key, 's' .. slot, -tonumber(n)) end
  end
  redis.call('DEL', prefix .. 'charged:' .. id)
end
local function sweep()
  local ended = redis.call('ZRANGEBYSCORE', prefix .. 'leases', '-inf', whole(now), 'LIMIT', 0, 4)
  for _, session in ipairs(ended) do
    local holder = prefix .. 'holder:' .. session
    for _, id in ipairs(redis.call('SRANDMEMBER', holder, 500)) do
      free(id, REMEMBERED)
      redis.call('SREM', holder, id)
    end
    if redis.call('SCARD', holder) == 0 then redis.call('ZREM', prefix .. 'leases', session) end
  end
  return #ended
end
-- the slot of now, when it ends and which is the oldest that counts: what month it is the caller says
local function slots_of(kind, seconds, offset, month)
  if kind == 'none' then return 0, 0 end
  if kind == 'month' then return month, month end
  local length = seconds
  if kind == 'sliding' then length = seconds / 60 end
  local slot = math.floor((now - offset) / length)
  if kind == 'sliding' then return slot, slot - 60 end
  return slot, slot
end
"""
)

RESERVE: Final = (
    _SHARED
    + r"""
-- ARGV: now, session, lease, id, done for (s), month, then per hold: name, kind, seconds, offset, amount, capacity, abandoned
local session, lease, id, month = ARGV[2], tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[6])
if redis.call('EXISTS', prefix .. 'held:' .. id) == 1 then
  local held = redis.call('HGETALL', prefix .. 'held:' .. id)
  local slots = {'ok'}
  for i = 1, #held, 2 do slots[tonumber(held[i]) + 1] = string.match(held[i + 1], ' (%-?%d+) %d+ %a+$') end
  return slots
end
if redis.call('EXISTS', prefix .. 'done:' .. id) == 1 then return {'gone'} end
if tonumber(redis.call('ZSCORE', prefix .. 'leases', session) or '0') <= now then sweep() end
local function try()
  local taken, result = {}, {'ok'}
  local here = {}
  for i = 7, #ARGV, 7 do
    local window = ARGV[i + 1] .. '/' .. ARGV[i + 2] .. '/' .. ARGV[i + 3]
    local key = prefix .. 'account:' .. window .. ':' .. ARGV[i]
    local amount, capacity = tonumber(ARGV[i + 4]), tonumber(ARGV[i + 5])
    local slot, oldest = slots_of(ARGV[i + 1], tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3]), month)
    local settled, reserved, slots = standing(key, oldest)
    local used = settled + reserved + (here[key] or 0)
    if amount > 0 and used + amount > capacity then
      local freed, leaves = 0, ''
      if ARGV[i + 1] ~= 'none' and amount <= capacity then
        local missing = used + amount - capacity
        for _, s in ipairs(slots) do
          freed = freed + s[2]
          if freed >= missing then leaves = whole(s[1]); break end
        end
      end
      return nil, {'full', whole((i - 7) / 7), leaves, string.format('%.6f', now)}
    end
    here[key] = (here[key] or 0) + amount
    taken[#taken + 1] = {key, whole(slot), amount, ARGV[i + 1], tonumber(ARGV[i + 2]), ARGV[i + 6]}
    result[#result + 1] = whole(slot)
  end
  return taken, result
end
local taken, result = try()
if not taken and sweep() > 0 then taken, result = try() end
if not taken then return result end
for n, t in ipairs(taken) do
  add(t[1], 'r' .. t[2], t[3])
  redis.call('HSET', prefix .. 'held:' .. id, whole(n), t[1] .. ' ' .. t[2] .. ' ' .. whole(t[3]) .. ' ' .. t[6])
  if t[4] ~= 'none' then
    local keep = t[5] * 2 + 60
    if t[4] == 'month' then keep = 32 * 86400 end
    redis.call('EXPIRE', t[1], keep)
  end
end
redis.call('SADD', prefix .. 'holder:' .. session, id)
redis.call('ZADD', prefix .. 'leases', 'GT', string.format('%.3f', now + lease), session)
return result
"""
)

SETTLE: Final = (
    _SHARED
    + r"""
-- ARGV: now, session, lease, id, done for (s), month, then per hold: name, kind, seconds, offset, amount, slot
local session, id = ARGV[2], ARGV[4]
if redis.call('EXISTS', prefix .. 'done:' .. id) == 1 then return 0 end
free(id)
uncharge(id)
redis.call('SREM', prefix .. 'holder:' .. session, id)
redis.call('SET', prefix .. 'done:' .. id, '', 'EX', ARGV[5])
for i = 7, #ARGV, 6 do
  local key = prefix .. 'account:' .. ARGV[i + 1] .. '/' .. ARGV[i + 2] .. '/' .. ARGV[i + 3] .. ':' .. ARGV[i]
  local _, oldest = slots_of(ARGV[i + 1], tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3]), tonumber(ARGV[6]))
  if tonumber(ARGV[i + 5]) >= oldest then add(key, 's' .. ARGV[i + 5], tonumber(ARGV[i + 4])) end
end
return 1
"""
)

LOOK: Final = (
    _SHARED
    + r"""
-- ARGV: now, name, kind, seconds, offset, month
sweep()
local key = prefix .. 'account:' .. ARGV[3] .. '/' .. ARGV[4] .. '/' .. ARGV[5] .. ':' .. ARGV[2]
local _, oldest = slots_of(ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]))
local settled, reserved = standing(key, oldest)
return {whole(settled), whole(reserved)}
"""
)

RENEW: Final = (
    _SHARED
    + r"""
-- ARGV: now, session, lease (0: the holder ends, and what it held is free)
local leases = prefix .. 'leases'
if tonumber(ARGV[3]) == 0 then
  local holder = prefix .. 'holder:' .. ARGV[2]
  for _, id in ipairs(redis.call('SMEMBERS', holder)) do free(id, REMEMBERED) end
  redis.call('DEL', holder)
  return redis.call('ZREM', leases, ARGV[2])
end
sweep()
if redis.call('SCARD', prefix .. 'holder:' .. ARGV[2]) == 0 then return redis.call('ZREM', leases, ARGV[2]) end
return redis.call('ZADD', leases, string.format('%.3f', now + tonumber(ARGV[3])), ARGV[2])
"""
)

ABANDON: Final = (
    _SHARED
    + r"""
-- ARGV: now, session, id: a reservation that its living holder forgot
free(ARGV[3], REMEMBERED)
redis.call('SREM', prefix .. 'holder:' .. ARGV[2], ARGV[3])
return 1
"""
)
