#include "inference/model/compiled_program.hpp"

#include <fmt/format.h>

#include <string>

#include "core/threads/parallel.hpp"
#include "inference/model/choice.hpp"
#include "inference/model/run.hpp"
#include "inference/model/runnable.hpp"
#include "model/rewrites/rewrite.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

StoredProgram compiled_program(const Model& model, const EngineSettings& settings) {
  if (const std::string why_not = why_not_runnable(model); !why_not.empty()) throw UsageError(why_not);
  require_threads(settings.threads);
  Model rewritten = model;
  rewritten.program.reset();
  rewrite(rewritten, kAllRewrites);
  ModelEngineOptions options{.threads = host_threads(settings.threads),
                             .host_memory = settings.host_memory,
                             .epilogues = kAllRewrites.epilogues};
  const Index most = fixed_batch(rewritten).value_or(kMaxIndex);
  options.batch = wanted_batch(settings, rewritten, most);
  const ModelEngineChoice choice = choose_model_engine(settings, rewritten, options);
  options.precision = choice.precision;
  options.batch = model_batch(settings, *choice.variant, rewritten, most, options);
  const Support support = support_of(*choice.variant, rewritten, options);
  if (!support.stored_program) throw UsageError(fmt::format("{} runs no program", choice.variant->name));
  return {"the program", support.stored_program()};
}

}  // namespace spdnn
