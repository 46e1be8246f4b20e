#pragma once

#include <functional>
#include <memory>

#include "engines/cuda/spmm/work_items.hpp"
#include "spdnn/engine.hpp"

namespace spdnn::cuda {

/// How a layer's work is shared out among warps.
using ShareOut = std::function<WorkList(const CsrMatrix& weights)>;

/// Our own layer-by-layer sparse-dense product for any network; see engine.cu.
std::unique_ptr<Engine> make_spmm_engine(Plan plan, const EngineOptions& options, const ShareOut& share_out);
std::size_t spmm_engine_bytes(const Plan& plan, const EngineOptions& options, Index images, const ShareOut& share_out);

}  // namespace spdnn::cuda
