#include "inference/model/compiled_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "core/text/amounts.hpp"
#include "core/threads/parallel.hpp"
#include "engines/tuned_program.hpp"
#include "inference/model/choice.hpp"
#include "inference/model/run.hpp"
#include "inference/model/runnable.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/directory_lock.hpp"
#include "io/files/path_kind.hpp"
#include "model/rewrites/rewrite.hpp"
#include "program/calibration.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

StoredProgram tuned_and_kept(const ModelVariant& variant, const Model& model, const ModelEngineOptions& options,
                             FileNotes& notes) {
  TunedProgram tuned = tuned_program(variant, model, options);
  if (tuned.calibration.empty()) return {"the program", std::move(tuned.text)};
  const std::string why_not = keep_calibration(program::calibration_file(), tuned.calibration);
  if (!why_not.empty())
    notes.push_back("how much longer than predicted kernels took is not kept for later runs: " + why_not);
  return {"the program", std::move(tuned.text)};
}

/// Empty if the program of the variant has none.
std::vector<StoredCode> generated_code(const ModelVariant& variant, const Model& model,
                                       const ModelEngineOptions& options, FileNotes& notes) {
  const std::unique_ptr<ModelEngine> engine = make_engine(variant, std::make_shared<const Model>(model), options);
  std::vector<StoredCode> code = engine->code();
  if (!code.empty()) std::ranges::move(engine->notes(), std::back_inserter(notes));
  return code;
}

}  // namespace

std::string keep_calibration(const std::filesystem::path& file, const std::string& newer) {
  if (file.empty()) return "there is no cache directory";
  std::error_code error;  // the file's own error says enough
  std::filesystem::create_directories(file.parent_path(), error);
  try {
    // AtomicFile would wait for the reader of a pipe.
    if (path_kind(file) == PathKind::other) return file.string() + ": is a pipe or device, expected a regular file";
    const Descriptor locked = lock_directory(file.parent_path(), DirectoryLock::exclusive);
    AtomicFile kept(file);
    kept.write(program::merged_calibrations(program::calibration_file_text(file), newer));
    kept.commit();
  } catch (const Error& why) {
    return why.what();
  }
  return {};
}

CompiledProgram compiled_program(const Model& model, const EngineSettings& settings, bool tune, FileNotes& notes) {
  if (const std::string why_not = why_not_runnable(model); !why_not.empty()) throw UsageError(why_not);
  require_threads(settings.threads);
  Model rewritten = model;
  rewrite(rewritten, kAllRewrites);
  ModelEngineOptions options{.threads = host_threads(settings.threads),
                             .host_memory = settings.host_memory,
                             .epilogues = kAllRewrites.epilogues,
                             .compile_seconds = settings.compile_seconds};
  const Index most = fixed_batch(rewritten).value_or(kMaxIndex);
  options.batch = wanted_batch(settings, rewritten, most);
  KnownSupport known(rewritten);
  const ModelEngineChoice choice = choose_model_engine(settings, known, options);
  options.precision = choice.precision;
  options.batch = model_batch(settings, *choice.variant, known, most, options);
  if (settings.batch == 0 && most == kMaxIndex)
    notes.push_back(fmt::format("the program is for batches of {}; a run of fewer images at a time compiles another",
                                counted(options.batch, "image", "images")));
  CompiledProgram compiled;
  if (tune) {
    compiled.program = tuned_and_kept(*choice.variant, rewritten, options, notes);
  } else {
    const Support& support = known.of(*choice.variant, options);
    if (!support.stored_program) throw UsageError(fmt::format("{} runs no program", choice.variant->name));
    compiled.program = StoredProgram{"the program", support.stored_program()};
  }
  if (choice.variant->device == Device::cpu) return compiled;
  rewritten.program = compiled.program;
  compiled.code = generated_code(*choice.variant, rewritten, options, notes);
  return compiled;
}

}  // namespace spdnn
