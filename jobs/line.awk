# What the other awk files ask of a result, a file with the JSON line that spdnn infer --json writes.

# A character that no line has ends the records, so that a record is a file.
BEGIN { RS = "\001" }

# The value of the first "key": after the field `from` of the line; quotes are taken off. Names that a model or a file has may
# be those of fields, but no colon follows them.
function value(key, from,    rest) {
  if (!index($0, from ":")) return "-"
  rest = substr($0, index($0, from ":"))
  if (!match(rest, "\"" key "\":(\"[^\"]*\"|\\[[^]]*\\]|[^,}]*)")) return "-"
  rest = substr(rest, RSTART + length(key) + 3, RLENGTH - length(key) - 3)
  gsub(/^"|"$/, "", rest)
  return rest
}

# Whether a text is one JSON object on one line: with strings as S and numbers as V, arrays and objects of these are replaced
# by V, from the inside out, until nothing but V is left.
function is_whole_line(text) {
  sub(/\n$/, "", text)
  if (substr(text, 1, 1) != "{") return 0
  gsub(/"([^"\\\001-\037]|\\.)*"/, "S", text)
  gsub(/-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?|true|false|null/, "V", text)
  while (gsub(/\[([SV](,[SV])*)?\]|\{(S:[SV](,S:[SV])*)?\}/, "V", text)) continue
  return text == "V"
}

# Why the record is no result; empty where it is one.
function complaint(    schema) {
  if (FNR > 1 || !is_whole_line($0)) return "its result is no whole line of JSON"
  schema = value("schema", "{\"schema\"")
  if (schema != "spdnn-run-1" && schema != "spdnn-model-1")
    return "its result has the schema " schema ", expected spdnn-run-1 or spdnn-model-1"
  if (value("status", "\"verdict\"") !~ /^(PASSED|UNVERIFIED|FAILED)$/) return "its result has no verdict"
  return ""
}
