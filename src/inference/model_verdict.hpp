#pragma once

#include "spdnn/model_report.hpp"

namespace spdnn {

/// The verdict by all comparisons: failed where one failed, else passed where one passed.
ModelVerdict verdict_of(const ModelReport& report);

}  // namespace spdnn
