#include "engines/cpu/onednn/operands.hpp"

#include <cmath>
#include <optional>
#include <utility>

#include "model/graph/whole_weights.hpp"

namespace spdnn::onednn {

namespace {

/// Dense rows of the numbers, as fp32.
std::vector<float> dense_numbers(const CsrMatrix& weights, const std::vector<std::int32_t>& numbers, Index first_row,
                                 Index end_row) {
  std::vector<float> dense(std::size_t{end_row - first_row} * weights.cols);
  for (Index row = first_row; row < end_row; ++row)
    for (Offset k = weights.offsets[row]; k < weights.offsets[row + 1]; ++k)
      dense[std::size_t{row - first_row} * weights.cols + weights.indices[k]] = static_cast<float>(numbers[k]);
  return dense;
}

/// What the processor's products in int8 are: exact, and times as fast as those of fp32. Without VNNI oneDNN adds up
/// pairs of products of an unsigned and a signed 8-bit number in 16 bits, which saturate.
struct ByteProducts {
  bool exact;
  double speed;
};
ByteProducts byte_products() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::avx512_core_amx:
      return {true, 8};  // measured on 13 layers of ResNet-50, one thread: 7.9
    case dnnl::cpu_isa::avx512_core_bf16:
    case dnnl::cpu_isa::avx512_core_vnni:
      return {true, 3.5};
    case dnnl::cpu_isa::avx2_vnni:
      return {true, 3};
    default:
      return {false, 2};  // likewise on a Zen 3: 2.2
  }
}

}  // namespace

Operands in_type(program::ElementType of, const CsrMatrix& weights) {
  const dnnl::memory::data_type type = type_of(of);
  return {type, type, type, [&weights](Index first, Index end) { return dense_rows(weights, first, end); }};
}

std::variant<std::monostate, std::string, Operands> in_bytes(const program::Request& request, const CsrMatrix& weights,
                                                             const std::vector<float>& bias) {
  const std::optional<ByteForm>& input = request.inputs[0].bytes;
  if (request.type != program::ElementType::fp32 || !input) return {};
  if (input->is_signed) return "its input is signed";
  if (input->zero != 0) return "the zero point of its input is not 0";
  if (std::string why_not = why_not_exact(weights); !why_not.empty()) return why_not;
  const auto whole = whole_weights(request.known, weights);
  if (whole == nullptr || !whole->in_bytes) return "its weights are not int8 numbers times a scale for each row";
  const ByteProducts products = byte_products();
  if (!products.exact && !pairs_fit(weights, *whole))
    return "oneDNN's sums would saturate at 16 bits, as the processor lacks VNNI";
  std::vector<float> scales = whole->scales;
  if (!scale_sums(scales, input->scale)) return "the product of two scales is no normal number of fp32";
  for (std::size_t i = 0; i < bias.size(); ++i)
    if (!std::isfinite(bias[i] / scales[i])) return "a bias divided by its scale exceeds fp32";
  return Operands{
      .source = dnnl::memory::data_type::u8,
      .weights = dnnl::memory::data_type::s8,
      .result = dnnl::memory::data_type::f32,
      .dense_weights = [&weights, whole](Index first,
                                         Index end) { return dense_numbers(weights, whole->numbers, first, end); },
      .scales = std::move(scales),
      .speed = products.speed};
}

}  // namespace spdnn::onednn
