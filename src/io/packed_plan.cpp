#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "core/parallel.hpp"
#include "io/model_reader.hpp"
#include "io/packed.hpp"

namespace spdnn {

using packed::Kind;
using packed::kNone;
using packed::kPassBits;
using packed::LayerRecord;
using packed::ModelRecord;
using packed::passes_of;

namespace {

std::vector<std::string> split_notes(const std::vector<char>& text) {
  std::vector<std::string> notes;
  for (auto begin = text.begin(); begin != text.end();) {
    const auto end = std::find(begin, text.end(), '\0');
    notes.emplace_back(begin, end);
    begin = end == text.end() ? end : end + 1;
  }
  return notes;
}

/// The plan of one section, its arrays asked for but not loaded yet.
Plan plan_of(const PackedFile& file, ModelReader& reader, std::uint32_t section) {
  ModelReader::Model model = reader.records(section);
  const ModelRecord& record = model.record;
  SectionLoader& loader = reader.loader();
  reader.layers(model, record.layers);
  Plan plan;
  plan.layers = std::move(model.layers);
  plan.bias_rule = model.bias_rule;
  plan.cap = model.cap;
  if ((record.passes | record.requested) >> kPassBits.size() != 0)
    file.fail("is corrupted: the plan has unknown passes");
  plan.passes = passes_of(record.passes);
  plan.requested = passes_of(record.requested);
  plan.dead_from = record.dead_from;
  plan.saturated_from = record.saturated_from;
  plan.given_edges = record.given_edges;
  plan.network_digest = record.network_digest;
  const std::size_t depth = record.layers;
  if (record.given_neurons != kNone) plan.given_neurons = loader.now<Index>(record.given_neurons, depth + 1);
  if (record.error_bounds != kNone) plan.error_bounds = loader.now<double>(record.error_bounds, depth);
  if (record.notes != kNone) plan.notes = split_notes(loader.now<char>(record.notes, file.entry(record.notes).bytes));
  for (const LayerRecord& layer : model.layer_records) {
    Array<Index> map;
    if (layer.expansion != kNone)
      map = loader.plain<Index>(layer.expansion, file.entry(layer.expansion).bytes / sizeof(Index), {});
    plan.expansion.push_back(map);
  }
  return plan;
}

void check_expansion(const Plan& plan, std::size_t k) {
  const Array<Index>& map = plan.expansion[k];
  const Index stored = plan.layers[k].outputs();
  const Index given = plan.given_neurons[k + 1];
  const std::string where = fmt::format("layer {}: ", k + 1);
  if (map.empty() && stored != given) throw std::invalid_argument(where + "its expansion is missing");
  if (!map.empty() && map.size() != given)
    throw std::invalid_argument(where + fmt::format("an expansion of {} neurons, expected {}", map.size(), given));
  for (const Index neuron : map)
    if (neuron >= stored && neuron != kAlwaysZero && neuron != kNotComputed)
      throw std::invalid_argument(where + "its expansion leads outside the stored neurons");
}

}  // namespace

void check_plan(const Plan& plan) {
  const auto require = [](bool condition, const char* what) {
    if (!condition) throw std::invalid_argument(what);
  };
  const std::size_t depth = plan.layers.size();
  require(plan.expansion.size() == depth, "expected one expansion for each layer");
  require(plan.given_neurons.size() == depth + 1, "expected the given neurons of the inputs and of each layer");
  require(depth == 0 || *std::min_element(plan.given_neurons.begin(), plan.given_neurons.end()) > 0,
          "a layer of no neurons");
  require(depth == 0 || plan.given_neurons[0] == plan.inputs(), "its inputs are not those of the network");
  require(plan.dead_from <= depth && plan.saturated_from <= depth, "a certificate begins after the last layer");
  require(plan.error_bounds.empty() || plan.error_bounds.size() == depth, "expected one error bound for each layer");
  require(std::all_of(plan.error_bounds.begin(), plan.error_bounds.end(), [](double e) { return e >= 0; }),
          "an error bound is not a number from 0 up");
  parallel_for(depth, [&](std::size_t k) { check_expansion(plan, k); });
  require(!plan.passes.saturated || plan.cap, "images are retired at a cap that it does not have");
  require(!plan.passes.merge || plan.error_bounds.size() == depth, "merge needs an error bound for each layer");
  require(!plan.passes.merge || plan.in_order, "merge needs its plan in order");
  if (!plan.in_order) return;
  require(!plan.in_order->passes.merge, "its plan in order is merged");
  require(!plan.in_order->in_order, "its plan in order has a plan in order");
  require(plan.in_order->given_neurons == plan.given_neurons, "its plan in order is one of another network");
  require(plan.in_order->network_digest == plan.network_digest, "its plan in order is one of another network");
  check_plan(*plan.in_order);
}

Plan load_plan(const PackedFile& file) {
  const auto section = file.find(Kind::plan);
  if (!section) file.fail("holds no plan");
  ModelReader reader(file, ModelReader::Repeats::allowed);
  Plan plan = plan_of(file, reader, *section);
  std::shared_ptr<Plan> in_order;
  if (const auto other = file.find(Kind::plan_in_order)) {
    in_order = std::make_shared<Plan>(plan_of(file, reader, *other));
    plan.in_order = in_order;
  }
  reader.run(ProgressMode::never);
  const bool with_network = (file.header().contents & packed::kNetwork) != 0;
  if (with_network && plan.network_digest != file.header().network_digest)
    file.fail(fmt::format("its plan was made for another network (digest {:016x}, expected {:016x})",
                          plan.network_digest, file.header().network_digest));
  try {
    check_plan(plan);
  } catch (const std::invalid_argument& error) {
    file.fail(std::string("is corrupted: its plan: ") + error.what());
  }
  return plan;
}

Plan read_plan(const Path& path) { return load_plan(PackedFile(path)); }

}  // namespace spdnn
