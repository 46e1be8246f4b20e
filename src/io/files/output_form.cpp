#include "io/files/output_form.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include "spdnn/error.hpp"

namespace spdnn {

namespace {

std::string_view ending_of(OutputForm form) {
  switch (form) {
    case OutputForm::npy:
      return ".npy";
    case OutputForm::npz:
      return ".npz";
    case OutputForm::tsv:
      return ".tsv";
    case OutputForm::txt:
      return ".txt";
    case OutputForm::csv:
      return ".csv";
  }
  return {};
}

bool goes_to_stdout(const std::string& path) { return path == "-" || path == "/dev/stdout"; }

/// Whether the path is a device or a pipe. A path that cannot be examined is refused later by the writer.
bool has_no_ending(const std::string& path) {
  std::error_code unknown;
  const auto status = std::filesystem::status(path, unknown);
  return goes_to_stdout(path) || (exists(status) && !is_regular_file(status) && !is_directory(status));
}

}  // namespace

OutputForm output_form(const std::string& option, const std::string& path, std::initializer_list<OutputForm> forms) {
  if (has_no_ending(path))
    return goes_to_stdout(path) && ::isatty(STDOUT_FILENO) != 0 ? *(forms.end() - 1) : *forms.begin();
  const std::string_view name = std::string_view(path).ends_with(".tsv.gz")
                                    ? std::string_view(path).substr(0, path.size() - 3)
                                    : std::string_view(path);
  const auto* const found =
      std::find_if(forms.begin(), forms.end(), [&](OutputForm form) { return name.ends_with(ending_of(form)); });
  if (found != forms.end()) return *found;
  std::vector<std::string_view> endings;
  for (const OutputForm form : forms) endings.push_back(ending_of(form));
  throw UsageError(
      fmt::format("{} {}: expected a name that ends in {}, or - for stdout", option, path, fmt::join(endings, ", ")));
}

}  // namespace spdnn
