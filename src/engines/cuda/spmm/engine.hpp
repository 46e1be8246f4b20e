#pragma once

#include <functional>
#include <memory>

#include "engines/cuda/spmm/work_items.hpp"
#include "spdnn/engine.hpp"

namespace spdnn::cuda {

/// How a layer's work is shared out among warps.
using ShareOut = std::function<WorkList(const CsrMatrix& weights)>;

/// Our own layer-by-layer sparse-dense product for any network; see engine.cu.
std::unique_ptr<Engine> make_spmm_engine(std::shared_ptr<const Plan> plan, const EngineOptions& options,
                                         const ShareOut& share_out);
Support spmm_support(const Plan& plan, const BatchInfo& batch, const EngineOptions& options);

}  // namespace spdnn::cuda
