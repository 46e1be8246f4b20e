#pragma once

#include "engines/model_engine.hpp"
#include "model/graph/magnitudes.hpp"
#include "program/compile.hpp"
#include "program/parts.hpp"

// From an engine's options to a program. `target` is null if all kernels run on the host.

namespace spdnn::program {

/// A batch of that many images. The images and threads of a program are those of a part.
Parts parts_for(const Model& model, const ModelEngineOptions& options, Index batch, const Target* target);

/// For a whole batch.
CompileOptions compile_options(const Model& model, const ModelEngineOptions& options, const Kernels& kernels,
                               Target* target);

}  // namespace spdnn::program
