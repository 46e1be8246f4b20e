#pragma once

#include <functional>
#include <memory>

#include "engines/cuda/spmm/work_items.hpp"
#include "engines/engine.hpp"

namespace spdnn::cuda {

/// How a layer's work is shared out among warps.
struct ShareOut {
  std::function<WorkList(const CsrMatrix& weights)> list;
  Index cut_at = 0;     ///< rows of more terms are cut into pieces of that many, at most; 0: none is
  bool shared = false;  ///< the lists are of SharedRows
};

/// Our own layer-by-layer sparse-dense product for any network; see engine.cu.
std::unique_ptr<Engine> make_spmm_engine(std::shared_ptr<const Plan> plan, const EngineOptions& options,
                                         ShareOut share_out);
Support spmm_support(const Plan& plan, const BatchInfo& batch, const EngineOptions& options, const ShareOut& share_out);

}  // namespace spdnn::cuda
