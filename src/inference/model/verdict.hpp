#pragma once

#include "spdnn/model_report.hpp"

namespace spdnn {

/// The verdict of all comparisons: failed if one failed, otherwise passed if a comparison of all images passed and no
/// number may have overflowed. A sample proves nothing about the other images: as with networks, it fails or leaves the
/// run unverified.
Judgement verdict_of(const ModelReport& report);

}  // namespace spdnn
