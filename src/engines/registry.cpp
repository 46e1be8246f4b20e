#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engines/variant_lines.hpp"
#include "spdnn/error.hpp"

#ifdef SPDNN_WITH_CUDA
#define SPDNN_CUDA_VARIANT(name, description, ...) SPDNN_VARIANT(name, cuda, description, __VA_ARGS__)
#else
#define SPDNN_CUDA_VARIANT(name, description, ...)
#endif

namespace spdnn {

// variants.def is read three times: for the declarations, for the list, and for the names that other builds have.
#define SPDNN_VARIANT(name, device, description, ...) SPDNN_DECLARE_VARIANT(name)
#include "engines/variants.def"
#undef SPDNN_VARIANT

std::string_view to_string(Precision precision) {
  switch (precision) {
    case Precision::fp16:
      return "fp16";
    case Precision::tf32:
      return "tf32";
    case Precision::fp32:
      return "fp32";
    case Precision::bf16:
      return "bf16";
    case Precision::fp16_sums:
      return "fp16-sums";
    default:
      return "fp64";
  }
}

std::string_view to_string(Device device) { return device == Device::cpu ? "cpu" : "cuda"; }

const std::vector<Variant>& variants() {
  static const std::vector<Variant> all = {
#define SPDNN_VARIANT SPDNN_LIST_VARIANT
#include "engines/variants.def"
#undef SPDNN_VARIANT
  };
  return all;
}

#undef SPDNN_CUDA_VARIANT

namespace {

std::vector<std::string_view> cuda_variants() {
  return {
#define SPDNN_VARIANT(name, device, description, ...)
#define SPDNN_CUDA_VARIANT(name, description, ...) #name,
#include "engines/variants.def"
#undef SPDNN_CUDA_VARIANT
#undef SPDNN_VARIANT
  };
}

}  // namespace

const Variant& find_variant(std::string_view name) {
  const auto& all = variants();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Variant& v) { return v.name == name; });
  if (found != all.end()) return *found;
  const auto elsewhere = cuda_variants();
  if (std::find(elsewhere.begin(), elsewhere.end(), name) != elsewhere.end())
    throw Unsupported("'" + std::string(name) + "' needs CUDA, and this program is built without");
  std::string message = "'" + std::string(name) + "' is not a variant of this build; expected one of";
  for (const Variant& variant : all) message += " " + std::string(variant.name);
  throw UsageError(message);
}

BatchInfo batch_info(const ImageSet& images) { return {images.images(), images.binary(), images.is_bits()}; }

Support support_of(const Variant& variant, const Plan& plan, const BatchInfo& batch, const EngineOptions& options) {
  if (std::find(variant.precisions.begin(), variant.precisions.end(), options.precision) == variant.precisions.end())
    return {.why_not = fmt::format("{} does not compute in {}", variant.name, to_string(options.precision))};
  return variant.support(plan, batch, options);
}

std::unique_ptr<Engine> make_engine(const Variant& variant, std::shared_ptr<const Plan> plan, const BatchInfo& batch,
                                    const EngineOptions& options) {
  const Support support = support_of(variant, *plan, batch, options);
  if (!support.takes()) throw UsageError(support.why_not);
  return variant.make(std::move(plan), batch, options);
}

}  // namespace spdnn
