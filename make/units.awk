# Reads sorted paths of source files and prints UNIT=FILE:FILE... for each unit: at most `most` files of a room src/ROOM,
# `most_cold` of those in `cold`, and `most_tests` of a room tests/ROOM, divided evenly. Files in `alone` share units only with
# files of their own directory: src/engines/cpu takes most of a run's time, and inlining there should not depend on other rooms;
# src/io/models/tflite and src/io/arrays use names that their neighbours use, too. Each directory of `rooms` is a room of its own,
# with all below it. Files in `cold` share units only with one another; there, rooms that `joined` names as ROOM+ROOM... are one.

# Returns the one of the directories that the path lies in, or nothing.
function within(path, directories,    i, list, n) {
  n = split(directories, list, " ")
  for (i = 1; i <= n; i++)
    if (index(path, list[i] "/") == 1) return list[i]
  return ""
}
# Returns the first of the rooms that are joined with this one, or the room itself.
function first_joined(room,    i, list, n) {
  n = split(joined, list, " ")
  for (i = 1; i <= n; i++)
    if (index("+" list[i] "+", "+" room "+")) return substr(list[i] "+", 1, index(list[i] "+", "+") - 1)
  return room
}
{
  room = within($0, rooms)
  if (!room) room = $1 "/" $2
  if (within($0, alone)) {
    room = $0
    sub("/[^/]*$", "", room)
  }
  if (within($0, cold)) room = first_joined(room) "/cold"
  if (!(room in count)) names[++n] = room
  files[room, ++count[room]] = $0
}
END {
  for (r = 1; r <= n; r++) {
    room = names[r]
    limit = room ~ /^tests/ ? most_tests : room ~ /\/cold$/ ? most_cold : most
    units = int((count[room] + limit - 1) / limit)
    for (u = 1; u <= units; u++) {
      line = room "/" u "="
      first = int((u - 1) * count[room] / units) + 1
      last = int(u * count[room] / units)
      for (i = first; i <= last; i++) line = line (i > first ? ":" : "") files[room, i]
      print line
    }
  }
}
