#include "inference/model/compiled_program.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>

#include "core/threads/parallel.hpp"
#include "engines/tuned_program.hpp"
#include "inference/model/choice.hpp"
#include "inference/model/run.hpp"
#include "inference/model/runnable.hpp"
#include "io/files/atomic_file.hpp"
#include "model/rewrites/rewrite.hpp"
#include "program/calibration.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

/// A cache is not worth failing for.
void keep_calibration(const std::string& text) {
  const std::filesystem::path path = program::calibration_file();
  if (path.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  std::ifstream kept(path);
  const std::string older{std::istreambuf_iterator<char>(kept), {}};
  try {
    AtomicFile file(path);
    file.write(program::merged_calibrations(older, text));
    file.commit();
  } catch (const Error&) {
  }
}

StoredProgram tuned_and_kept(const ModelVariant& variant, const Model& model, const ModelEngineOptions& options) {
  TunedProgram tuned = tuned_program(variant, model, options);
  keep_calibration(tuned.calibration);
  return {"the program", std::move(tuned.text)};
}

}  // namespace

StoredProgram compiled_program(const Model& model, const EngineSettings& settings, bool tune) {
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
  KnownSupport known(rewritten);
  const ModelEngineChoice choice = choose_model_engine(settings, known, options);
  options.precision = choice.precision;
  options.batch = model_batch(settings, *choice.variant, known, most, options);
  if (tune) return tuned_and_kept(*choice.variant, rewritten, options);
  const Support& support = known.of(*choice.variant, options);
  if (!support.stored_program) throw UsageError(fmt::format("{} runs no program", choice.variant->name));
  return {"the program", support.stored_program()};
}

}  // namespace spdnn
