# Prints an aligned table of the results with this `schema`, spdnn-run-1 for networks or spdnn-model-1 for models; nothing if
# there are none. Each row begins with its three sort keys, each followed by a tab. Needs line.awk before it.

function add(text) { cells[rows, ++column] = text; if (length(text) > width[column]) width[column] = length(text) }
function head(text,    names, i) {
  ++rows
  column = 0
  for (i = 1; i <= split(text, names, " "); ++i) add(names[i])
}
function add_network() {
  keys[rows] = value("neurons", "\"problem\"") "\t" value("layers", "\"problem\"") "\t" \
    value("variant", "\"variant\"") " " value("passes", "\"passes\"") " " value("ranks", "\"machine\"") "\t"
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
function add_model() {
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
  # Columns of text are left-aligned.
  split(of_models ? "1 2 3 11 12 13" : "1 4 5 12 13 14", columns, " ")
  for (i in columns) is_text[columns[i]] = 1
}
complaint() == "" && value("schema", "{\"schema\"") == schema {
  if (!rows && of_models) head("name variant precision nodes ranks images infer_s images/s dense sparse verdict commit host")
  if (!rows && !of_models) head("name neurons layers variant passes ranks images infer_s TE/s with_setup end_to_end verdict commit host")
  ++rows
  column = 0
  name = FILENAME
  gsub(/^.*\/|\.json$/, "", name)
  add(name)
  shown = FILENAME
  if (of_models) add_model()
  else add_network()
  add(value("status", "\"verdict\""))
  add(value("commit", "\"build\"") (value("dirty", "\"build\"") == "true" ? "+" : ""))
  add(value("host", "\"machine\""))
}
# What comes after the record separator makes of the whole file no result.
FNR == 2 && shown == FILENAME { --rows }
END {
  if (rows == 1) exit
  for (r = 1; r <= rows; ++r) {
    line = ""
    for (c = 1; c <= column; ++c) line = line sprintf((c > 1 ? "  " : "") "%" (c in is_text ? "-" : "") width[c] "s", cells[r, c])
    sub(/ +$/, "", line)
    print (r in keys ? keys[r] : "\t\t\t") line
  }
}
