#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "spdnn/files.hpp"
#include "spdnn/model.hpp"
#include "spdnn/run_settings.hpp"

namespace spdnn {

/// What is stored with a model so that a later start need not make it again.
struct CompiledProgram {
  std::optional<StoredProgram> program;
  std::vector<StoredCode> code;  ///< that its kernels generated
};

/// The program that `infer` would run for the model, which has none yet, after all rewrites, with these settings and
/// batches of `settings.batch` images (0: as many as `infer` takes). UsageError where no engine takes the model, or the
/// engine runs no program. `tune`: kernels are chosen by measured times instead of predicted ones (program/tune.hpp),
/// and a note is added to `notes` if the calibration cannot be kept. Other notes say how code was generated.
CompiledProgram compiled_program(const Model& model, const EngineSettings& settings, bool tune, FileNotes& notes);

/// Makes `newer` the file's text, merged with what it has (program::merged_calibrations). Its directory is made if
/// there is none, and locked meanwhile, so that programs that tune at the same time lose no factors. Returns why it
/// could not; empty if the factors are kept.
std::string keep_calibration(const std::filesystem::path& file, const std::string& newer);

}  // namespace spdnn
