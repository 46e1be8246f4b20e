#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/options.hpp"
#include "cli/result_files.hpp"
#include "core/text/message.hpp"
#include "io/files/input_file.hpp"
#include "io/networks/outputs.hpp"
#include "report/render/html/html.hpp"
#include "report/render/text_forms.hpp"
#include "report/results_document.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"

namespace spdnn::cli {

namespace {

namespace fs = std::filesystem;

CommandForm report_form() {
  OptionGroup group;
  group.options.add_options()                                                                                  //
      ("format", takes("md|csv|latex|html"), "default: from the name of --out, otherwise md")                  //
      ("out", takes("FILE", "-"), "write the report here (-: stdout)")                                         //
      ("baseline", po::value<std::vector<std::string>>()->value_name("NAME"),                                  //
       "show speed-ups over this variant, or compare with the systems in FILE.csv; one of each may be given")  //
      ("table", takes("ID"),
       "table to write as csv, by its id or its section's; default: submission, layers, models, model-times or "
       "conv-times")                                                    //
      ("title", takes("TEXT", "spdnn results"), "title of the report")  //
      ("all", "also show results that later builds have replaced");
  return {.name = "report",
          .summary =
              "Makes tables and charts of results. RESULTS are files of JSON lines, written by infer, bench suite, "
              "bench layers, bench model, bench conv and bench scaling, or directories with files *.jsonl and *.json.",
          .usage = "spdnn report RESULTS... [OPTIONS]",
          .groups = {group},
          .positional = {"RESULTS..."},
          .examples =
              "  spdnn report results/h200 --out report.html\n"
              "  spdnn report run.json --format csv\n"
              "  spdnn report results/h200 --baseline cusparse_spmm \\\n"
              "    --baseline results/baselines.csv --out report.tex\n"};
}

/// A file given twice would count its runs double.
std::vector<fs::path> files_of(const std::vector<std::string>& arguments) {
  std::vector<fs::path> files;
  for (const std::string& argument : arguments) {
    if (!fs::is_directory(argument)) {
      files.emplace_back(argument);
      continue;
    }
    std::vector<fs::path> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(argument))
      if (entry.path().extension() == ".jsonl" || entry.path().extension() == ".json") found.push_back(entry.path());
    if (found.empty()) throw DataError(argument + ": no files *.jsonl or *.json in this directory");
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  std::set<std::pair<dev_t, ino_t>> seen;
  for (const fs::path& file : files) {
    struct stat status {};
    if (stat(file.c_str(), &status) == 0 && !seen.emplace(status.st_dev, status.st_ino).second)
      throw UsageError(file.native() + ": is given twice, so its runs would count double");
  }
  return files;
}

std::string format_of(const po::variables_map& values) {
  if (const auto format = text_of(values, "format")) {
    if (*format != "md" && *format != "csv" && *format != "latex" && *format != "html")
      throw UsageError("--format: '" + *format + "' is not one of md, csv, latex, html");
    return *format;
  }
  const fs::path out = values["out"].as<std::string>();
  const std::string extension = out.extension().native();
  if (extension == ".csv") return "csv";
  if (extension == ".tex") return "latex";
  if (extension == ".html") return "html";
  if (extension == ".md" || extension.empty()) return "md";
  throw UsageError("--out: '" + out.native() + "' does not end in .md, .csv, .tex or .html: give --format");
}

/// Empty if none is given.
std::string table_of(const po::variables_map& values, const std::string& format) {
  const auto table = text_of(values, "table");
  if (table && format != "csv") throw UsageError("--table: only csv holds a single table, but the format is " + format);
  return table.value_or("");
}

/// The default table for these lines.
std::string default_table(const ResultLines& lines) {
  if (!lines.runs.empty()) return "submission";
  if (!lines.layers.empty()) return "layers";
  if (!lines.models.empty()) return "models";
  return lines.model_benches.empty() ? "conv-times" : "model-times";
}

std::string rendered(const Document& document, const std::string& format, const std::string& table) {
  if (format == "csv") return to_csv(document, table);
  if (format == "latex") return to_latex(document);
  return format == "html" ? to_html(document) : to_markdown(document);
}

bool is_csv(const std::string& baseline) { return fs::path(baseline).extension() == ".csv"; }

std::vector<std::string> baselines_of(const po::variables_map& values) {
  if (values.count("baseline") == 0) return {};
  auto baselines = values["baseline"].as<std::vector<std::string>>();
  const auto files = std::count_if(baselines.begin(), baselines.end(), is_csv);
  if (files > 1 || static_cast<std::size_t>(files) + 1 < baselines.size())
    throw UsageError("--baseline: expected at most one variant and one FILE.csv");
  return baselines;
}

}  // namespace

std::vector<CommandForm> report_forms() { return {report_form()}; }

int report(const Arguments& arguments) {
  po::variables_map values;
  if (!parse(arguments, report_form(), values)) return 0;
  const std::string format = format_of(values);
  const std::string table = table_of(values, format);
  const std::string out = values["out"].as<std::string>();
  const std::vector<std::string> baselines = baselines_of(values);
  const std::vector<fs::path> files = files_of(values["results"].as<std::vector<std::string>>());

  std::vector<NamedInput> inputs;
  inputs.reserve(files.size() + baselines.size());
  for (const fs::path& file : files) inputs.push_back({"RESULTS", file});
  for (const std::string& baseline : baselines)
    if (is_csv(baseline)) inputs.push_back({"--baseline", baseline});
  check_outputs({{"--out", output_path(out)}}, inputs);

  ResultsRequest request{.title = escaped(values["title"].as<std::string>()), .all = values.count("all") != 0};
  for (const std::string& baseline : baselines) {
    if (is_csv(baseline))
      request.baselines = read_baselines(baseline, text_of_file(baseline));
    else
      request.baseline_variant = baseline;
  }
  ResultLines lines;
  for (const fs::path& file : files) read_result_lines(file.native(), text_of_file(file), lines);
  if (lines.empty()) throw DataError(files.front().native() + ": holds no JSON line");
  write_text(output_path(out),
             rendered(results_document(lines, request), format, table.empty() ? default_table(lines) : table));
  return 0;
}

}  // namespace spdnn::cli
