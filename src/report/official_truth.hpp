#pragma once

namespace spdnn {

/// The basis of a verdict on an official problem, in Verdict::against and in JSON lines: network and images were
/// identified as the official ones by their digests.
inline constexpr const char* kOfficialTruth = "the official category list's digest";

}  // namespace spdnn
