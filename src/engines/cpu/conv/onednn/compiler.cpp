#include "engines/cpu/conv/onednn/compiler.hpp"

#include <algorithm>
#include <numeric>

#include "engines/cpu/conv/onednn/loops.hpp"
#include "model/graph/magnitudes.hpp"

namespace spdnn::onednn {

Dims dims_of(const Shape& shape) {
  Dims dims(shape.begin(), shape.end());
  if (dims.empty()) dims.push_back(1);
  if (dims.size() == 3) dims.insert(dims.begin() + 2, 1);
  return dims;
}

Dims dims_of(const std::array<Index, 2>& of_axes, Index less) {
  return {Extent{of_axes[0]} - less, Extent{of_axes[1]} - less};
}

Desc plain_desc(const Dims& dims, dnnl::memory::data_type type) {
  Dims strides(dims.size());
  dnnl::memory::dim stride = 1;
  for (std::size_t axis = dims.size(); axis-- > 0; stride *= std::max<dnnl::memory::dim>(dims[axis], 1))
    strides[axis] = stride;
  return {dims, type, strides};
}

dnnl::primitive_attr with_user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

Program compile(const Model& model, const Magnitudes& magnitudes, Extent images, const CompileOptions& options,
                const dnnl::engine& engine) {
  return Compiler(model, magnitudes, images, options, engine).compile();
}

Compiler::Compiler(const Model& model, const Magnitudes& magnitudes, Extent images, const CompileOptions& options,
                   const dnnl::engine& engine)
    : model_(model),
      magnitudes_(magnitudes),
      images_(images),
      type_(options.type),
      engine_(engine),
      sparse_for_(options.type == dnnl::memory::data_type::f32 ? options.sparse_for : 0),
      epilogues_(options.epilogues),
      forms_(model.values.size()),
      largest_(model.values.size()) {}

Program Compiler::compile() {
  const ValueId input = model_.inputs.front();
  made(input, new_operand(plain_desc(dims(input))));
  program_.buffers.back().kind = Buffer::Kind::input;
  largest_[input] = kLargestTrusted;  // which the engine looks at as it loads them
  for (std::size_t id = 0; id < largest_.size(); ++id)
    if (model_.values[id].constant) largest_[id] = magnitude_of(*model_.values[id].constant);
  for (const Step& step : steps_of(model_, epilogues_)) run(step);
  for (const ValueId output : model_.outputs) program_.outputs.push_back(plain(output));
  const auto keep = [&](const Operand& operand) {
    program_.buffers[operand.buffer].lifetime.last = program_.actions.size();
  };
  for (const Operand& output : program_.outputs) keep(output);
  for (const Watched& watched : program_.watched) keep(watched.beyond);

  std::vector<Lifetime> lifetimes;
  for (const Buffer& buffer : program_.buffers) {
    lifetimes.push_back(buffer.lifetime);
    if (buffer.kind == Buffer::Kind::constant) program_.constant_bytes += buffer.form.get_size();
    if (buffer.kind != Buffer::Kind::arena) lifetimes.back().bytes = 0;
  }
  program_.arena = lay_out(lifetimes);
  return std::move(program_);
}

std::size_t Compiler::new_buffer(std::size_t bytes) {
  const std::size_t now = program_.actions.size();
  program_.buffers.push_back({.lifetime = {bytes, now, now}});
  return program_.buffers.size() - 1;
}

Operand Compiler::constant(std::pair<Index, int> key, const Desc& plain, const Desc& form,
                           std::function<std::vector<float>()> values) {
  Operand operand = new_operand(form);
  Buffer& buffer = program_.buffers.back();
  buffer.kind = Buffer::Kind::constant;
  buffer.key = key;
  buffer.plain = plain;
  buffer.form = form;
  buffer.values = std::move(values);
  return operand;
}

Operand Compiler::as_made(ValueId value) {
  constexpr int kValue = -1;  // beside the parts of nodes
  if (forms_[value].empty()) {
    const Desc desc = plain_desc(dims(value));
    made(value, constant({value, kValue}, desc, desc, [&tensor = *model_.values[value].constant] {
           return std::vector<float>(tensor.values.begin(), tensor.values.end());
         }));
  }
  return forms_[value].front();
}

Operand Compiler::in_form(ValueId value, const Desc& form) {
  const Operand source = as_made(value);
  for (const Operand& operand : forms_[value])
    if (operand.desc == form) return operand;
  const dnnl::reorder::primitive_desc desc(engine_, source.desc, engine_, form);
  Operand operand = new_operand(form);
  act([desc] { return dnnl::reorder(desc); }, {{DNNL_ARG_FROM, source}, {DNNL_ARG_TO, operand}});
  made(value, operand);
  return operand;
}

void Compiler::act(Action action) {
  const std::size_t number = program_.actions.size();
  action.node = step_ == nullptr ? static_cast<Index>(model_.nodes.size() - 1) : step_->node;
  action.place = step_ == nullptr ? action.node : step_->last();
  for (const auto& [argument, operand] : action.arguments) {
    Lifetime& lifetime = program_.buffers[operand.buffer].lifetime;
    lifetime.last = std::max(lifetime.last, number);
  }
  program_.actions.push_back(std::move(action));
}

void Compiler::act(std::function<dnnl::primitive()> make, std::vector<std::pair<int, Operand>> arguments,
                   const Desc& scratchpad) {
  if (scratchpad.get_size() > 0) arguments.emplace_back(DNNL_ARG_SCRATCHPAD, new_operand(scratchpad));
  act({.make = std::move(make), .arguments = std::move(arguments)});
}

void Compiler::loop(const Node& node, std::function<void(std::span<float* const>)> work) {
  std::vector<std::pair<int, Operand>> arguments;
  for (const ValueId input : node.inputs) arguments.emplace_back(0, plain(input));
  const Operand output = new_operand(plain_desc(dims(node.output)));
  arguments.emplace_back(0, output);
  act({.loop = std::move(work), .arguments = std::move(arguments)});
  made(node.output, output);
}

void Compiler::run(const Step& step) {
  step_ = &step;
  fused_ = false;
  to_fuse_ = step.fused;
  watch_inputs(step);
  run_alone(step.node);
  if (!fused_)
    for (const Index node : step.fused) run_alone(node);
  watch_output(step);
  step_ = nullptr;
}

/// The largest number on the way through the step; notes how large its values can become.
double Compiler::largest_in(const Step& step) {
  double largest = 0;
  const auto take = [&](Index number) {
    const Node& node = model_.nodes[number];
    std::vector<double> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(largest_[input]);
    const Magnitude magnitude = magnitudes_.of(number, inputs);
    largest = std::max(largest, magnitude.inside);
    largest_[node.output] = magnitude.result;
  };
  take(step.node);
  for (const Index node : step.fused) take(node);
  return largest;
}

/// In models of many layers the bounds grow beyond every number. Before they do, a step's inputs are looked at, and
/// bounds begin anew. Where even small inputs leave too little room, as weights are huge, nothing is proven.
void Compiler::watch_inputs(const Step& step) {
  constexpr double kFewer = 0x1p-20;
  std::vector<ValueId> lowered;
  double limit = kLargestTrusted;
  for (; !(largest_in(step) <= kLargestSafe) && limit >= 1; limit *= kFewer) {
    lowered.clear();
    const auto lower = [&](Index number) {
      for (const ValueId input : model_.nodes[number].inputs) {
        if (forms_[input].empty() || model_.values[input].constant || largest_[input] < limit) continue;
        largest_[input] = limit;
        lowered.push_back(input);
      }
    };
    lower(step.node);
    for (const Index node : step.fused) lower(node);
  }
  for (const ValueId input : lowered) watch(input, largest_[input]);
  if (!(largest_in(step) <= kLargestSafe) && !program_.unproven) program_.unproven = step.node;
}

/// A quotient may be anything. As nothing is fused with it, what it is can be seen.
void Compiler::watch_output(const Step& step) {
  const ValueId output = model_.nodes[step.last()].output;
  if (largest_[output] <= kLargestSafe) return;
  largest_[output] = kLargestTrusted;
  watch(output, kLargestTrusted);
}

void Compiler::watch(ValueId value, double limit) {
  const Operand source = as_made(value);
  const Operand beyond = new_operand(plain_desc({1}));
  const std::size_t bytes = source.desc.get_size();
  const bool half = source.desc.data_type() == dnnl::memory::data_type::bf16;
  act({.loop = [=, most = static_cast<float>(limit)](
                   auto data) { *data[1] = loops::within(data[0], bytes, half, most) ? 0.F : 1.F; },
       .arguments = {{0, source}, {0, beyond}}});
  program_.watched.push_back({step_->node, beyond});
}

void Compiler::run_alone(Index number) {
  const Node& node = model_.nodes[number];
  std::visit([&](const auto& operation) { run(node, operation); }, node.operation);
}

}  // namespace spdnn::onednn
