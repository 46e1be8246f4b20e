# Functions on a result, a file with the JSON line that spdnn infer --json writes.

# One record per file: no line contains the record separator.
BEGIN { RS = "\001" }

# The value of the first "key": after the field `from` of the line, without quotes. A model's or a file's name may equal that
# of a field, but no colon follows it.
function value(key, from,    rest) {
  if (!index($0, from ":")) return "-"
  rest = substr($0, index($0, from ":"))
  if (!match(rest, "\"" key "\":(\"[^\"]*\"|\\[[^]]*\\]|[^,}]*)")) return "-"
  rest = substr(rest, RSTART + length(key) + 3, RLENGTH - length(key) - 3)
  gsub(/^"|"$/, "", rest)
  return rest
}

# Whether a text is one JSON object on one line: replaces strings by S and numbers by V, then arrays and objects of these by
# V, from the inside out, until V alone remains.
function is_whole_line(text) {
  sub(/\n$/, "", text)
  if (substr(text, 1, 1) != "{") return 0
  gsub(/"([^"\\\001-\037]|\\.)*"/, "S", text)
  gsub(/-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?|true|false|null/, "V", text)
  while (gsub(/\[([SV](,[SV])*)?\]|\{(S:[SV](,S:[SV])*)?\}/, "V", text)) continue
  return text == "V"
}

# The reason why the record is no valid result; empty if it is one.
function complaint(    schema) {
  if (FNR > 1 || !is_whole_line($0)) return "its result is no whole line of JSON"
  schema = value("schema", "{\"schema\"")
  if (schema != "spdnn-run-1" && schema != "spdnn-model-1")
    return "its result has the schema " schema ", expected spdnn-run-1 or spdnn-model-1"
  if (value("status", "\"verdict\"") !~ /^(PASSED|UNVERIFIED|FAILED)$/) return "its result has no verdict"
  return ""
}
