// The exports of the shared object; see engines/cpu/onednn_plugin.hpp.

#include "core/system/build_info.hpp"
#include "engines/cpu/onednn/primitive.hpp"
#include "engines/cpu/onednn_plugin.hpp"

namespace spdnn::onednn {

namespace {

/// Reorders; the padding of channel blocks becomes zero.
class ReorderKernel final : public program::Kernel {
 public:
  std::string_view name() const override { return "onednn_reorder"; }
  program::Offer change(const program::Change& change) const override {
    const bool has_bytes = is_bytes(change.from.type) || is_bytes(change.to.type);
    if (has_bytes && change.from.type != change.to.type) return {.why_not = "bytes of another scale"};
    return with_onednn_errors([&] {
      const Desc from = desc_of(change.shape, change.from);
      const Desc to = desc_of(change.shape, change.to);
      Primitive primitive([=] { return dnnl::reorder::primitive_desc(cpu(), from, cpu(), to); });
      primitive.inputs = {{DNNL_ARG_FROM, from}};
      primitive.output = {DNNL_ARG_TO, to};
      program::Offer offer = offer_of(primitive);
      offer.inputs = {change.from};
      offer.output = change.to;
      offer.seconds = pass_seconds(primitive, change.threads);
      return offer;
    });
  }
};

const program::Kernels& kernels() {
  static const OnednnKernel kernels[] = {
      {"onednn_convolution", convolution}, {"onednn_linear", linear},         {"onednn_int8", convolution_int8},
      {"onednn_int8_linear", linear_int8}, {"onednn_batch_norm", batch_norm}, {"onednn_pool", pool},
      {"onednn_pool", global_pool},        {"onednn_eltwise", eltwise},       {"onednn_binary", binary},
      {"onednn_concat", concat},           {"onednn_softmax", softmax},       {"onednn_resize", resize}};
  static const ReorderKernel reorders;
  static const program::Kernels all = [] {
    program::Kernels list = program::all_of(kernels);
    list.push_back(&reorders);
    return list;
  }();
  return all;
}

std::string why_not(Precision precision) {
  if (precision != Precision::bf16) return {};
  const auto isa = dnnl::get_effective_cpu_isa();
  const bool has = isa == dnnl::cpu_isa::avx512_core_bf16 || isa == dnnl::cpu_isa::avx512_core_amx;
  return has ? "" : "bf16 needs AVX512_BF16 or AMX, which this processor lacks";
}

}  // namespace

}  // namespace spdnn::onednn

extern "C" __attribute__((visibility("default"))) const SpdnnOnednnFunctions* spdnn_onednn_functions_2() {
  static const std::string build = spdnn::interface_text();
  static const SpdnnOnednnFunctions functions{build.c_str(), spdnn::onednn::why_not, spdnn::onednn::kernels};
  return &functions;
}
