# Reads paths of source files, sorted; prints DIRECTORY/K=FILE:FILE... for each unit of at most eight files of one directory.
{
  directory = $0
  sub("/[^/]*$", "", directory)
  place = count[directory]++
  unit = directory "/" (1 + int(place / 8))
  if (place % 8 == 0) {
    units[++n] = unit
    files[unit] = $0
  } else {
    files[unit] = files[unit] ":" $0
  }
}
END { for (i = 1; i <= n; i++) print units[i] "=" files[units[i]] }
