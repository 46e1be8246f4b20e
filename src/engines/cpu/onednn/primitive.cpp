#include "engines/cpu/onednn/primitive.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "engines/cpu/onednn/signal_stack.hpp"
#include "program/predict.hpp"
#include "program/threads.hpp"

namespace spdnn::onednn {

namespace {

/// oneDNN's primitives open teams with the number of threads for which they were made.
class BoundPrimitive final : public program::Bound {
 public:
  explicit BoundPrimitive(Primitive primitive) : what_(std::move(primitive)), first_(what_.desc) {}

  void place(const program::Operands& at) override {
    with_onednn_errors([&] {
      at_ = at;
      first_.place(what_, at);
      if (other_) other_->place(what_, at);
    });
  }

  void follow_threads() override {
    if (omp_get_max_threads() == first_.threads || other_) return;
    try {
      const dnnl::primitive_desc_base found = what_.search();
      if (!computes_the_same(found)) return;
      other_.emplace(found);
      other_->place(what_, at_);
    } catch (const dnnl::error&) {
      other_.reset();
    }
  }

  void run() override {
    thread_local const SignalStack signal_stack;
    const bool others = other_ && omp_get_max_threads() == other_->threads;
    const Made& made = others ? *other_ : first_;
    const program::Threads threads(made.threads);  // some ask OpenMP when they run
    with_onednn_errors([&] {
      made.primitive.execute(stream_, made.arguments);
      stream_.wait();
    });
  }

 private:
  struct Made {
    explicit Made(const dnnl::primitive_desc_base& desc) : primitive(desc.get()), scratchpad(desc.scratchpad_desc()) {}

    void place(const Primitive& what, const program::Operands& at) {
      arguments.clear();
      const auto put = [&](const Primitive::Argument& argument, const std::byte* data) {
        // Inputs are not written to; oneDNN has no type that says so.
        arguments.emplace(argument.first, dnnl::memory(argument.second, cpu(), const_cast<std::byte*>(data)));
      };
      for (std::size_t i = 0; i < what.inputs.size(); ++i) put(what.inputs[i], at.inputs[i]);
      for (std::size_t i = 0; i < what.constants.size(); ++i) put(what.constants[i], at.constants[i]);
      put(what.output, at.output);
      if (at.scratch != nullptr) put({DNNL_ARG_SCRATCHPAD, scratchpad}, at.scratch);
    }

    int threads = omp_get_max_threads();
    dnnl::primitive primitive;
    Desc scratchpad;
    std::unordered_map<int, dnnl::memory> arguments;
  };

  /// Whether an implementation for another number of threads has the same operands and results, bit for bit. The
  /// threads of matrix products may share sums.
  bool computes_the_same(const dnnl::primitive_desc_base& other) const {
    const auto has = [&](const Primitive::Argument& argument) {
      return other.query_md(dnnl::query::exec_arg_md, argument.first) == argument.second;
    };
    return what_.name() == other.impl_info_str() && what_.name().find("gemm") == std::string::npos &&
           other.scratchpad_desc().get_size() <= what_.scratch() && has(what_.output) &&
           std::all_of(what_.inputs.begin(), what_.inputs.end(), has) &&
           std::all_of(what_.constants.begin(), what_.constants.end(), has);
  }

  Primitive what_;
  Made first_;
  std::optional<Made> other_;
  program::Operands at_;
  dnnl::stream stream_{cpu()};
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
  offer.detail = primitive.name();
  offer.scratch = primitive.scratch();
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
