-- Stores a seal, if the last one is still the one it was made after. Sessions that were written meanwhile stay to be sealed.
local p, owner, n = KEYS[1], ARGV[1], ARGV[2]
if redis.call('GET', p .. 'sealing') ~= owner then return 'conflict' end
local last = redis.call('XREVRANGE', p .. 'seals', '+', '-', 'COUNT', 1)[1]
if (last and last[1] or '0-0') ~= string.format('%d-0', tonumber(n) - 1) then return 'conflict' end
local fields = tonumber(ARGV[3])
redis.call('XADD', p .. 'seals', n .. '-0', unpack(ARGV, 4, 3 + fields))
for i = 4 + fields, #ARGV, 2 do
  if redis.call('HGET', p .. 'session:' .. ARGV[i], 'version') == ARGV[i + 1] then
    redis.call('SREM', p .. 'changed', ARGV[i])
  end
end
redis.call('DEL', p .. 'sealing')
return 'stored'
