#include "program/compile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "model/graph/node_text.hpp"
#include "model/graph/whole_weights.hpp"
#include "program/overflow_guard.hpp"
#include "program/path.hpp"
#include "program/program_builder.hpp"
#include "program/request.hpp"
#include "program/within.hpp"

namespace spdnn::program {

namespace {

/// On a device, a path whose predicted time is not below this share of that of choices made step by step is not
/// followed. On the host it always is: vgg8 at 95 % zeros takes 5 % less time on a Xeon by one that is to save 0.5 %.
constexpr double kWorthwhileOnDevice = 0.99;

/// The largest number of fp16. Kernels make NaN of greater ones, which all of fp16 keep.
constexpr float kLargestOfHalves = 65504;

/// Bytes of values on a device that are kept, to be looked at together.
constexpr std::size_t kKeptBytes = std::size_t{64} << 20U;

/// Turns steps into actions, one after another, and tracks the layouts in which each value exists.
class Compiler {
 public:
  Compiler(const Model& model, const Magnitudes& magnitudes, Extent images, const CompileOptions& options)
      : model_(model),
        images_(images),
        options_(options),
        forms_(byte_forms_of(model)),
        guard_(model, magnitudes),
        builder_(images),
        program_(builder_.program()),
        places_(model.values.size()) {}

  Program compile() {
    const ValueId input = model_.inputs.front();
    for (const Layout& layout : layouts_of_images(options_)) {
      places_[input].push_back(builder_.new_operand(layout, shape(input)));
      program_.buffers.back().kind = Buffer::Kind::input;
    }
    for (const Step& step : steps_of(model_, options_.epilogues)) run(step);
    builder_.begin({static_cast<Index>(model_.nodes.size() - 1), {}});
    look_at_kept();
    for (const ValueId output : model_.outputs) program_.outputs.push_back(in_layout(output, kRows));
    for (Watched& watched : program_.watched) bring_to_host(watched);
    for (const Operand& output : program_.outputs) builder_.keep(output);
    for (const Watched& watched : program_.watched) builder_.keep(watched.beyond);
    program_.unproven = guard_.unproven();
    return builder_.finished();
  }

 private:
  Shape shape(ValueId value) const { return with_batch(model_.values[value].shape, images_); }

  // ---- Values ----

  /// The value in the layout in which it was made; constants of the model are row-major.
  Operand as_made(ValueId value) {
    constexpr int kValue = -1;  // beside the parts of nodes
    if (places_[value].empty()) {
      const Tensor& tensor = *model_.values[value].constant;
      Constant constant{kValue, "rows", bytes_of(kRows, tensor.shape),
                        [&tensor](std::byte* to) { std::memcpy(to, tensor.values.data(), tensor.values.bytes()); }};
      places_[value].push_back({builder_.new_constant(value, std::move(constant)), kRows});
    }
    return places_[value].front();
  }

  Operand in_layout(ValueId value, const Layout& layout) {
    as_made(value);
    std::vector<Layout> layouts;
    for (const Operand& operand : places_[value]) layouts.push_back(operand.layout);
    const auto in = [&](const Layout& one) {
      return std::find(layouts.begin(), layouts.end(), one) - layouts.begin() + places_[value].begin();
    };
    if (const auto found = in(layout); found != places_[value].end()) return *found;
    const Operand source = *in(source_of_change(layouts, layout));
    places_[value].push_back(changed(source, {shape(value), source.layout, layout, options_.threads, forms_[value]}));
    return places_[value].back();
  }

  Operand changed(const Operand& source, const Change& change) {
    auto [kernel, offer, remarks, others] =
        options_.change_chooser ? options_.change_chooser(change) : choose_change(options_.kernels, change);
    const Operand operand = builder_.new_operand(change.to, change.shape);
    Action action{.kind = Action::Kind::change, .kernel = std::string(kernel->name()), .inputs = {source}};
    action.detail = std::move(offer.detail);
    action.seconds = offer.seconds;
    action.scratch = builder_.new_scratch(offer);
    action.output = operand;
    action.bind = std::move(offer.bind);
    builder_.add(std::move(action));
    if (change.from.type == ElementType::fp16)
      watch(operand, change.shape, kLargestOfHalves, first_in_halves_.value_or(builder_.current().node));
    return operand;
  }

  // ---- Steps ----

  void run(const Step& step) {
    builder_.begin(step);
    for (const OverflowGuard::Look& look : guard_.before(step, [&](ValueId id) { return !places_[id].empty(); }))
      watch(look);
    if (!run_chosen(step))
      for (const Index node : step.fused) run_chosen({node, {}});
    if (const auto look = guard_.after(step)) watch(*look);
  }

  Request request_for(const Step& step) {
    LayoutsOfValues there;
    const auto add = [&](Index node) {
      for (const ValueId value : model_.nodes[node].inputs) {
        if (places_[value].empty() && !model_.values[value].constant) continue;  // made within the step
        as_made(value);
        there[value].clear();
        for (const Operand& operand : places_[value]) there[value].push_back(operand.layout);
      }
    };
    add(step.node);
    for (const Index fused : step.fused) add(fused);
    return program::request_for(model_, step, images_, options_, forms_, there);
  }

  Choice choice_for(const Request& request) const {
    if (options_.chooser) return options_.chooser(request);
    return choose(options_.kernels, request);
  }

  /// Whether the step's fused nodes are done as well.
  bool run_chosen(const Step& step) {
    const Node& node = model_.nodes[step.node];
    if (is_view(node.operation)) {  // the same elements in the same order: the output is the input's buffer
      const Layout layout = layout_of_view(as_made(node.inputs[0]).layout, shape(node.inputs[0]), shape(node.output));
      places_[node.output].push_back({in_layout(node.inputs[0], layout).buffer, layout});
      return false;
    }
    const Request request = request_for(step);
    auto [kernel, offer, remarks, others] = choice_for(request);
    for (const std::string& remark : remarks)
      program_.remarks.push_back(fmt::format("{} runs {}", node_text(model_, step.node), remark));
    if (offer.skips_zeros) program_.zeros_skipped.push_back(step.node);

    Action action{.step = {step.node, offer.fused ? step.fused : std::vector<Index>()}};
    action.kernel = kernel->name();
    action.detail = std::move(offer.detail);
    action.others = std::move(others);
    action.seconds = offer.seconds;
    for (std::size_t i = 0; i < offer.inputs.size(); ++i)
      action.inputs.push_back(in_layout(request.inputs[i].value, offer.inputs[i]));
    for (Constant& constant : offer.constants)
      action.constants.push_back(builder_.new_constant(step.node, std::move(constant)));
    action.scratch = builder_.new_scratch(offer);
    action.output = builder_.new_operand(offer.output, request.output_shape());
    action.bind = std::move(offer.bind);
    const ValueId result = model_.nodes[action.step.last()].output;
    if (action.output.layout.type == ElementType::fp16) {
      guard_.limit(result, kLargestOfHalves);
      if (!first_in_halves_) first_in_halves_ = step.node;
    }
    places_[result].push_back(action.output);
    builder_.add(std::move(action));
    return offer.fused;
  }

  /// Values on a device are looked at together, as long as keeping them until then takes little memory.
  void watch(const OverflowGuard::Look& look) {
    const ElementType type = as_made(look.value).layout.type;
    const bool is_changed = is_bytes(type) || type == ElementType::fp16;
    watch(is_changed ? in_layout(look.value, kRows) : as_made(look.value), shape(look.value),
          static_cast<float>(look.limit), builder_.current().node);
  }

  /// `node`: the first whose numbers depend on that.
  void watch(const Operand& source, const Shape& shape, float most, Index node) {
    const std::size_t bytes = bytes_of(source.layout, shape);
    if (on_device(source.layout)) {
      if (kept_bytes_ + bytes > kKeptBytes) look_at_kept();
      kept_.push_back({source, {shape, source.layout, most}, node});
      kept_bytes_ += bytes;
      return;
    }
    Action action{.kind = Action::Kind::watch, .kernel = "within", .inputs = {source}};
    action.output = builder_.new_operand(kRows, {1});
    action.bind = [bytes, type = source.layout.type, most] {
      return bound([=](const Operands& at) { *at.results() = within(at.inputs[0], bytes, type, most) ? 0.F : 1.F; });
    };
    program_.watched.push_back({node, action.output});
    builder_.add(std::move(action));
  }

  void look_at_kept() {
    if (kept_.empty()) return;
    Action action{.kind = Action::Kind::watch, .kernel = "within"};
    action.output = builder_.new_operand(kDeviceRows, {static_cast<Extent>(kept_.size())});
    std::vector<Watch> tensors;
    for (const Kept& one : kept_) {
      program_.watched.push_back({one.node, action.output, tensors.size()});
      action.inputs.push_back(one.operand);
      tensors.push_back(one.watch);
    }
    action.bind = options_.target->watch(tensors);
    builder_.add(std::move(action));
    kept_.clear();
    kept_bytes_ = 0;
  }

  /// The flags that are on the device; those of values that were looked at together once.
  void bring_to_host(Watched& watched) {
    if (!on_device(watched.beyond.layout)) return;
    const std::size_t flags = program_.buffers[watched.beyond.buffer].lifetime.bytes / sizeof(float);
    const auto [place, is_new] = flags_.try_emplace(watched.beyond.buffer);
    if (is_new)
      place->second =
          changed(watched.beyond, {{static_cast<Extent>(flags)}, watched.beyond.layout, kRows, options_.threads, {}});
    watched.beyond = place->second;
  }

  /// A value that is still to be looked at.
  struct Kept {
    Operand operand;
    Watch watch;
    Index node = 0;  ///< the first whose numbers depend on that
  };

  const Model& model_;
  Extent images_;
  const CompileOptions& options_;
  ByteForms forms_;
  OverflowGuard guard_;
  ProgramBuilder builder_;
  Program& program_;                          ///< the builder's
  std::vector<std::vector<Operand>> places_;  ///< by value
  std::vector<Kept> kept_;
  std::size_t kept_bytes_ = 0;
  std::optional<Index> first_in_halves_;  ///< node, on which all numbers of fp16 may depend
  std::map<std::size_t, Operand> flags_;  ///< on the host, by buffer on the device
};

}  // namespace

Program compile(const Model& model, const Magnitudes& magnitudes, Extent images, const CompileOptions& options) {
  KnownWholeWeights whole_weights;
  CompileOptions with = options;
  with.known = &whole_weights;
  Program program = Compiler(model, magnitudes, images, with).compile();
  if (options.chooser) return program;
  const Path path = cheapest_path(model, images, with);
  if (path.seconds >= (options.target != nullptr ? kWorthwhileOnDevice : 1) * program.seconds()) return program;
  CompileOptions along = with;
  along.chooser = [&](const Request& request) {
    const auto known = path.offers.find(request.step.node);
    return choose(options.kernels, request, known == path.offers.end() ? nullptr : &known->second);
  };
  return Compiler(model, magnitudes, images, along).compile();
}

}  // namespace spdnn::program
