-- One change, all of it or nothing: everything is compared before anything is written.
local p, at = KEYS[1], 0
local function take() at = at + 1 return ARGV[at] end
local function list() local it = {} for i = 1, tonumber(take()) do it[i] = take() end return it end
local function lists() local it = {} for i = 1, tonumber(take()) do it[i] = list() end return it end

local name, shared_seen, seen = take(), take(), take()
local shared, row, answer = list(), list(), list()
local records, forgotten, gone = lists(), lists(), lists()
local strand = p .. 'strand:' .. name

if redis.call('HGET', p .. 'shared', 'version') ~= shared_seen then return 'conflict' end
local now = redis.call('HGET', p .. 'session:' .. name, 'version') or '0'
for _, it in ipairs(forgotten) do
  if (redis.call('HGET', p .. 'session:' .. it[1], 'version') or '0') ~= it[2] then return 'conflict' end
  if it[1] == name then now = it[3] end
end
if #row > 0 and now ~= seen then return 'conflict' end
if #records > 0 then
  local last = redis.call('XREVRANGE', strand, '+', '-', 'COUNT', 1)[1]
  if (last and last[1] or '0-0') ~= string.format('%d-0', tonumber(records[1][1]) - 1) then return 'records' end
end
-- A key of another kind ends the script here, before anything is written.
redis.call('HLEN', p .. 'answers:' .. name)
redis.call('SCARD', p .. 'changed')

if #records > 0 then
  local last = redis.call('XREVRANGE', p .. 'log', '+', '-', 'COUNT', 1)[1]
  local transaction = last and tonumber(string.match(last[1], '^%d+')) + 1 or 1
  for i, it in ipairs(records) do
    local id = string.format('%d-%d', transaction, i)
    redis.call('XADD', p .. 'log', id, 'strand', name, 'n', it[1])
    redis.call('XADD', strand, it[1] .. '-0', 'log', id, 'prev', it[2], 'hash', it[3], 'session', it[4], 'entry', it[5])
  end
end
for _, it in ipairs(forgotten) do
  local key = p .. 'session:' .. it[1]
  redis.call('DEL', key)
  redis.call('HSET', key, unpack(it, 4))
  redis.call('SADD', p .. 'changed', it[1])
end
for _, it in ipairs(gone) do redis.call('HDEL', p .. 'answers:' .. it[1], unpack(it, 2)) end
if #row > 0 then
  redis.call('DEL', p .. 'session:' .. name)
  redis.call('HSET', p .. 'session:' .. name, unpack(row))
  redis.call('SADD', p .. 'changed', name)
end
if #shared > 0 then
  redis.call('DEL', p .. 'shared')
  redis.call('HSET', p .. 'shared', unpack(shared))
end
if #answer > 0 then redis.call('HSET', p .. 'answers:' .. name, unpack(answer)) end
return 'stored'
