# Makes an aligned table of the JSON lines that spdnn infer --json writes, one file each.

# The value of the first "key": after `from` in the line; quotes are taken off.
function value(key, from,    rest) {
  rest = substr($0, index($0, from))
  if (!match(rest, "\"" key "\":(\"[^\"]*\"|\\[[^]]*\\]|[^,}]*)")) return "-"
  rest = substr(rest, RSTART + length(key) + 3, RLENGTH - length(key) - 3)
  gsub(/^"|"$/, "", rest)
  return rest
}
function add(text) { cells[rows, ++column] = text; if (length(text) > width[column]) width[column] = length(text) }
function head(text,    names, i) {
  ++rows
  for (i = 1; i <= split(text, names, " "); ++i) add(names[i])
}
BEGIN { head("neurons layers variant passes ranks images infer_s TE/s with_setup end_to_end verdict commit host") }
/^{"schema":"spdnn-run-1"/ {
  ++rows
  column = 0
  add(value("neurons", "\"problem\""))
  add(value("layers", "\"problem\""))
  add(value("variant", "\"variant\""))
  add(value("passes", "\"passes\""))
  add(value("ranks", "\"machine\""))
  add(value("images", "\"problem\""))
  add(sprintf("%.6f", value("median", "\"infer\"")))
  add(sprintf("%.4g", value("rate", "\"rate\"") / 1e12))
  add(sprintf("%.4g", value("rate_with_setup", "\"rate_with_setup\"") / 1e12))
  add(sprintf("%.4g", value("rate_end_to_end", "\"rate_end_to_end\"") / 1e12))
  add(value("status", "\"verdict\""))
  add(value("commit", "\"build\"") (value("dirty", "\"build\"") == "true" ? "+" : ""))
  add(value("host", "\"machine\""))
}
END {
  for (r = 1; r <= rows; ++r) {
    line = ""
    for (c = 1; c <= column; ++c)
      line = line sprintf(c > 1 ? "  %" (c == 3 || c == 4 || c > 10 ? "-" : "") width[c] "s" : "%" width[c] "s", cells[r, c])
    sub(/ +$/, "", line)
    print line
  }
}
