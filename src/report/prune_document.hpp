#pragma once

#include "report/document.hpp"
#include "report/prune_report.hpp"

namespace spdnn {

/// A page about a pruned model: what was lost, zeros and times by layer before and after, and the trials of a search.
Document prune_document(const PruneReport& report);

}  // namespace spdnn
