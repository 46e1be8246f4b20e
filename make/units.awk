# Reads sorted paths of source files and prints UNIT=FILE:FILE... for each unit: at most `most` files of a room (src/ROOM or
# tests/ROOM), divided evenly. Files in `alone` (src/engines/cpu), which take most of a run's time, share units only with
# files of their own directory, so that inlining there does not depend on other rooms. Files in `cold` share units only with
# one another.
function within(path, directories,    i, list, n) {
  n = split(directories, list, " ")
  for (i = 1; i <= n; i++)
    if (index(path, list[i] "/") == 1) return 1
  return 0
}
{
  room = $1 "/" $2
  if (within($0, cold)) room = room "/cold"
  if (within($0, alone)) {
    room = $0
    sub("/[^/]*$", "", room)
  }
  if (!(room in count)) rooms[++n] = room
  files[room, ++count[room]] = $0
}
END {
  for (r = 1; r <= n; r++) {
    room = rooms[r]
    units = int((count[room] + most - 1) / most)
    for (u = 1; u <= units; u++) {
      line = room "/" u "="
      first = int((u - 1) * count[room] / units) + 1
      last = int(u * count[room] / units)
      for (i = first; i <= last; i++) line = line (i > first ? ":" : "") files[room, i]
      print line
    }
  }
}
