#include <algorithm>
#include <string>

#include "spdnn/engine.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

#define SPDNN_VARIANT(name, device, description, ...)                                  \
  std::unique_ptr<Engine> make_##name(const Plan& plan, const EngineOptions& options); \
  std::size_t working_bytes_##name(const Plan& plan, const EngineOptions& options, Index images);
#include "engines/variants.def"
#undef SPDNN_VARIANT

std::string_view to_string(Precision precision) {
  switch (precision) {
    case Precision::fp16:
      return "fp16";
    case Precision::fp32:
      return "fp32";
    default:
      return "fp64";
  }
}

std::string_view to_string(Device device) { return device == Device::cpu ? "cpu" : "cuda"; }

const std::vector<Variant>& variants() {
  static const std::vector<Variant> all = {
#define SPDNN_VARIANT(name, device, description, ...) \
  {#name, Device::device, description, {__VA_ARGS__}, make_##name, working_bytes_##name},
#include "engines/variants.def"
#undef SPDNN_VARIANT
  };
  return all;
}

const Variant& find_variant(std::string_view name) {
  const auto& all = variants();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Variant& v) { return v.name == name; });
  if (found != all.end()) return *found;
  std::string message = "'" + std::string(name) + "' is no variant of this build; expected one of";
  for (const Variant& variant : all) message += " " + std::string(variant.name);
  throw UsageError(message);
}

}  // namespace spdnn
