"""The cache's operations as scripts that Redis and Valkey run.

Keys, all behind one prefix: ``cache:versions`` has each tenant's stamp. A place is a digest of tenant and key;
``cache:entry:<place>`` is a hash with ``version``, ``value`` and ``ends``, ``cache:claim:<place>`` a claim. ``cache:used`` has the
places by their last use, ``cache:ends`` by their end, ``cache:sizes`` what they take, and ``cache:bytes`` the sum.
"""

from typing import Final

SWEPT: Final = 100
"""Entries whose time is over that one put takes away, at most."""

_SHARED: Final = r"""
local prefix = KEYS[1] .. 'cache:'
local now = tonumber(ARGV[1])
if now < 0 then
  local t = redis.call('TIME')
  now = tonumber(t[1]) + tonumber(t[2]) / 1000000
end
local tenant, version, place = ARGV[2], tonumber(ARGV[3]), ARGV[4]
local entry, claim = prefix .. 'entry:' .. place, prefix .. 'claim:' .. place
local function text(n) return string.format('%.3f', n) end
local function whole(n) return string.format('%.0f', n) end
local function remove(one)
  local size = redis.call('HGET', prefix .. 'sizes', one)
  if size then
    redis.call('HDEL', prefix .. 'sizes', one)
    redis.call('DECRBY', prefix .. 'bytes', size)
    redis.call('ZREM', prefix .. 'used', one)
    redis.call('ZREM', prefix .. 'ends', one)
  end
  redis.call('UNLINK', prefix .. 'entry:' .. one)
end
local known = tonumber(redis.call('HGET', prefix .. 'versions', tenant) or '-1')
if version > known then redis.call('HSET', prefix .. 'versions', tenant, whole(version)) end
if version < known then return {'old'} end
"""

GET: Final = (
    _SHARED
    + r"""
-- ARGV: now, tenant, version, place, claim (s)
local row = redis.call('HMGET', entry, 'version', 'ends')
if row[1] and tonumber(row[1]) == version and now < tonumber(row[2]) then
  redis.call('ZADD', prefix .. 'used', text(now), place)
  return {'hit', redis.call('HGET', entry, 'value')}
end
if tonumber(ARGV[5]) <= 0 then return {'absent'} end
local claimed, ends = string.match(redis.call('GET', claim) or '', '^(%d+) (.*)$')
if claimed and tonumber(claimed) == version and now < tonumber(ends) then return {'busy'} end
redis.call('SET', claim, whole(version) .. ' ' .. text(now + tonumber(ARGV[5])), 'PX', whole(tonumber(ARGV[5]) * 1000 + 1000))
return {'absent'}
"""
)

PUT: Final = (
    _SHARED
    + rf"""
local SWEPT = {SWEPT}
"""
    + r"""
-- ARGV: now, tenant, version, place, value, ttl, size, max_bytes: how many entries left for this one
redis.call('DEL', claim)
remove(place)
local ttl, size, max = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
if ttl <= 0 then return {'0'} end
for _, one in ipairs(redis.call('ZRANGEBYSCORE', prefix .. 'ends', '-inf', text(now), 'LIMIT', 0, SWEPT)) do remove(one) end
local evicted = 0
while tonumber(redis.call('GET', prefix .. 'bytes') or '0') + size > max do
  local oldest = redis.call('ZRANGE', prefix .. 'used', 0, 0)[1]
  if not oldest then redis.call('SET', prefix .. 'bytes', '0'); break end
  remove(oldest)
  evicted = evicted + 1
end
redis.call('HSET', entry, 'version', whole(version), 'value', ARGV[5], 'ends', text(now + ttl))
redis.call('PEXPIRE', entry, whole(ttl * 1000 + 1000))
redis.call('HSET', prefix .. 'sizes', place, whole(size))
redis.call('INCRBY', prefix .. 'bytes', whole(size))
redis.call('ZADD', prefix .. 'used', text(now), place)
redis.call('ZADD', prefix .. 'ends', text(now + ttl), place)
return {whole(evicted)}
"""
)

DELETE: Final = (
    _SHARED
    + r"""
-- ARGV: now, tenant, version, place
redis.call('DEL', claim)
remove(place)
return {'0'}
"""
)

RAISE: Final = _SHARED + "return {'0'}\n"
"""ARGV: now, tenant, version, and no place."""
