# Makes an aligned table of the JSON lines that spdnn infer --json writes, one file each: of those with this `schema`,
# spdnn-run-1 for networks or spdnn-model-1 for models; nothing where there are none.

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
function add(text) { cells[rows, ++column] = text; if (length(text) > width[column]) width[column] = length(text) }
function head(text,    names, i) {
  ++rows
  column = 0
  for (i = 1; i <= split(text, names, " "); ++i) add(names[i])
}
function add_network() {
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
}
# A model is named by its result: two runs of one model differ in their images.
function add_model(    name) {
  name = FILENAME
  gsub(/^.*\/|\.json$/, "", name)
  add(name)
  add(value("variant", "\"variant\""))
  add(value("precision", "\"precision\""))
  add(value("nodes", "\"model\""))
  add(value("ranks", "\"machine\""))
  add(value("images", "\"images\""))
  add(sprintf("%.6f", value("median", "\"infer\"")))
  add(sprintf("%.6g", value("images_per_second", "\"images_per_second\"")))
  add(sprintf("%.4g", value("dense", "\"flops\"") / 1e9))
  add(sprintf("%.4g", value("sparse", "\"flops\"") / 1e9))
}
BEGIN {
  of_models = schema == "spdnn-model-1"
  # Text stands on the left.
  split(of_models ? "1 2 3 11 12 13" : "3 4 11 12 13", columns, " ")
  for (i in columns) is_text[columns[i]] = 1
}
index($0, "{\"schema\":\"" schema "\"") == 1 {
  if (!rows && of_models) head("model variant precision nodes ranks images infer_s images/s dense sparse verdict commit host")
  if (!rows && !of_models) head("neurons layers variant passes ranks images infer_s TE/s with_setup end_to_end verdict commit host")
  ++rows
  column = 0
  if (of_models) add_model()
  else add_network()
  add(value("status", "\"verdict\""))
  add(value("commit", "\"build\"") (value("dirty", "\"build\"") == "true" ? "+" : ""))
  add(value("host", "\"machine\""))
}
END {
  for (r = 1; r <= rows; ++r) {
    line = ""
    for (c = 1; c <= column; ++c) line = line sprintf((c > 1 ? "  " : "") "%" (c in is_text ? "-" : "") width[c] "s", cells[r, c])
    sub(/ +$/, "", line)
    print line
  }
}
