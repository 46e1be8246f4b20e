#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engines/cpu/conv/onednn/program.hpp"
#include "program/steps.hpp"

namespace spdnn::onednn {

/// What oneDNN would run: its forms of operands, and the primitive.
struct Kernel {
  Desc source;
  Desc weights;
  Desc destination;
  Desc scratchpad;
  std::string name;  ///< of the implementation
  std::function<dnnl::primitive()> make;

  /// Whether it is one of those that oneDNN has for completeness, slower than plain loops.
  bool plain_loops() const { return name.find("ref") != std::string::npos; }
};

/// A primitive's working memory is given to it with its arguments: it lies in the arena.
dnnl::primitive_attr with_user_scratchpad();

/// oneDNN's number of a function, with its two parameters; undef where it has none that is exactly the same.
struct EltwiseFunction {
  dnnl::algorithm algorithm = dnnl::algorithm::undef;
  float alpha = 0;
  float beta = 0;
};
/// Turns steps into actions, one after another, and knows in which forms each value is there.
class Compiler {
 public:
  Compiler(const Model& model, const Magnitudes& magnitudes, Extent images, const CompileOptions& options,
           const dnnl::engine& engine);
  Program compile();

 private:
  // Values and buffers (compiler.cpp).
  Dims dims(ValueId value) const { return dims_of(with_batch(model_.values[value].shape, images_)); }
  Shape shape(ValueId value) const { return with_batch(model_.values[value].shape, images_); }
  std::size_t new_buffer(std::size_t bytes);
  Operand new_operand(const Desc& desc) { return {new_buffer(desc.get_size()), desc}; }
  Operand constant(std::pair<Index, int> key, const Desc& plain, const Desc& form,
                   std::function<std::vector<float>()> values);
  /// The value in the form in which it was made.
  Operand as_made(ValueId value);
  Operand in_form(ValueId value, const Desc& form);
  Operand plain(ValueId value) { return in_form(value, plain_desc(dims(value))); }
  void made(ValueId value, const Operand& operand) { forms_[value].push_back(operand); }
  void act(Action action);
  void act(std::function<dnnl::primitive()> make, std::vector<std::pair<int, Operand>> arguments,
           const Desc& scratchpad = {});
  /// A loop over row-major fp32 data: its inputs' in their order, then the output's.
  void loop(const Node& node, std::function<void(std::span<float* const>)> work);
  void run(const Step& step);
  void run_alone(Index node);

  // Which values are looked at, so that all numbers are known to be finite.
  double largest_in(const Step& step);
  void watch_inputs(const Step& step);
  void watch_output(const Step& step);
  void watch(ValueId value, double limit);

  // Operations, each by oneDNN or by a loop (operations.cpp, weighted.cpp).
  void run(const Node& node, const Convolution& convolution);
  void run(const Node& node, const Linear& linear);
  void run(const Node& node, const BatchNorm& norm);
  void run(const Node& node, const Pool& pool);
  void run(const Node& node, const GlobalPool& pool);
  void run(const Node& node, const Activation& activation);
  void run(const Node& node, const Elementwise& both);
  void run(const Node& node, const Concat& concat);
  void run(const Node& node, const Softmax& softmax);
  void run(const Node& node, const Reshape& reshape);
  void run(const Node& node, const Transpose& transpose);
  void run(const Node& node, const Pad& pad);
  void run(const Node& node, const Resize& resize);
  void pass_on(const Node& node);
  bool pool_by_onednn(const Node& node, Pool::Kind kind, const Window& window, bool count_padding);
  bool scale_channels(const Node& node, Elementwise::Kind kind);
  bool elementwise_by_onednn(const Node& node, Elementwise::Kind kind);
  void run_sparse(const Node& node, const Linear& linear, Extent rows);

  // Convolutions and linear nodes with what is fused with them.
  using KernelFor = std::function<Kernel(const dnnl::primitive_attr&)>;
  /// `rows`: whether values are seen as matrices, all axes but the last being rows.
  void run_weighted(const Node& node, const CsrMatrix& weights, const std::vector<float>& bias,
                    const Desc& plain_weights, const KernelFor& kernel_for, bool rows);
  /// What a step does to a result before it is stored: a function, or the addition of a value.
  struct PostOperation {
    EltwiseFunction function{};
    std::optional<ValueId> added{};
  };
  /// Those of the nodes that are to be fused with the one that makes `result`.
  std::vector<PostOperation> post_operations(ValueId result) const;
  Operand seen(ValueId value, const Desc& form, bool rows);

  const Model& model_;
  const Magnitudes& magnitudes_;
  Extent images_;
  dnnl::memory::data_type type_;
  dnnl::engine engine_;
  Index sparse_for_;
  bool epilogues_;
  Program program_;
  std::vector<std::vector<Operand>> forms_;  ///< by value
  std::vector<double> largest_;  ///< by value, what its numbers cannot exceed as long as those watched do not
  const Step* step_ = nullptr;   ///< the one that is being compiled
  std::vector<Index> to_fuse_;   ///< nodes that the step's first node is to do as well
  bool fused_ = false;           ///< it did
};

EltwiseFunction function_of(const Activation& activation);

}  // namespace spdnn::onednn
