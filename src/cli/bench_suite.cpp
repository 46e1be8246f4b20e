// `spdnn bench suite`.

#include <utility>
#include <vector>

#include "bench/suite_run.hpp"
#include "cli/commands.hpp"
#include "cli/result_files.hpp"
#include "cli/suite_options.hpp"
#include "core/system/exit_code.hpp"
#include "io/files/input_file.hpp"
#include "io/networks/outputs.hpp"

namespace spdnn::cli {

int bench_suite(const Arguments& arguments) {
  po::variables_map values;
  if (!parse(arguments, bench_suite_form(), values)) return 0;
  bench::SuiteSpec spec = suite_spec(values);
  std::vector<NamedInput> inputs;
  if (!spec.mnist.empty()) {
    const InputFile readable(spec.mnist);  // throws if it is unreadable, even if the images exist already
    inputs.push_back({"--mnist", spec.mnist});
  }
  if (spec.json && !spec.dry_run) check_outputs({{"--json", output_path(*spec.json)}}, inputs);
  const Printed table(spec.json);
  const bool right = bench::run_suite(std::move(spec), [&](const std::string& text) { table.put(text); });
  return static_cast<int>(right ? ExitCode::done : ExitCode::wrong_results);
}

}  // namespace spdnn::cli
