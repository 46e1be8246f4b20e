#include "program/path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/graph/node_text.hpp"
#include "program/request.hpp"
#include "spdnn/error.hpp"

namespace spdnn::program {

namespace {

/// Predictions that differ by less are equal: sums in other orders are.
constexpr double kEqualSeconds = 1e-12;

/// The choices on the path to a state, last first.
struct Taken {
  Index node;
  Wanted wanted;
  std::shared_ptr<const Taken> before;
};

struct State {
  double seconds = 0;
  LayoutsOfValues there;  ///< of values that are still to be read
  std::shared_ptr<const Taken> taken;
};
using States = std::vector<State>;

/// Keeps the cheapest state of each kind.
void add_state(States& states, State state) {
  for (State& known : states)
    if (known.there == state.there) {
      if (state.seconds < known.seconds - kEqualSeconds) known = std::move(state);
      return;
    }
  states.push_back(std::move(state));
}

class PathFinder {
 public:
  PathFinder(const Model& model, Extent images, const CompileOptions& options)
      : model_(model),
        images_(images),
        options_(options),
        forms_(byte_forms_of(model)),
        steps_(steps_of(model, options.epilogues)) {
    last_reader_.resize(model.values.size());
    for (std::size_t number = 0; number < steps_.size(); ++number) {
      const auto reads = [&](Index node) {
        for (const ValueId input : model.nodes[node].inputs) last_reader_[input] = number;
      };
      reads(steps_[number].node);
      for (const Index node : steps_[number].fused) reads(node);
    }
    is_output_.resize(model.values.size());
    for (const ValueId output : model.outputs) is_output_[output] = true;
  }

  Path find() {
    States states(1);
    states.front().there[model_.inputs.front()] = layouts_of_images(options_);
    for (std::size_t number = 0; number < steps_.size(); ++number) {
      states = after(states, steps_[number]);
      if (states.empty()) throw UsageError("no kernel supports " + node_text(model_, steps_[number].node));
      forget(states, number);
    }
    const auto best = std::min_element(states.begin(), states.end(), [](const State& a, const State& b) {
      return a.seconds < b.seconds - kEqualSeconds;
    });
    Path path;
    path.seconds = best->seconds;
    for (const Taken* taken = best->taken.get(); taken != nullptr; taken = taken->before.get())
      path.offers.emplace(taken->node, taken->wanted);
    return path;
  }

 private:
  /// Drops the layouts of values that no later step reads, outputs after the change to the one in which they are given,
  /// and states beyond the limit. That change does not count for quantised outputs, so that kernels are those of a run
  /// in which nobody looks at them.
  void forget(States& states, std::size_t number) {
    States kept;
    for (State& state : states) {
      for (const auto& [value, layouts] : state.there)
        if (is_output_[value] && !forms_[value] && last_reader_[value] <= number) change(state, value, kRows);
      std::erase_if(state.there, [&](const auto& one) { return last_reader_[one.first] <= number; });
      add_state(kept, std::move(state));
    }
    if (kept.size() > kMostStates) {
      std::stable_sort(kept.begin(), kept.end(), [](const State& a, const State& b) { return a.seconds < b.seconds; });
      kept.resize(kMostStates);
    }
    states = std::move(kept);
  }

  States after(const States& states, const Step& step) {
    States next;
    for (const State& state : states) {
      const Node& node = model_.nodes[step.node];
      if (!is_view(node.operation)) {
        for (State& one : after(state, step)) add_state(next, std::move(one));
        continue;
      }
      State viewed = state;
      const Layout layout = layout_of_view(layouts_of(viewed.there, node.inputs[0]).front(),
                                           with_batch(model_.values[node.inputs[0]].shape, images_),
                                           with_batch(model_.values[node.output].shape, images_));
      change(viewed, node.inputs[0], layout);
      viewed.there[node.output] = {layout};
      add_state(next, std::move(viewed));
    }
    return next;
  }

  /// A kernel's offer, without the functions that bind it.
  struct Possible {
    Wanted wanted;
    std::vector<Layout> inputs;
    Layout output;
    bool fused;
    double seconds;
  };

  /// Offers depend on the layouts of the step's inputs alone, which many states share.
  const std::vector<Possible>& possible(const Request& request) {
    std::string key = fmt::format("{} {}", request.step.node, request.step.fused.size());
    for (const Input& input : request.inputs)
      for (const Layout& layout : input.layouts)
        key += (&layout == &input.layouts.front() ? "; " : ", ") + text(layout);
    const auto [place, is_new] = possible_.try_emplace(key);
    if (is_new)
      for (const Kernel* const kernel : options_.kernels)
        for (const Offer& offer : kernel->offers(request))
          if (offer.takes() && why_unsound(request, offer).empty())
            place->second.push_back({wanted(*kernel, offer), offer.inputs, offer.output, offer.fused, offer.seconds});
    return place->second;
  }

  States after(const State& state, const Step& step) {
    State before = state;
    const Request request = request_for(model_, step, images_, options_, forms_, before.there);
    States next;
    for (const Possible& offer : possible(request)) {
      State one = before;
      for (std::size_t i = 0; i < offer.inputs.size(); ++i) change(one, request.inputs[i].value, offer.inputs[i]);
      one.seconds += offer.seconds;
      one.taken = std::make_shared<const Taken>(Taken{step.node, offer.wanted, std::move(one.taken)});
      one.there[model_.nodes[offer.fused ? step.last() : step.node].output] = {offer.output};
      States alone{std::move(one)};
      if (!offer.fused)
        for (const Index fused : step.fused) alone = after(alone, {fused, {}});
      for (State& done : alone) add_state(next, std::move(done));
    }
    return next;
  }

  /// Has the value there in the layout.
  void change(State& state, ValueId value, const Layout& layout) {
    std::vector<Layout>& there = layouts_of(state.there, value);
    if (std::find(there.begin(), there.end(), layout) != there.end()) return;
    const Layout source = source_of_change(there, layout);
    const auto [place, is_new] = changes_.try_emplace(fmt::format("{} {} {}", value, text(source), text(layout)));
    if (is_new) {
      const Change change{with_batch(model_.values[value].shape, images_), source, layout, options_.threads,
                          forms_[value]};
      place->second = choose_change(options_.kernels, change).offer.seconds;
    }
    state.seconds += place->second;
    there.push_back(layout);
  }

  const Model& model_;
  Extent images_;
  const CompileOptions& options_;
  ByteForms forms_;
  std::vector<Step> steps_;
  std::map<std::string, std::vector<Possible>> possible_;  ///< by step and layouts
  std::map<std::string, double> changes_;                  ///< seconds, by value and layouts
  std::vector<std::size_t> last_reader_;                   ///< by value: the number of a step
  std::vector<bool> is_output_;                            ///< by value
};

}  // namespace

Path cheapest_path(const Model& model, Extent images, const CompileOptions& options) {
  return PathFinder(model, images, options).find();
}

}  // namespace spdnn::program
