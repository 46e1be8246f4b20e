#pragma once

namespace spdnn {

/// What a verdict on an official problem rests on, in Verdict::against and so in JSON lines: network and images were
/// the official ones, by their digests.
inline constexpr const char* kOfficialTruth = "the official category list's digest";

}  // namespace spdnn
