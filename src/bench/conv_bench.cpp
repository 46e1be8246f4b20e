#include "bench/conv_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "bench/conv_check.hpp"
#include "bench/conv_models.hpp"
#include "engines/cpu/lanes/runnable.hpp"
#include "engines/kernel_families.hpp"
#include "inference/device/machine.hpp"
#include "program/compile.hpp"
#include "program/request.hpp"
#include "program/threads.hpp"
#include "program/trial.hpp"
#include "spdnn/error.hpp"

namespace spdnn::bench {

namespace {

constexpr double kCompileSeconds = 600;  ///< that generating code for a layer may take

/// The nodes of a model that are timed as one step.
struct Work {
  const Model& model;
  Step step;
  bool whole = false;  ///< in int8

  bool exists() const { return step.last() < model.nodes.size(); }
};

/// The offer of the kernels for a whole step that is predicted to be the fastest, of bytes if the input is in bytes;
/// empty if there is none.
struct Best {
  std::string kernel;
  program::Offer offer;
};
std::optional<Best> best_offer(const program::Kernels& kernels, const program::Request& request) {
  const bool in_bytes = is_bytes(request.inputs.front().layouts.front().type);
  std::optional<Best> best;
  for (const program::Kernel* const kernel : kernels)
    for (program::Offer& offer : kernel->offers(request))
      if (offer.takes() && (offer.fused || request.step.fused.empty()) &&
          is_bytes(offer.inputs.front().type) == in_bytes && (!best || offer.seconds < best->offer.seconds))
        best = Best{std::string(kernel->name()), std::move(offer)};
  return best;
}

/// The kernels of a family, or why there are none.
program::FamilyKernels kernels_of(std::string_view name, Precision precision) {
  for (const program::Family& family : kernel_families())
    if (family.name == name) return family.kernels(precision);
  return {.why_not = fmt::format("built without the kernels {}", name)};
}

/// Kernels of our own that are compared with others, and the variant that offers them.
struct Ours {
  std::string variant;
  program::Kernels kernels;
  bool whole = false;  ///< in int8
};
std::vector<Ours> ours_on(Device device) {
  std::vector<Ours> all;
  for (const program::Family& family : kernel_families()) {
    const auto is_family = [&](const ConvRival& rival) { return rival.family == family.name && !rival.ours; };
    const std::vector<ConvRival>& rivals = conv_rivals(device);
    if (family.device != device || std::any_of(rivals.begin(), rivals.end(), is_family)) continue;
    if (all.empty() || device != Device::cpu)
      all.push_back({device == Device::cpu ? "sparse" : std::string(family.name), {}});
    const program::Kernels kernels = family.kernels(Precision::fp32).kernels;
    all.back().kernels.insert(all.back().kernels.end(), kernels.begin(), kernels.end());
  }
  if (device == Device::cpu) all.push_back({"sparse_int8", kernels_of("sparse_int8", Precision::fp32).kernels, true});
  return all;
}

program::ElementType element_type(Precision precision) {
  return precision == Precision::bf16                                        ? program::ElementType::bf16
         : precision == Precision::fp16 || precision == Precision::fp16_sums ? program::ElementType::fp16
                                                                             : program::ElementType::fp32;
}

Side trial_side(program::Trial& trial) {
  return [&trial](Index runs) { return trial.seconds(runs); };
}

/// The device that kernels run on; null: the host.
std::shared_ptr<program::Target> target_on(Device device) {
  if (device == Device::cpu) return nullptr;
  for (const program::Family& family : kernel_families())
    if (family.device == device)
      if (const auto kernels = family.kernels(Precision::fp32); kernels.target != nullptr) return kernels.target(0);
  throw DeviceError("no kernels for models are built for this device");
}

bool is_among(const std::optional<std::vector<std::string>>& names, const std::string& name) {
  return !names || std::find(names->begin(), names->end(), name) != names->end();
}

/// Requests for one layer, and the trials on them.
class Bench {
 public:
  Bench(const ConvCase& one, const ConvSides& sides, const RunLimits& limits)
      : one_(one),
        sides_(sides),
        limits_(limits),
        threads_(one.threads),
        model_(pooled_model_of(one)),
        whole_model_(one.device == Device::cpu ? whole_model_of(one) : Model()),
        grouped_(needs_groups() ? grouped_model_of(one) : GroupedModel()),
        target_(target_on(one.device)) {
    if (target_ != nullptr) target_->use();
  }

  std::vector<ConvTiming> time() const {
    std::vector<ConvTiming> all;
    for (const Ours& ours : ours_on(one_.device)) {
      if (!is_among(sides_.kernels, ours.variant)) continue;
      time(ours, {}, all);
      for (const std::string& part : sides_.left_out)
        if (ours.variant == "conv_generated") time(ours, {part}, all);
    }
    return all;
  }

 private:
  /// Whether a rival of this machine takes weights stored as 2:4.
  bool needs_groups() const {
    const std::vector<ConvRival>& rivals = conv_rivals(one_.device);
    return std::any_of(rivals.begin(), rivals.end(), [&](const ConvRival& rival) {
      return rival.grouped && is_among(sides_.with, rival.key) &&
             kernels_of(rival.family, rival.precision).why_not.empty();
    });
  }

  /// `without`: parts of the kernel that are left out.
  void time(const Ours& ours, const std::vector<std::string>& without, std::vector<ConvTiming>& all) const {
    for (const Work& work : ours.whole ? std::vector{whole_} : std::vector{layer_, pooled_}) {
      if (!work.exists()) continue;
      program::Request request = request_in(Precision::fp32, work);
      request.without = without;
      const std::optional<Best> best = best_offer(ours.kernels, request);
      if (!best) continue;
      all.push_back(time(ours.variant, *best, work));
      for (const std::string& part : without) all.back().variant += " without " + part;
      return;
    }
  }

  ConvTiming time(const std::string& variant, const Best& ours, const Work& work) const {
    program::Trial trial = trial_of(Precision::fp32, ours, work);
    ConvTiming timing = counted(work);
    timing.variant = variant;
    timing.whole = work.whole;
    timing.load = machine_load();
    timing.not_grouped = grouped_.why_not;
    for (const ConvRival& rival : conv_rivals(one_.device)) {
      if (!is_among(sides_.with, rival.key)) continue;
      if (rival.family == variant && rival.precision == Precision::fp32) continue;
      const Work& same = rival.grouped ? grouped_layer_ : rival.whole ? whole_ : layer_;
      if (!same.exists()) continue;
      const std::optional<Best> best =
          best_offer(kernels_of(rival.family, rival.precision).kernels, request_in(rival.precision, same));
      if (!best && rival.grouped) timing.not_grouped = why_none(rival, same);
      if (!best) continue;
      program::Trial other = trial_of(rival.precision, *best, same);
      InTurns found = time_in_turns({trial_side(trial), trial_side(other)}, limits_);
      if (timing.with.empty()) timing.ours = timed(ours, trial, std::move(found.sides[0]), Precision::fp32, work);
      timing.with.push_back(
          {&rival, timed(*best, other, std::move(found.sides[1]), rival.precision, same), found.ratio.value()});
    }
    if (timing.with.empty())
      timing.ours = timed(ours, trial, time_in_turns({trial_side(trial)}, limits_).sides[0], Precision::fp32, work);
    return timing;
  }

  /// Why a rival does not take a layer.
  std::string why_none(const ConvRival& rival, const Work& work) const {
    for (const program::Kernel* const kernel : kernels_of(rival.family, rival.precision).kernels)
      for (const program::Offer& offer : kernel->offers(request_in(rival.precision, work)))
        if (!offer.takes()) return offer.why_not;
    return {};
  }

  program::Trial trial_of(Precision precision, const Best& best, const Work& work) const {
    const auto fill = [zeros = one_.input_sparsity](std::byte* to, const program::Layout& layout, const Shape& shape) {
      fill_images(to, layout, shape, zeros);
    };
    return {request_in(precision, work), best.offer, fill, target_.get()};
  }

  TimedKernel timed(const Best& best, program::Trial& trial, TimedRuns times, Precision precision,
                    const Work& work) const {
    const program::Request request = request_in(precision, work);
    const program::Offer& offer = best.offer;
    const std::string detail = offer.detail + (trial.remark().empty() ? "" : "; " + trial.remark());
    const ConvProblem problem{std::get<Convolution>(request.node().operation), request.inputs[0].shape,
                              one_.input_sparsity, !work.step.fused.empty()};
    return {best.kernel, detail, offer.seconds, sampled_ratio(problem, offer, request.output_shape(), precision, trial),
            std::move(times)};
  }

  program::Request request_in(Precision precision, const Work& work) const {
    const program::ElementType type = element_type(precision);
    const program::CompileOptions options{
        .type = type, .kernels_for = one_.batch, .threads = one_.threads, .compile_seconds = kCompileSeconds};
    program::LayoutsOfValues there;
    program::Request request =
        program::request_for(work.model, work.step, one_.batch, options, program::byte_forms_of(work.model), there);
    for (program::Input& input : request.inputs)
      input.layouts = {{program::Order::rows, work.whole ? program::ElementType::u8 : type}};
    return request;
  }

  ConvTiming counted(const Work& work) const {
    const auto& convolution = std::get<Convolution>(model_.nodes.front().operation);
    const auto number = [&](ValueId value) {
      return static_cast<double>(*elements(with_batch(model_.values[value].shape, one_.batch)));
    };
    const CsrMatrix& weights = convolution.weights;
    const double results = number(model_.outputs.front());
    const auto entries = static_cast<double>(weights.entries());
    const double all = static_cast<double>(weights.rows) * weights.cols;
    const double written = work.step.fused.empty() ? results : number(model_.nodes[work.step.last()].output);
    constexpr double kEntryBytes = 8;  // with its place
    ConvTiming timing;
    timing.multiply_adds = results * weights.cols;
    timing.kept = entries / all;
    timing.bytes = sizeof(float) * (number(model_.inputs.front()) + written) + std::min(kEntryBytes * entries, 4 * all);
    return timing;
  }

  const ConvCase& one_;
  const ConvSides& sides_;
  const RunLimits& limits_;
  program::Threads threads_;
  Model model_;
  Model whole_model_;
  GroupedModel grouped_;
  Work layer_{model_, {0, {}}};
  Work pooled_{model_, {0, {1, 2}}};
  Work grouped_layer_{grouped_.model, {0, {}}};
  Work whole_{whole_model_, {static_cast<Index>(whole_model_.nodes.size()) - 1, {}}, true};
  std::shared_ptr<program::Target> target_;
};

ConvRival grouped_rival(const char* key, Precision precision) {
  return {.key = key, .family = "conv_2to4", .library = "cuSPARSELt", .precision = precision, .grouped = true};
}

}  // namespace

const std::vector<ConvRival>& conv_rivals(Device device) {
  static const std::vector<ConvRival> on_cpu{{"fp32", "onednn", "oneDNN", Precision::fp32},
                                             {"bf16", "onednn", "oneDNN", Precision::bf16},
                                             {.key = "int8", .family = "onednn", .library = "oneDNN", .whole = true}};
  static const std::vector<ConvRival> on_gpu{
      {"direct", "conv_direct", "conv_direct", Precision::fp32, true},
      {"direct16", "conv_direct", "conv_direct", Precision::fp16, true},
      {"uniform16", "conv_uniform", "conv_uniform", Precision::fp16, true},
      {"generated16", "conv_generated", "conv_generated", Precision::fp16_sums, true},
      {"lowered", "conv_lowered", "cuSPARSE", Precision::fp32},
      grouped_rival("2to4", Precision::fp16),
      grouped_rival("2to4bf16", Precision::bf16),
      {"fp32", "conv_dense", "cuDNN", Precision::fp32},
      {"tf32", "conv_dense", "cuDNN", Precision::tf32},
      {"fp16", "conv_dense", "cuDNN", Precision::fp16},
      {"bf16", "conv_dense", "cuDNN", Precision::bf16}};
  return device == Device::cpu ? on_cpu : on_gpu;
}

std::vector<std::string> absent_rivals(Device device) {
  std::vector<std::string> all;
  for (const ConvRival& rival : conv_rivals(device)) {
    const std::string why_not = kernels_of(rival.family, rival.precision).why_not;
    if (!why_not.empty() && std::find(all.begin(), all.end(), why_not) == all.end()) all.push_back(why_not);
    if (why_not.empty() && rival.whole && !lanes::runs_vnni())
      all.push_back(fmt::format(
          "{} in {} is missing from layers where its sums would saturate at 16 bits, as the processor lacks VNNI",
          rival.library, rival.number()));
  }
  return all;
}

std::vector<std::string> conv_variants(Device device) {
  std::vector<std::string> names;
  for (const Ours& ours : ours_on(device)) names.push_back(ours.variant);
  return names;
}

std::vector<ConvTiming> time_conv(const ConvCase& one, const ConvSides& sides, const RunLimits& limits) {
  return Bench(one, sides, limits).time();
}

}  // namespace spdnn::bench
