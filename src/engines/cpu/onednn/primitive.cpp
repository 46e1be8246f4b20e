#include "engines/cpu/onednn/primitive.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "engines/cpu/onednn/signal_stack.hpp"
#include "program/predict.hpp"
#include "program/threads.hpp"

namespace spdnn::onednn {

namespace {

/// Equal descriptors share a primitive as long as it is in use.
std::shared_ptr<const dnnl::primitive> primitive_for(const dnnl::primitive_desc_base& desc) {
  struct Made {
    dnnl::primitive_desc_base desc;  // so that no other has its address
    dnnl::primitive primitive;
  };
  static std::mutex mutex;
  static std::map<const_dnnl_primitive_desc_t, std::weak_ptr<const Made>> all;
  const std::lock_guard lock(mutex);
  std::shared_ptr<const Made> made = all[desc.get()].lock();
  if (made == nullptr) {
    made = std::make_shared<const Made>(Made{desc, dnnl::primitive(desc.get())});
    std::erase_if(all, [](const auto& one) { return one.second.expired(); });
    all[desc.get()] = made;
  }
  return {made, &made->primitive};
}

/// oneDNN's primitives open teams with the number of threads for which they were made.
class BoundPrimitive final : public program::Bound {
 public:
  explicit BoundPrimitive(Primitive primitive)
      : what_(std::move(primitive)), first_(what_.desc), may_follow_(!shares_sums(what_.name())) {}

  void place(const program::Operands& at) override {
    with_onednn_errors([&] {
      at_ = at;
      first_.place(what_, at);
      if (other_) other_->place(what_, at);
    });
  }

  void follow_threads() override {
    if (!may_follow_ || omp_get_max_threads() == first_.threads || other_) return;
    try {
      const dnnl::primitive_desc_base found = what_.search();
      may_follow_ = has_same_operands(found);
      if (!may_follow_) return;
      other_.emplace(found);
      other_->place(what_, at_);
    } catch (const dnnl::error&) {
      other_.reset();
      may_follow_ = false;
    }
  }

  void run() override {
    thread_local const SignalStack signal_stack;
    const Made& made = other_ && omp_get_max_threads() == other_->threads ? *other_ : first_;
    const program::Threads threads(made.threads);  // some ask OpenMP when they run
    with_onednn_errors([&] {
      made.primitive->execute(stream_, made.arguments);
      stream_.wait();
    });
  }

 private:
  struct Made {
    explicit Made(const dnnl::primitive_desc_base& desc)
        : primitive(primitive_for(desc)), scratchpad(desc.scratchpad_desc()) {}

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
    std::shared_ptr<const dnnl::primitive> primitive;
    Desc scratchpad;
    std::unordered_map<int, dnnl::memory> arguments;
  };

  /// Whether the order in which an implementation adds products may depend on the number of threads: that of products
  /// of matrices, and of convolutions that consist of such (brgconv).
  static bool shares_sums(const std::string& name) { return name.starts_with("brg") || name.find("gemm") != name.npos; }

  bool has_same_operands(const dnnl::primitive_desc_base& other) const {
    const auto has = [&](const Primitive::Argument& argument) {
      return other.query_md(dnnl::query::exec_arg_md, argument.first) == argument.second;
    };
    return what_.name() == other.impl_info_str() && other.scratchpad_desc().get_size() <= what_.scratch() &&
           has(what_.output) && std::all_of(what_.inputs.begin(), what_.inputs.end(), has) &&
           std::all_of(what_.constants.begin(), what_.constants.end(), has);
  }

  Primitive what_;
  Made first_;
  std::optional<Made> other_;
  bool may_follow_;
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
  static const dnnl::engine engine = [] {
    // In oneDNN 2.6 descriptors from its cache point into others that may be gone (brgemm_t::attr): a primitive that is
    // made of one after its own has left the cache is wrong.
    dnnl::set_primitive_cache_capacity(0);
    return dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
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
