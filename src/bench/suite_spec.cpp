#include "bench/suite_spec.hpp"

#include <fmt/format.h>

#include "bench/child_run.hpp"
#include "bench/run_folder.hpp"
#include "core/text/json_text.hpp"
#include "data/official/problems.hpp"

namespace spdnn::bench {

namespace fs = std::filesystem;

std::string SuiteConfiguration::name() const {
  return fmt::format("{} x {}, {}, {}", neurons, layers, reduce, variant);
}

std::string SuiteSpec::images_name(Index neurons) const {
  return mnist.empty() ? fmt::format("images-{}-digits-{}.spdnn", neurons, images)
                       : fmt::format("images-{}-official.spdnn", neurons);
}

bool SuiteSpec::recomputes(const SuiteConfiguration& configuration) const {
  return mnist.empty() || !official_network_digest(configuration.neurons, configuration.layers);
}

Json SuiteSpec::asked(const SuiteConfiguration& configuration) const {
  return {{"neurons", configuration.neurons},
          {"layers", configuration.layers},
          {"reduce", configuration.reduce},
          {"variant", configuration.variant},
          {"images", images},
          {"official_images", !mnist.empty()},
          {"trials", std::stoi(trials)},
          {"warm_up", std::stoi(warm_up)},
          {"device", device},
          {"precision", json_or_null(precision)},
          {"threads", threads ? Json(std::stoi(*threads)) : Json()},
          {"ranks", ranks},
          {"launcher", json_or_null(launcher)},
          {"verify", recomputes(configuration) ? Json(verify) : Json()}};
}

std::vector<std::string> SuiteSpec::command(const SuiteConfiguration& configuration, const fs::path& inputs,
                                            const fs::path& line) const {
  std::vector<std::string> words = infer_command(launcher, ranks);
  const auto add = [&](const char* option, const std::string& value) { add_option(words, option, value); };
  add("generate", "official");
  add("neurons", std::to_string(configuration.neurons));
  add("layers", std::to_string(configuration.layers));
  add("inputs", inputs.native());
  add("reduce", configuration.reduce);
  add("variant", configuration.variant);
  add("trials", trials);
  add("warm-up", warm_up);
  add("device", device);
  if (precision) add("precision", *precision);
  if (threads) add("threads", *threads);
  if (recomputes(configuration)) add("verify", std::to_string(verify));
  words.emplace_back("--device-state");
  add("json", line.native());
  add("progress", "never");
  return words;
}

}  // namespace spdnn::bench
