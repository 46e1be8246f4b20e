// Values that are quantised to 8 bits: QuantizeLinear, and DequantizeLinear where the numbers go on in fp32.

#include "engines/cpu/plain/quantise.hpp"

#include "engines/cpu/plain/kernels.hpp"

namespace spdnn::plain {

namespace {

/// To int8 or uint8, or to the fp32 numbers that these stand for.
template <class Number>
void quantise_all(const ByteForm& given, const float* from, Number* to, Extent count) {
#pragma omp parallel for simd schedule(static) firstprivate(given)
  for (Extent i = 0; i < count; ++i) {
    const std::int32_t byte = byte_of(given, from[i]);
    if constexpr (sizeof(Number) == 1)
      to[i] = static_cast<Number>(byte);
    else
      to[i] = value_of(given, byte);
  }
}

}  // namespace

/// A quotient with the nodes that quantise it. The result is made in 8 bits or in fp32, by the layout.
std::vector<Offer> quantise(const Request& request, const Elementwise& both) {
  if (both.kind != Elementwise::Kind::divide || request.step.fused.empty() || !request.bytes) return {};
  const ByteForm form = *request.bytes;
  const Layout from = simple_layout(request.inputs[0]);
  const auto count = static_cast<Extent>(*elements(request.output_shape()));
  const auto offer_of = [&](ElementType type, auto loop) {
    Offer offer = pass(request, {from, kRows}, {from.order, type}, std::move(loop));
    offer.fused = true;
    return offer;
  };
  std::vector<Offer> offers;
  offers.push_back(offer_of(form.is_signed ? ElementType::s8 : ElementType::u8, [=](const Operands& at) {
    quantise_all(form, at.floats(0), reinterpret_cast<std::uint8_t*>(at.output), count);
  }));
  offers.push_back(
      offer_of(ElementType::fp32, [=](const Operands& at) { quantise_all(form, at.floats(0), at.results(), count); }));
  return offers;
}

}  // namespace spdnn::plain
