#include "cli/engine_choice.hpp"

#include <fmt/format.h>

#include "plan/choose.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cli {

namespace {

void check_device_name(const std::string& device) {
  if (device != "auto" && device != "cpu" && device != "cuda")
    throw UsageError(fmt::format("--device: '{}' is neither auto, cpu nor cuda", device));
}

std::vector<Variant> usable_variants(const std::string& device) {
  std::vector<Variant> usable;
  for (const Variant& variant : variants())
    if (device == "auto" || to_string(variant.device) == device) usable.push_back(variant);
  if (usable.empty()) throw UsageError("--device cuda: built without CUDA; make GPU=1");
  return usable;
}

}  // namespace

EngineChoice choose_engine(const std::string& variant, const std::string& device, const Plan& plan, Index images) {
  check_device_name(device);
  if (variant == "auto") {
    const VariantChoice choice = choose_variant(plan, images, usable_variants(device));
    return {&find_variant(choice.name), choice.why};
  }
  const Variant& named = find_variant(variant);
  if (device != "auto" && to_string(named.device) != device)
    throw UsageError(fmt::format("--variant {} does not run on --device {}", variant, device));
  return {&named, {}};
}

}  // namespace spdnn::cli
