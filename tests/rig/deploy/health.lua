-- Runs a health script as Argo CD does: with the basic functions, tables and the clock, without anything for texts.
-- Arguments: the script, and a file that returns the objects. Writes a status and a message for each.
getmetatable("").__index = nil

-- Argo CD's own os.date forgets about UTC when it is given a time.
local function date(format, time)
  if time and string.sub(format, 1, 1) == "!" then
    format = string.sub(format, 2)
  end
  return os.date(format, time)
end

local clock = { time = os.time, date = date }

local function environment(obj)
  return {
    obj = obj, table = table, assert = assert, error = error, ipairs = ipairs, next = next, pairs = pairs, pcall = pcall,
    select = select, tonumber = tonumber, tostring = tostring, type = type, unpack = unpack,
    require = function(name)
      return assert(name == "os" and clock)
    end,
  }
end

for _, obj in ipairs(dofile(arg[2])) do
  local script = assert(loadfile(arg[1]))
  local worked, result = pcall(setfenv(script, environment(obj)))
  if worked then
    io.write(result.status, "\t", result.message, "\n")
  else
    io.write("script error\t", tostring(result), "\n")
  end
end
