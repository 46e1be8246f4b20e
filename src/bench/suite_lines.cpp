#include "bench/suite_lines.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <filesystem>
#include <system_error>

#include "bench/child_run.hpp"
#include "core/system/build_info.hpp"
#include "core/text/json_text.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/input_file.hpp"
#include "io/files/output_target.hpp"
#include "io/files/path_kind.hpp"
#include "report/json_fields.hpp"
#include "report/phases.hpp"
#include "spdnn/error.hpp"

namespace spdnn::bench {

namespace {

namespace fs = std::filesystem;
/// Identifies a program built from no commit or with uncommitted changes by a digest of its file.
Json program_digest() {
  const BuildInfo& build = build_info();
  if (!build.dirty && build.commit != std::string_view("unknown")) return nullptr;
  const std::string program = text_of_file("/proc/self/exe");
  return fmt::format("{:016x}", XXH3_64bits(program.data(), program.size()));
}

bool is_of_this_program(const Json& line, const Json& program) {
  return line["build"] == build_json() && line["suite"]["program"] == program;
}

}  // namespace

SuiteResult suite_result(const Json& line) {
  const Json& computed = line.at("rate_computed");
  const Json& infer = line.at("seconds").at("infer");
  const auto seconds = [&](const char* of) { return infer.at(of).get<double>(); };
  return {line.at("variant").get<std::string>(),
          {.min = seconds("min"), .median = seconds("median"), .max = seconds("max"), .sum = 0},
          line.at("rate").get<double>(),
          computed.is_null() ? std::nullopt : std::optional(computed.get<double>()),
          line.at("rate_with_setup").get<double>(),
          line.at("rate_end_to_end").get<double>(),
          line.at("verdict").at("status").get<std::string>()};
}

SuiteLines::SuiteLines(std::optional<std::string> path, Use use) : path_(std::move(path)), program_(program_digest()) {
  if (use == Use::append) lock();
  text_ = text_now();
  lines_ = read();
}

void SuiteLines::lock() {
  if (!path_ || is_stdout(*path_)) return;
  const OutputTarget file = find_output_file(*path_);
  if (file.direct()) return;
  const fs::path directory = file.path.parent_path();
  fs::path target = file.path;
  target += ".lock";
  try {
    lock_.emplace(Temporary::Kind::file, directory, target, 0666);
  } catch (const std::system_error& error) {
    fail_to_write(*path_, error.code().value());
  }
  // One of the locked temporaries is this suite's. If two suites begin at the same moment, both may be refused.
  if (remove_stale_temporaries(directory, target) > 1)
    throw DataError(fmt::format("{}: another suite appends to this file, expected to be the only one", *path_));
}

/// Empty if there is no file yet, and for stdout.
std::string SuiteLines::text_now() const {
  if (!path_ || is_stdout(*path_) || path_kind(*path_) != PathKind::file) return {};
  return text_of_file(*path_);
}

std::vector<Json> SuiteLines::read() const {
  std::vector<Json> lines;
  for (std::size_t begin = 0; begin < text_.size();) {
    const std::size_t end = text_.find('\n', begin);
    if (end == std::string::npos)
      throw DataError(fmt::format("{}:{}:{}: the line has no end, expected lines of JSON", *path_, lines.size() + 1,
                                  text_.size() - begin + 1));
    const JsonFields line(fmt::format("{}:{}", *path_, lines.size() + 1),
                          std::string_view(text_).substr(begin, end - begin));
    const Json* suite = line.find({"suite"});
    if (suite != nullptr && suite->is_object()) check_run(line);
    lines.push_back(line.at({}));
    begin = end + 1;
  }
  return lines;
}

std::vector<Json> SuiteLines::find(const Json& asked, Index repetition) const {
  std::vector<Json> found;
  for (const Json& line : lines_) {
    if (!line.contains("suite") || !line["suite"].is_object()) continue;
    const Json& suite = line["suite"];
    if (suite["options"] == asked && suite["repetition"] == repetition && is_of_this_program(line, program_))
      found.push_back(line);
  }
  return found;
}

void SuiteLines::append(Json line, const Json& asked, Index repetition, Index repetitions) {
  line["suite"] = {{"repetition", repetition}, {"repetitions", repetitions}, {"options", asked}, {"program", program_}};
  if (!path_) return;
  for (bool in_place = false; !in_place;) {
    const std::string now = text_now();
    check(now);
    std::string next = now + json_line(line);
    AtomicFile file(output_path(*path_));
    file.write(next);
    file.sync();
    if (text_now() != now) continue;  // another program wrote to it during the sync
    file.commit();
    if (lock_) text_ = std::move(next);
    in_place = true;
  }
}

void SuiteLines::check(const std::string& now) const {
  const auto refuse = [&](const char* what) {
    return DataError(fmt::format("{}: {}, so the line of the last run is not added", *path_, what));
  };
  if (!now.starts_with(text_)) throw refuse("another program changed or removed lines while the suite ran");
  if (!now.empty() && now.back() != '\n') throw refuse("another program wrote an unfinished line while the suite ran");
}

bool same_machine(const Json& line, const Json& machine) {
  const Json& own = line["machine"];
  for (const auto& [field, value] : machine.items()) {
    const bool of_device = field == "device" || field == "driver" || field == "cuda";
    if (of_device && own["device"].is_null()) continue;
    if (own[field] != value) return false;
  }
  return true;
}

}  // namespace spdnn::bench
