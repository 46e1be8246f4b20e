#pragma once

#include <fmt/format.h>
#include <omp.h>

#include <functional>
#include <new>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engines/cpu/onednn/forms.hpp"
#include "program/operation_kernel.hpp"
#include "spdnn/error.hpp"

namespace spdnn::onednn {

/// Converts oneDNN's exceptions to the program's errors.
template <class Work>
auto with_onednn_errors(const Work& work) {
  try {
    return work();
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
    throw DeviceError(fmt::format("oneDNN: {}", error.what()));
  }
}

/// The only engine, which everything made with it needs.
const dnnl::engine& cpu();

/// A primitive's working memory is given to it with its arguments: it lies in the arena.
dnnl::primitive_attr with_user_scratchpad();

/// oneDNN's implementation of an operation, for OpenMP's current number of threads. Its search takes longer than all
/// else of planning a small node, and equal nodes ask for the same implementation, as does a node for each layout of
/// its input: what was found is kept. `besides` tells apart what `search` has in its attributes.
template <class Forward, class Search>
typename Forward::primitive_desc found(const typename Forward::desc& of, const std::string& besides,
                                       const Search& search) {
  constexpr std::size_t kMost = 1024;
  thread_local std::unordered_map<std::string, typename Forward::primitive_desc> all;
  const std::string text =
      fmt::format("{} {}{}", omp_get_max_threads(),
                  std::string_view(reinterpret_cast<const char*>(&of.data), sizeof of.data), besides);
  if (const auto known = all.find(text); known != all.end()) return known->second;
  if (all.size() >= kMost) all.clear();
  return all.try_emplace(text, search()).first->second;
}
template <class Forward>
typename Forward::primitive_desc found(const typename Forward::desc& of) {
  return found<Forward>(of, {}, [&] { return typename Forward::primitive_desc(of, with_user_scratchpad(), cpu()); });
}

/// A primitive that could be made, and its arguments: oneDNN's numbers of them and their forms.
struct Primitive {
  using Argument = std::pair<int, Desc>;

  /// `search` finds oneDNN's implementation for OpenMP's current number of threads.
  template <class Search>
  explicit Primitive(Search search_now) : search(std::move(search_now)), desc(search()) {}

  /// An argument in the form that the implementation has for it.
  Argument argument(int number) const { return {number, desc.query_md(dnnl::query::exec_arg_md, number)}; }
  std::string name() const { return desc.impl_info_str(); }  ///< of the implementation
  std::size_t scratch() const { return desc.scratchpad_desc().get_size(); }

  std::function<dnnl::primitive_desc_base()> search;
  dnnl::primitive_desc_base desc;
  std::vector<Argument> inputs{};
  Argument output{};
  std::vector<Argument> constants{};
};

/// A constant of the node in oneDNN's form, from row-major fp32 values.
program::Constant constant_of(int part, const Desc& plain, const Desc& form,
                              std::function<std::vector<float>()> values);

/// The offer of a primitive: all but layouts, constants and seconds.
program::Offer offer_of(const Primitive& primitive);

/// Seconds of a pass over the operands.
double pass_seconds(const Primitive& primitive, int threads);

/// A kernel of one operation, whose node oneDNN may refuse.
class OnednnKernel final : public program::Kernel {
 public:
  template <class Operation>
  OnednnKernel(std::string_view name,
               std::vector<program::Offer> (*offers_for)(const program::Request&, const Operation&))
      : kernel_(name, offers_for) {}
  std::string_view name() const override { return kernel_.name(); }
  std::vector<program::Offer> offers(const program::Request& request) const override;

 private:
  program::OperationKernel kernel_;
};

// The offers of the kernels, by file.
using Offers = std::vector<program::Offer>;
Offers convolution(const program::Request& request, const Convolution& convolution);  // weighted.cpp
Offers linear(const program::Request& request, const Linear& linear);
Offers convolution_int8(const program::Request& request, const Convolution& convolution);
Offers linear_int8(const program::Request& request, const Linear& linear);
Offers batch_norm(const program::Request& request, const BatchNorm& norm);  // operations.cpp
Offers pool(const program::Request& request, const Pool& pool);
Offers global_pool(const program::Request& request, const GlobalPool& pool);
Offers eltwise(const program::Request& request, const Activation& activation);
Offers binary(const program::Request& request, const Elementwise& both);
Offers softmax(const program::Request& request, const Softmax& softmax);
Offers concat(const program::Request& request, const Concat& concat);
Offers resize(const program::Request& request, const Resize& resize);

/// oneDNN's number of a function, with its two parameters; undef if it has none with exactly the same definition.
struct EltwiseFunction {
  dnnl::algorithm algorithm = dnnl::algorithm::undef;
  float alpha = 0;
  float beta = 0;
};
EltwiseFunction function_of(const Activation& activation);

}  // namespace spdnn::onednn
