#pragma once

#include <boost/program_options.hpp>
#include <string>
#include <vector>

namespace spdnn::cli {

namespace po = boost::program_options;

/// Options under a heading.
struct OptionGroup {
  std::string heading = "Options";
  po::options_description options{};
};

/// One way to call a command: the command line is parsed by it, and help, man page and completion are made of it.
struct CommandForm {
  std::string name;     ///< the words that choose it after `spdnn`: "infer", "infer --model", "bench layers"
  std::string summary;  ///< what it does, in whole sentences
  std::string usage;    ///< one line that begins with `spdnn`
  std::vector<OptionGroup> groups{};
  /// "IN", "OUT", ...; a trailing "..." takes the rest; a name in brackets may be left out. Values are read as options
  /// of the same name in lower case, declared in `groups` or not.
  std::vector<std::string> positional{};
  std::string examples{};  ///< command lines, indented by two blanks, of at most 80 columns

  /// Of all groups.
  po::options_description options() const;
};

/// The value of an option, by its name in the help. FILE, DIR and PATH are completed by names of files, and words
/// joined by | (auto|cpu|cuda) are the values that there are.
po::typed_value<std::string>* takes(const char* name);
/// The same, with the value that it has where the option is not given.
po::typed_value<std::string>* takes(const char* name, const char* otherwise);

}  // namespace spdnn::cli
