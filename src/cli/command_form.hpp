#pragma once

#include <boost/program_options.hpp>
#include <string>
#include <vector>

namespace spdnn::cli {

namespace po = boost::program_options;

/// A group of options under a heading.
struct OptionGroup {
  std::string heading = "Options";
  po::options_description options{};
};

/// One way to call a command: the source of parsing, help, man page and completion.
struct CommandForm {
  std::string name;     ///< the words after `spdnn` that select it: "infer", "infer --model", "bench layers"
  std::string summary;  ///< its purpose, in whole sentences
  std::string usage;    ///< one line that begins with `spdnn`
  std::vector<OptionGroup> groups{};
  /// "IN", "OUT", ...; a trailing "..." takes the rest; a name in brackets is optional. Values are stored as options of
  /// the same name in lower case, whether declared in `groups` or not.
  std::vector<std::string> positional{};
  std::string examples{};  ///< command lines, indented by two blanks, of at most 80 columns

  /// The options of all groups.
  po::options_description options() const;
};

/// The value of an option, with its name in the help. FILE, DIR and PATH are completed by file names; words joined by |
/// (auto|cpu|cuda) are the possible values.
po::typed_value<std::string>* takes(const char* name);
/// The same with a default value.
po::typed_value<std::string>* takes(const char* name, const char* otherwise);

}  // namespace spdnn::cli
