#pragma once

#include <string>
#include <string_view>

#include "core/types/plan.hpp"

namespace spdnn {

/// For engines that need all layers in memory: the reason for their refusal if the layers are streamed; otherwise
/// empty.
std::string reason_not_to_stream(const Plan& plan, std::string_view variant);

}  // namespace spdnn
