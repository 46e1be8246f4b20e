#include "program/kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/text/amounts.hpp"

namespace spdnn::program {

namespace {

class BoundFunction final : public Bound {
 public:
  explicit BoundFunction(std::function<void(const Operands&)> run) : run_(std::move(run)) {}
  void place(const Operands& operands) override { operands_ = operands; }
  void run() override { run_(operands_); }

 private:
  std::function<void(const Operands&)> run_;
  Operands operands_;
};

}  // namespace

std::string text(const std::vector<Prepared>& all) {
  std::size_t codes = 0;
  std::size_t others = 0;
  std::size_t from[3]{};  // by Prepared::Source
  Prepared sum;
  for (const Prepared& one : all) {
    if (one.code_bytes == 0) continue;
    ++codes;
    ++from[static_cast<std::size_t>(one.source)];
    if (one.model_has_others) ++others;
    sum.model_images = std::max(sum.model_images, one.model_images);
    sum.code_bytes += one.code_bytes;
    sum.compile_seconds += one.compile_seconds;
  }
  if (codes == 0) return {};
  std::string text =
      fmt::format("{} of generated code for {}", bytes_text(sum.code_bytes), counted(codes, "node", "nodes"));
  const std::string sources[] = {fmt::format("compiled in {:.1f} s of processor time", sum.compile_seconds),
                                 "from the cache directory", "from the model"};
  for (std::size_t i = 0; i < std::size(from); ++i) {
    if (from[i] == codes) text += ", " + sources[i];
    if (from[i] > 0 && from[i] < codes) text += fmt::format("; that of {} {}", from[i], sources[i]);
  }
  if (others > 0)
    text += fmt::format(
        "; the model's code{}{} is for another device, batch, precision or version of spdnn or the compiler",
        others == codes ? "" : fmt::format(" of {}", others),
        sum.model_images == 0 ? "" : fmt::format(", for batches of {},", sum.model_images));
  return text;
}

std::unique_ptr<Bound> bound(std::function<void(const Operands&)> run) {
  return std::make_unique<BoundFunction>(std::move(run));
}

std::string why_unsound(const Request& request, const Offer& offer) {
  const std::size_t expected = offer.fused ? request.inputs.size() : request.own_inputs();
  if (offer.inputs.size() != expected)
    return fmt::format("offers layouts of {} inputs, expected {}", offer.inputs.size(), expected);
  for (std::size_t i = 0; i < expected; ++i)
    if (!fits(offer.inputs[i].order, request.inputs[i].shape))
      return fmt::format("wants input {} of {} as {}", i, shape_text(request.inputs[i].shape), text(offer.inputs[i]));
  if (!fits(offer.output.order, request.output_shape()))
    return fmt::format("makes an output of {} as {}", shape_text(request.output_shape()), text(offer.output));
  if (!offer.bind) return "cannot be bound";
  return {};
}

}  // namespace spdnn::program
