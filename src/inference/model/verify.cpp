#include "inference/model/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "core/text/amounts.hpp"
#include "core/threads/cancellation.hpp"
#include "core/types/progress.hpp"
#include "engines/devices.hpp"
#include "inference/model/accuracy.hpp"
#include "inference/model/probabilities.hpp"
#include "inference/model/run.hpp"
#include "model/graph/node_text.hpp"
#include "model/oracle/evaluate.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

constexpr std::size_t kShownIds = 10;
constexpr Index kMostReferenceImages = 16;  ///< between two updates of the progress

/// The images that the reference takes at a time.
Index images_at_once(const Model& model, std::size_t host_memory) {
  if (const auto fixed = fixed_batch(model)) return *fixed;
  const std::size_t each =
      support_of(find_model_variant("conv_reference"), model, {.precision = Precision::fp64}).working_bytes;
  const std::size_t budget = memory_budget(Device::cpu, {.host_memory = host_memory});
  if (each > budget)
    throw DeviceError("host_memory", fmt::format("the reference needs {} for one image at a time, but {} are available",
                                                 bytes_text(each), bytes_text(budget)));
  return static_cast<Index>(std::clamp<std::size_t>(budget / std::max<std::size_t>(each, 1), 1, kMostReferenceImages));
}

/// Compares logits with expected ones, image by image.
class Comparer {
 public:
  /// `probabilities`: by element of an image; see probabilities_of().
  Comparer(std::string against, Index classes, const std::vector<bool>& probabilities)
      : classes_(classes), probabilities_(probabilities) {
    check_.against = std::move(against);
  }

  /// `bounds` are those of the expected logits.
  void add(Index image, std::span<const float> found, std::span<const double> expected,
           std::span<const double> bounds) {
    ++check_.images;
    double largest = 0;
    Image one{image};
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double off = std::abs(found[i] - expected[i]);
      const double size = std::abs(expected[i]);
      largest = std::max(largest, ratio(off, bounds[i]));
      check_.largest_deviation = std::max(check_.largest_deviation, or_infinite(off));
      check_.largest_bound = std::max(check_.largest_bound, or_infinite(bounds[i]));
      check_.largest_expected = std::max(check_.largest_expected, size);
      if (probabilities_[i]) {
        one.excess = std::max(one.excess, ratio(off, LogitCheck::tolerance_of_probability(size)));
      } else {
        one.farthest = std::max(one.farthest, or_infinite(off));
        largest_other_ = std::max(largest_other_, size);
      }
    }
    check_.largest_ratio = std::max(check_.largest_ratio, largest);
    one.outside = largest > 1;
    images_.push_back(one);
    if (classes_ == 0) return;
    const Index mine = largest_of(found);
    const Index theirs = largest_of(expected);
    if (mine == theirs) return;
    ++check_.differing;
    if (expected[theirs] - expected[mine] <= bounds[theirs] + bounds[mine])
      check_.near_ties.push_back({image, mine, theirs});
  }

  LogitCheck take() {
    const bool all = std::find(probabilities_.begin(), probabilities_.end(), false) == probabilities_.end();
    check_.tolerance =
        all ? LogitCheck::tolerance_of_probability(check_.largest_expected) : LogitCheck::kTolerance * largest_other_;
    for (Image& one : images_) {
      if (!all) one.excess = std::max(one.excess, ratio(one.farthest, check_.tolerance));
      check_.largest_excess = std::max(check_.largest_excess, one.excess);
      if (!one.outside && one.excess <= 1) continue;
      ++(one.outside ? check_.outside : check_.beyond);
      if (check_.first_ids.size() < kShownIds) check_.first_ids.push_back(one.number + 1);
    }
    return std::move(check_);
  }

 private:
  /// The tolerance of numbers other than probabilities is known once all images are.
  struct Image {
    Index number;
    double farthest = 0;   ///< deviation of a number that is no probability
    double excess = 0;     ///< the largest deviation relative to the tolerance
    bool outside = false;  ///< the bound
  };

  /// NaN, and any deviation where the bound is 0, exceeds every bound.
  static double ratio(double off, double bound) { return off == 0 ? 0 : or_infinite(off / bound); }
  static double or_infinite(double number) {
    return std::isnan(number) ? std::numeric_limits<double>::infinity() : number;
  }

  Index classes_;
  const std::vector<bool>& probabilities_;
  double largest_other_ = 0;  ///< expected number that is no probability
  std::vector<Image> images_;
  LogitCheck check_;
};

/// The same model, of which every node's output is one of the model's.
std::shared_ptr<const Model> opened(const Model& model) {
  auto open = std::make_shared<Model>(model);
  open->outputs.clear();
  for (const Node& node : open->nodes) open->outputs.push_back(node.output);
  return open;
}

/// Compares the outputs of all nodes, once they are there.
void compare_nodes(const Model& model, const Tensor& images, const std::vector<Tensor>& outputs,
                   Cancellation& cancellation, NodeCheck& check) {
  std::vector<const Tensor*> values(model.values.size());
  for (std::size_t id = 0; id < values.size(); ++id)
    if (model.values[id].constant) values[id] = &*model.values[id].constant;
  values[model.inputs.front()] = &images;
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    cancellation.check();
    const Node& node = model.nodes[n];
    std::vector<Bounded> exact;
    exact.reserve(node.inputs.size());
    for (const ValueId id : node.inputs) exact.push_back(exactly(*values[id]));
    std::vector<const Bounded*> inputs(exact.size());
    std::transform(exact.begin(), exact.end(), inputs.begin(), [](const Bounded& one) { return &one; });
    const double ratio = largest_ratio(evaluate(node.operation, inputs), outputs[n].values.span());
    if (check.worst.empty() || ratio > check.largest_ratio) {
      check.largest_ratio = ratio;
      check.worst = node_text(model, n);
    }
    values[node.output] = &outputs[n];
  }
}

}  // namespace

LogitChecks check_logits(const Model& model, const Tensor& images, const Tensor& logits, Index classes,
                         const LogitTruth& truth, const ProgressCallback& progress,
                         const std::function<bool()>& cancelled) {
  const auto all = static_cast<Index>(images.shape[0]);
  const Index given = truth.expected == nullptr ? 0 : static_cast<Index>(truth.expected->shape[0]);
  const std::size_t each = logits.values.size() / all;
  const auto of_all = [&](Index some) {
    const std::string together = counted(all, "image", "images");
    if (some == all) return all == 1 ? together : "all " + together;
    return fmt::format("the first {} of {}, a sample", some, together);
  };
  const std::vector<bool> probabilities = probabilities_of(model, model.outputs.front());
  Comparer expected(fmt::format("{} on {}", truth.expected_source, of_all(given)), classes, probabilities);
  Comparer recomputed("the reference in fp64 on " + of_all(truth.recomputed), classes, probabilities);
  const Index count = std::max(given, truth.recomputed);
  const Index step = images_at_once(model, truth.host_memory);
  Cancellation cancellation(cancelled);
  Progress task(progress, "verify", count);
  for (Index first = 0; first < count; first += step) {
    cancellation.check();
    const bool fixed = fixed_batch(model).has_value();
    const Index some = fixed ? step : std::min(step, count - first);
    const Bounded exact = evaluate(model, {images_from(images, first, some)}, cancelled).front();
    for (Index i = 0; i < some && first + i < count; ++i) {
      const Index image = first + i;
      const std::span<const float> found = logits.values.span().subspan(image * each, each);
      const std::span<const double> values(exact.values.data() + i * each, each);
      const std::span<const double> bounds(exact.bounds.data() + i * each, each);
      if (image < truth.recomputed) recomputed.add(image, found, values, bounds);
      if (image >= given) continue;
      const std::span<const float> theirs = truth.expected->values.span().subspan(image * each, each);
      expected.add(image, found, std::vector<double>(theirs.begin(), theirs.end()), bounds);
    }
    task.update(std::min(first + step, count));
  }
  LogitChecks checks;
  if (given > 0) checks.expected = expected.take();
  if (truth.recomputed > 0) checks.recomputed = recomputed.take();
  return checks;
}

NodeCheck check_nodes(const ModelVariant& variant, const Model& model, const Tensor& images, Index count,
                      const Tensor& logits, ModelEngineOptions options, const ProgressCallback& progress) {
  constexpr Index kKeptAtOnce = 4;  ///< of these images all values are held in fp32, and of one node in fp64
  const Index step = fixed_batch(model).value_or(std::min(kKeptAtOnce, count));
  options.kernels_for = options.images_for_kernels();  // those of the run
  options.batch = step;
  options.profile = false;
  const std::shared_ptr<const Model> open = opened(model);
  const auto engine = make_engine(variant, open, options);
  const std::size_t each = logits.values.size() / static_cast<std::size_t>(logits.shape[0]);
  const auto result =
      static_cast<std::size_t>(std::find_if(model.nodes.begin(), model.nodes.end(),
                                            [&](const Node& node) { return node.output == model.outputs.front(); }) -
                               model.nodes.begin());
  NodeCheck check;
  check.nodes = model.nodes.size();
  Cancellation cancellation(options.cancelled);
  Progress task(progress, "verify nodes", count);
  for (Index first = 0; first < count; first += step) {
    cancellation.check();
    const Index some = fixed_batch(model) ? step : std::min(step, count - first);
    const Tensor batch = images_from(images, first, some);
    engine->load(batch);
    const auto nodes = static_cast<Index>(model.nodes.size());
    for (Index node = 0; node < nodes;) node = engine->advance(node, nodes);
    const std::vector<Tensor> outputs = engine->outputs();
    compare_nodes(model, batch, outputs, cancellation, check);
    check.images += some;
    for (std::size_t i = 0; result < outputs.size() && i < some * each; ++i)
      check.largest_difference =
          std::max(check.largest_difference, difference_of(outputs[result].values[i], logits.values[first * each + i]));
    task.update(std::min(first + step, count));
  }
  return check;
}

}  // namespace spdnn
