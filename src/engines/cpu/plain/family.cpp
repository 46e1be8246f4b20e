#include "program/family.hpp"

#include "engines/cpu/plain/kernels.hpp"
#include "program/predict.hpp"

namespace spdnn {

SPDNN_DECLARE_KERNELS(plain)

namespace plain {

Layout simple_layout(const program::Input& input) {
  const Layout made = input.layouts.front();
  const bool simple = made.order == Order::rows || made.order == Order::nhwc;
  return simple && made.type == ElementType::fp32 ? made : kRows;
}

Offer pass(const Request& request, std::vector<Layout> inputs, Layout output,
           std::function<void(const Operands&)> loop) {
  Offer offer;
  std::size_t bytes = program::bytes_of(output, request.output_shape());
  for (std::size_t i = 0; i < inputs.size(); ++i) bytes += program::bytes_of(inputs[i], request.inputs[i].shape);
  offer.seconds = program::pass_seconds(bytes, request.threads);
  offer.inputs = std::move(inputs);
  offer.output = output;
  offer.bind = [loop = std::move(loop)] { return program::bound(loop); };
  return offer;
}

namespace {

class PlainChange final : public program::Kernel {
 public:
  std::string_view name() const override { return "plain_change"; }
  Offer change(const Change& change) const override { return plain::change(change); }
};

}  // namespace

}  // namespace plain

program::FamilyKernels kernels_plain(Precision /*precision*/) {
  static const program::OperationKernel kernels[] = {{"plain_convolution", plain::convolution},
                                                     {"plain_linear", plain::linear},
                                                     {"plain_activation", plain::activation},
                                                     {"plain_batch_norm", plain::batch_norm},
                                                     {"plain_channel_factors", plain::channel_factors},
                                                     {"plain_elementwise", plain::elementwise},
                                                     {"plain_quantise", plain::quantise},
                                                     {"plain_softmax", plain::softmax},
                                                     {"plain_matrix_product", plain::matrix_product},
                                                     {"plain_reduction", plain::reduction},
                                                     {"plain_pool", plain::pool},
                                                     {"plain_global_pool", plain::global_pool},
                                                     {"plain_concat", plain::concat},
                                                     {"plain_transpose", plain::transpose},
                                                     {"plain_pad", plain::pad},
                                                     {"plain_resize", plain::resize}};
  static const plain::PlainChange changes;
  program::FamilyKernels family{.kernels = program::all_of(kernels)};
  family.kernels.push_back(&changes);
  return family;
}

}  // namespace spdnn
