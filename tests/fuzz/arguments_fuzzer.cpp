// The arguments of a subcommand, one per line, whose options and positional names are parsed.

#include "cli/options.hpp"
#include "fuzz/harness.hpp"

namespace {

using namespace spdnn;

cli::Arguments lines_of(std::string_view text) {
  cli::Arguments lines;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

const cli::po::options_description& options() {
  static const auto all = [] {
    cli::po::options_description made("Options");
    made.add_options()("neurons", cli::po::value<std::string>(), "")("form", cli::po::value<std::string>(), "")(
        "progress", cli::po::value<std::string>()->default_value("auto"), "")("compare", "");
    return made;
  }();
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const cli::Arguments arguments = lines_of({reinterpret_cast<const char*>(data), size});
  for (const std::string& argument : arguments)
    if (argument.starts_with("--h") || argument.find('\0') != std::string::npos) return 0;  // no help, no such argument
  fuzz::attempt([&] {
    cli::po::variables_map values;
    if (!cli::parse(arguments, "spdnn fuzz IN [OUT]", options(), {"IN", "[OUT]"}, values)) return;
    fuzz::require(values.count("in") == 1, "a required argument is present");
    fuzz::require(values.count("progress") == 1, "an option with a default has a value");
  });
  return 0;
}
