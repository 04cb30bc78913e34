-- Begins a store with the first row of the shared state, unless there is one.
local p = KEYS[1]
if redis.call('EXISTS', p .. 'store') == 1 then return 'conflict' end
redis.call('HSET', p .. 'store', 'form', ARGV[1], 'id', ARGV[2], 'public_key', ARGV[3])
redis.call('HSET', p .. 'shared', 'version', ARGV[4], 'seal', ARGV[5])
return 'stored'
