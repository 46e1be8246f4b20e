#include "cli/command_form.hpp"
#include "cli/commands.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cli {

std::vector<CommandForm> bench_forms() {
  return {bench_layers_form(), bench_model_form(), bench_conv_form(), bench_suite_form(), bench_scaling_form()};
}

int bench(const Arguments& arguments) {
  const std::string what = arguments.empty() ? "" : arguments[0];
  const Arguments rest(arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end());
  if (what == "layers") return bench_layers(rest);
  if (what == "model") return bench_model(rest);
  if (what == "conv") return bench_conv(rest);
  if (what == "suite") return bench_suite(rest);
  if (what == "scaling") return bench_scaling(rest);
  throw UsageError(
      "bench: expected layers, model, conv, suite or scaling; usage: spdnn bench layers|model|conv|suite|scaling "
      "[OPTIONS]");
}

}  // namespace spdnn::cli
