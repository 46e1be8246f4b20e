#include "io/networks/outputs.hpp"

#include <fmt/format.h>

#include <system_error>

#include "io/files/output_target.hpp"
#include "io/files/path_kind.hpp"
#include "io/files/temporaries.hpp"
#include "io/networks/directory/layer_names.hpp"
#include "io/networks/directory/manifest.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

bool same_file(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

/// Whether writing the output would replace the file. Sharing a device or a pipe loses nothing.
bool replaces(const OutputTarget& output, const Path& existing) {
  struct stat status {};
  return output.now && !S_ISCHR(output.now->st_mode) && !S_ISFIFO(output.now->st_mode) &&
         ::stat(existing.c_str(), &status) == 0 && same_file(*output.now, status);
}

[[noreturn]] void refuse_output(const NamedOutput& output, const std::string& what) {
  throw UsageError(
      fmt::format("{} {}: would overwrite {}, expected another name", output.name, output.path.string(), what));
}

/// Whether a file of this name in a network's directory counts as part of the network.
bool is_part_of_network(const std::string& name) { return name == kManifestName || parse_layer_name_in_any_case(name); }

/// Whether the output is, or will be, in the directory.
bool lies_in(const OutputTarget& output, const Path& directory) {
  struct stat parent {};
  struct stat status {};
  return !output.path.parent_path().empty() && ::stat(output.path.parent_path().c_str(), &parent) == 0 &&
         ::stat(directory.c_str(), &status) == 0 && same_file(parent, status);
}

void check_against(const NamedOutput& output, const OutputTarget& target, const NamedInput& input) {
  const std::string what = fmt::format("{} {}", input.name, input.path.string());
  if (replaces(target, input.path)) refuse_output(output, what);
  std::error_code none;  // an input that cannot be examined will be refused by its reader
  if (is_directory(input.path, none)) {
    if (!output.directory && is_part_of_network(target.path.filename().string()) && lies_in(target, input.path))
      throw UsageError(fmt::format("{} {}: would be read as part of {}, expected another name", output.name,
                                   output.path.string(), what));
    for (const Path& file : list_directory(input.path))
      if (is_part_of_network(file.filename().string()) && replaces(target, file))
        refuse_output(output, fmt::format("{} of {}", file.filename().string(), what));
  } else if (output.directory && parse_layer_name(input.path.filename().string())) {
    const Path parent = input.path.has_parent_path() ? input.path.parent_path() : Path(".");
    if (replaces(target, parent)) refuse_output(output, what);
  }
}

bool same_target(const OutputTarget& a, const OutputTarget& b) {
  if (a.direct() || b.direct()) return a.now && replaces(b, a.path);
  return a.path == b.path || (a.now && b.now && same_file(*a.now, *b.now));
}

/// Makes a file in the output's directory and removes it: /proc, a full disk and others refuse it, whatever the
/// permissions.
void require_new_file(const NamedOutput& output, const OutputTarget& target) {
  if (target.direct()) return;
  const bool inside = output.directory && target.now;
  try {
    const Temporary file(Temporary::Kind::file, inside ? target.path : target.path.parent_path(), target.path, 0600);
  } catch (const std::system_error& error) {
    fail_to_write(output.path, error.code().value());
  }
}

}  // namespace

void check_outputs(const std::vector<NamedOutput>& outputs, const std::vector<NamedInput>& inputs) {
  std::vector<OutputTarget> targets;
  for (const NamedOutput& output : outputs) {
    const OutputTarget target = output.directory ? find_output_directory(output.path) : find_output_file(output.path);
    for (const NamedInput& input : inputs) check_against(output, target, input);
    for (std::size_t i = 0; i < targets.size(); ++i)
      if (same_target(targets[i], target))
        refuse_output(output, fmt::format("{} {}", outputs[i].name, outputs[i].path.string()));
    targets.push_back(target);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) require_new_file(outputs[i], targets[i]);
}

}  // namespace spdnn
