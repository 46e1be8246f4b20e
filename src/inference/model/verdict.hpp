#pragma once

#include "spdnn/model_report.hpp"

namespace spdnn {

/// The verdict by all comparisons: failed where one failed, else passed where one of all images passed and no number
/// may have overflowed. A sample proves nothing of the other images: as with networks, it fails or leaves the run
/// unverified.
ModelVerdict verdict_of(const ModelReport& report);

}  // namespace spdnn
