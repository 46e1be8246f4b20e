#include "inference/prune/node_seconds.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "core/threads/parallel.hpp"
#include "inference/model/choice.hpp"
#include "inference/model/run.hpp"
#include "model/rewrites/rewrite.hpp"

namespace spdnn {

std::vector<double> predicted_seconds(const Model& model, const EngineSettings& settings) {
  Model marked = model;  // rewrites keep the names of nodes, by which the given ones are found again
  marked.program.reset();
  for (std::size_t n = 0; n < marked.nodes.size(); ++n) marked.nodes[n].name = std::to_string(n);
  rewrite(marked, kAllRewrites);
  ModelEngineOptions options{.batch = fixed_batch(marked).value_or(std::max<Index>(settings.batch, 1)),
                             .threads = host_threads(settings.threads),
                             .host_memory = settings.host_memory};
  KnownSupport known(marked);
  const ModelEngineChoice choice = choose_model_engine(settings, known, options);
  options.precision = choice.precision;
  std::vector<double> seconds(model.nodes.size());
  for (const ProgramStep& step : known.of(*choice.variant, options).program) {
    const std::string& name = marked.nodes[step.node].name;
    std::size_t node = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), node);
    if (error == std::errc{} && end == name.data() + name.size()) seconds[node] += step.seconds;
  }
  return seconds;
}

}  // namespace spdnn
