"""``core/breaker`` as a script that Redis and Valkey run, so that all machines judge by one breaker; a test holds the two equal.

Keys, all behind one prefix: ``breaker:<target>`` is a hash with ``state``, ``term``, ``until``, the trials' ``good`` and ``bad``,
the window's parts as ``g<part>`` and ``b<part>``, and ``t<number>``, the end of a trial's lease. ``breaker-changes`` has the
targets by the number of their last change, ``breaker-members`` the processes by when they were heard of.
"""

from typing import Final

from antiphon.core.breaker_policy import ALMOST, FORGOTTEN_AFTER, PARTS

KNOWN_CHANGES: Final = 10_000
"""Targets whose last change is remembered."""

_SHARED: Final = r"""
local prefix = KEYS[1]
local now = tonumber(ARGV[1])
if now < 0 then
  local t = redis.call('TIME')
  now = tonumber(t[1]) + tonumber(t[2]) / 1000000
end
local function text(n) return string.format('%.6f', n) end
local function whole(n) return string.format('%.0f', n) end
"""

STEP: Final = (
    _SHARED
    + rf"""
local PARTS, ALMOST, FORGOTTEN_AFTER, KNOWN_CHANGES = {PARTS}, {ALMOST!r}, {FORGOTTEN_AFTER!r}, {KNOWN_CHANGES}
"""
    + r"""
-- ARGV: now, what, target, window, failure_rate, minimum_calls, open_for, trials, needed, trial_lease, then what the step needs
local what, target = ARGV[2], ARGV[3]
local window, rate, minimum, open_for = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local trials, needed, lease = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
local key = prefix .. 'breaker:' .. target
local state, term, ends, good, bad, length = 'closed', 0, 0, 0, 0, 0
local parts, permits = {}, {}
local flat = redis.call('HGETALL', key)
for i = 1, #flat, 2 do
  local field, value = flat[i], flat[i + 1]
  local kind, number = string.match(field, '^([gbt])(%-?%d+)$')
  if kind == 't' then permits[number] = tonumber(value)
  elseif kind then
    parts[number] = parts[number] or {0, 0}
    parts[number][kind == 'g' and 1 or 2] = tonumber(value)
  elseif field == 'state' then state = value
  elseif field == 'term' then term = tonumber(value)
  elseif field == 'until' then ends = tonumber(value)
  elseif field == 'good' then good = tonumber(value)
  elseif field == 'bad' then bad = tonumber(value)
  elseif field == 'length' then length = tonumber(value) end
end
local before, until_before = term, ends
local function become(new, at)
  state, ends, term = new, at, term + 1
  parts, permits, good, bad = {}, {}, 0, 0
end
local function given()
  local n = 0
  for number, at in pairs(permits) do
    if at <= now then permits[number] = nil else n = n + 1 end
  end
  return n
end
if state == 'open' and now >= ends then become('half_open', ends) end
local trial = 0
if what == 'count' and state == 'closed' then
  local each = window / PARTS
  if math.abs(each - length) > ALMOST then parts, length = {}, each end
  local part = math.floor(now / each)
  local slot = parts[whole(part)] or {0, 0}
  parts[whole(part)] = {slot[1] + tonumber(ARGV[11]), slot[2] + tonumber(ARGV[12])}
  local g, b = 0, 0
  for number, one in pairs(parts) do
    if tonumber(number) <= part - PARTS then parts[number] = nil else g, b = g + one[1], b + one[2] end
  end
  if tonumber(ARGV[12]) > 0 and g + b >= minimum and b + ALMOST >= rate * (g + b) then become('open', now + open_for) end
elseif what == 'acquire' and state == 'half_open' then
  if given() + good + bad < trials then
    trial = redis.call('INCR', prefix .. 'breaker-trials')
    permits[whole(trial)] = now + lease
  end
elseif what == 'conclude' then
  given()
  if permits[ARGV[11]] then
    permits[ARGV[11]] = nil
    if ARGV[12] == '1' then good = good + 1 elseif ARGV[12] == '0' then bad = bad + 1 end
    if good >= needed then become('closed', 0)
    elseif bad > trials - needed then become('open', now + open_for) end
  end
elseif what == 'trip' then
  local at = now + tonumber(ARGV[11])
  if state ~= 'open' or at > ends then become('open', at) end
elseif what == 'restore' and tonumber(ARGV[12]) > term then
  become(ARGV[11], now + tonumber(ARGV[13]))
  term = tonumber(ARGV[12])
end
local fields = {'state', state, 'term', whole(term), 'until', text(ends), 'good', good, 'bad', bad}
local function put(name, value) fields[#fields + 1] = name; fields[#fields + 1] = value end
put('length', string.format('%.17g', length))
for number, one in pairs(parts) do
  put('g' .. number, one[1])
  put('b' .. number, one[2])
end
for number, at in pairs(permits) do put('t' .. number, text(at)) end
redis.call('DEL', key)
redis.call('HSET', key, unpack(fields))
local keep = window
if state ~= 'closed' then keep = math.max(0, ends - now) + FORGOTTEN_AFTER end
redis.call('EXPIRE', key, whole(math.ceil(keep) + 60))
if term ~= before then
  local changes = prefix .. 'breaker-changes'
  redis.call('ZADD', changes, redis.call('INCR', prefix .. 'breaker-version'), target)
  redis.call('ZREMRANGEBYRANK', changes, 0, -KNOWN_CHANGES - 1)
end
local wait = 0
if state == 'open' then wait = math.max(0, ends - now)
elseif state == 'half_open' and trial == 0 then
  local first = nil
  for _, at in pairs(permits) do if not first or at < first then first = at end end
  if first then wait = math.max(0, first - now) end
end
return {state, whole(term), text(math.max(0, ends - now)), whole(trial), text(wait)}
"""
)

POLL: Final = (
    _SHARED
    + r"""
-- ARGV: now, session, since, silence: what has changed since then, as state, term, remaining and target
local members = prefix .. 'breaker-members'
redis.call('ZADD', members, text(now), ARGV[2])
redis.call('ZREMRANGEBYSCORE', members, '-inf', text(now - tonumber(ARGV[4])))
redis.call('EXPIRE', members, 600)
local version = redis.call('GET', prefix .. 'breaker-version') or '0'
local result = {version, redis.call('ZCARD', members)}
for _, target in ipairs(redis.call('ZRANGEBYSCORE', prefix .. 'breaker-changes', '(' .. ARGV[3], '+inf')) do
  local row = redis.call('HMGET', prefix .. 'breaker:' .. target, 'state', 'term', 'until')
  local state, ends = row[1] or 'closed', tonumber(row[3] or '0')
  for _, value in ipairs({state, row[2] or '0', text(math.max(0, ends - now)), target}) do result[#result + 1] = value end
end
return result
"""
)
