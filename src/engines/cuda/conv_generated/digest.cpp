// The digest by which a layer's machine code is kept.

#include <fmt/format.h>
#include <xxhash.h>

#include <span>

#include "engines/cuda/conv_generated/generated.hpp"

namespace spdnn::cuda {

namespace {

template <class T>
std::string hash_text(std::span<const T> values) {
  const XXH128_hash_t hash = XXH3_128bits(values.data(), values.size_bytes());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

/// Changes with the generator: a hash of the code of a small layer.
std::string code_version() {
  static const std::string version = [] {
    const Window window{.kernel = {3, 2}, .stride = {2, 2}, .pad_begin = {1, 1}};
    const DirectShape shape = direct_shape({{1, 2, 5, 9}, {1, 2, 3, 5}, 1, window});
    const CsrMatrix weights = make_csr(2, 12, {0, 2, 3}, {1, 7, 4}, {0.5F, 0.25F, 2});
    const GeneratedTiling tiling{.tile = {2, 2}, .read = {5, 4}, .channels = 1, .chunks = 2, .stages = 2, .kernels = 1};
    using Kind = Function::Kind;
    const std::vector<Function> functions{{Kind::clip, 0, 6}, {Kind::leaky, 2}, {Kind::line, 2, 1}, {Kind::addition}};
    std::string code;
    for (const bool in_halves : {false, true})
      code += generated_code({shape, tiling, weights, nullptr, functions, in_halves}, {0, 1});
    return hash_text(std::span<const char>(code));
  }();
  return version;
}

}  // namespace

std::string digest_of(const GeneratedLayer& layer, const std::string& compiler, const std::string& arch) {
  const auto& [shape, tiling, weights, bias, functions, in_halves] = layer;
  std::string text = fmt::format("{} {} {}\n", code_version(), compiler, arch);
  for (const Index number : {shape.channels,
                             shape.filters,
                             shape.in[0],
                             shape.in[1],
                             shape.out[0],
                             shape.out[1],
                             shape.kernel[0],
                             shape.kernel[1],
                             shape.stride[0],
                             shape.stride[1],
                             shape.dilation[0],
                             shape.dilation[1],
                             shape.pad[0],
                             shape.pad[1],
                             tiling.steps[0],
                             tiling.steps[1],
                             tiling.tile[0],
                             tiling.tile[1],
                             tiling.channels,
                             tiling.stages,
                             tiling.kernels,
                             Index{tiling.streams},
                             Index{tiling.one_polls},
                             Index{in_halves}})
    text += fmt::format("{} ", number);
  for (const Function& function : functions)
    text += fmt::format("{} {} {}, ", static_cast<int>(function.kind), function.a, function.b);
  text += hash_text(weights.offsets.span()) + hash_text(weights.indices.span()) + hash_text(weights.values.span());
  // Where each entry has a value of its own, the field for all of them says nothing, and readers fill it differently.
  text += fmt::format(" {} ", weights.uniform() ? weights.value : 0.0F);
  text += hash_text(std::span<const float>(bias, bias == nullptr ? 0 : weights.rows));
  return hash_text(std::span<const char>(text));
}

}  // namespace spdnn::cuda
