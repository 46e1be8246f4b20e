# Prints `FILE<TAB>WHY` for each file that is no valid result or has the verdict FAILED. Needs line.awk
# before it.
{
  why[FILENAME] = complaint()
  if (why[FILENAME] == "" && value("status", "\"verdict\"") == "FAILED")
    why[FILENAME] = "its verdict is FAILED, against " value("against", "\"verdict\"")
}
END {
  for (i = 1; i < ARGC; ++i) {
    if (!(ARGV[i] in why)) why[ARGV[i]] = "its result is empty"
    if (why[ARGV[i]] != "") print ARGV[i] "\t" why[ARGV[i]]
  }
}
