#include "engines/cpu/onednn/primitive.hpp"

#include <unordered_map>

#include "engines/cpu/onednn/signal_stack.hpp"
#include "program/predict.hpp"

namespace spdnn::onednn {

namespace {

class BoundPrimitive final : public program::Bound {
 public:
  explicit BoundPrimitive(Primitive primitive) : what_(std::move(primitive)), primitive_(what_.make()) {}

  void place(const program::Operands& at) override {
    with_onednn_errors([&] {
      arguments_.clear();
      const auto put = [&](const Primitive::Argument& argument, const std::byte* data) {
        // Inputs are not written to; oneDNN has no type that says so.
        arguments_.emplace(argument.first, dnnl::memory(argument.second, engine_, const_cast<std::byte*>(data)));
      };
      for (std::size_t i = 0; i < what_.inputs.size(); ++i) put(what_.inputs[i], at.inputs[i]);
      for (std::size_t i = 0; i < what_.constants.size(); ++i) put(what_.constants[i], at.constants[i]);
      put(what_.output, at.output);
      if (at.scratch != nullptr) put({DNNL_ARG_SCRATCHPAD, what_.scratchpad}, at.scratch);
    });
  }

  void run() override {
    thread_local const SignalStack signal_stack;
    with_onednn_errors([&] {
      primitive_.execute(stream_, arguments_);
      stream_.wait();
    });
  }

 private:
  Primitive what_;
  dnnl::engine engine_ = cpu();
  dnnl::stream stream_{engine_};
  dnnl::primitive primitive_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

}  // namespace

std::vector<program::Offer> OnednnKernel::offers(const program::Request& request) const {
  return with_onednn_errors([&]() -> std::vector<program::Offer> {
    try {
      return kernel_.offers(request);
    } catch (const dnnl::error& error) {
      if (error.status != dnnl_unimplemented) throw;
      return {{.why_not = "oneDNN does not support it"}};
    }
  });
}

const dnnl::engine& cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::primitive_attr with_user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

program::Constant constant_of(int part, const Desc& plain, const Desc& form,
                              std::function<std::vector<float>()> values) {
  return {part, form_text(form), form.get_size(), [=](std::byte* to) {
            with_onednn_errors([&] {
              std::vector<float> source = values();
              dnnl::stream stream(cpu());
              dnnl::memory from(plain, cpu(), source.data());
              dnnl::memory made(form, cpu(), to);
              dnnl::reorder(from, made).execute(stream, from, made);
              stream.wait();
            });
          }};
}

program::Offer offer_of(const Primitive& primitive) {
  program::Offer offer;
  offer.detail = primitive.name;
  offer.scratch = primitive.scratchpad.get_size();
  offer.bind = [primitive]() -> std::unique_ptr<program::Bound> {
    return with_onednn_errors([&] { return std::make_unique<BoundPrimitive>(primitive); });
  };
  return offer;
}

double pass_seconds(const Primitive& primitive, int threads) {
  std::size_t bytes = primitive.output.second.get_size();
  for (const auto& [number, desc] : primitive.inputs) bytes += desc.get_size();
  return program::pass_seconds(bytes, threads);
}

}  // namespace spdnn::onednn
