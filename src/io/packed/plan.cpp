#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "core/threads/parallel.hpp"
#include "io/packed/layer_reader.hpp"
#include "io/packed/read_write.hpp"
#include "io/packed/stored_plan.hpp"
#include "plan/passes/saturation.hpp"

namespace spdnn {

using packed::ChainRecord;
using packed::Kind;
using packed::kNone;
using packed::kPassBits;
using packed::LayerRecord;
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

/// The plan of one section, whose arrays are requested but not loaded yet.
Plan plan_of(const PackedFile& file, LayerReader& reader, std::uint32_t section) {
  LayerReader::Chain chain = reader.records(section);
  const ChainRecord& record = chain.record;
  SectionLoader& loader = reader.loader();
  reader.layers(chain, record.layers);
  Plan plan;
  plan.layers = std::move(chain.layers);
  plan.bias_rule = chain.bias_rule;
  plan.cap = chain.cap;
  if ((record.passes | record.requested) >> kPassBits.size() != 0)
    file.fail("is corrupted: the plan has unknown passes");
  plan.passes = passes_of(record.passes);
  plan.provenance.requested = passes_of(record.requested);
  plan.certificates.dead_from = record.dead_from;
  plan.certificates.saturated_from = record.saturated_from;
  plan.provenance.given_edges = record.given_edges;
  plan.provenance.network_digest = record.network_digest;
  const std::size_t depth = record.layers;
  if (record.given_neurons != kNone) plan.provenance.given_neurons = loader.now<Index>(record.given_neurons, depth + 1);
  if (record.error_bounds != kNone) plan.fallback = Fallback{loader.now<double>(record.error_bounds, depth), nullptr};
  if (record.notes != kNone)
    plan.provenance.notes = split_notes(loader.now<char>(record.notes, file.entry(record.notes).bytes));
  for (const LayerRecord& layer : chain.layer_records) {
    Array<Index> map;
    if (layer.expansion != kNone)
      map = loader.plain<Index>(layer.expansion, file.entry(layer.expansion).bytes / sizeof(Index), {});
    plan.expansion.push_back(map);
  }
  return plan;
}

/// Compares the plan with the file's network: the header and the layer records.
void check_network(const PackedFile& file, LayerReader& reader, const Plan& plan) {
  const packed::Header& header = file.header();
  if (plan.provenance.network_digest != header.network_digest)
    file.fail(fmt::format("its plan was made for another network (digest {:016x}, expected {:016x})",
                          plan.provenance.network_digest, header.network_digest));
  if (plan.provenance.given_edges != header.edges)
    file.fail(
        fmt::format("its plan is for {} edges, expected the network's {}", plan.provenance.given_edges, header.edges));
  const LayerReader::Chain network = reader.records(*file.find(Kind::network));
  if (network.bias_rule != plan.bias_rule || network.cap != plan.cap)
    file.fail("its plan has a different bias rule or cap from its network");
  std::vector<Index> neurons;
  for (const LayerRecord& layer : network.layer_records) {
    if (neurons.empty()) neurons.push_back(layer.weights.cols);
    neurons.push_back(layer.weights.rows);
  }
  if (!neurons.empty() && neurons != plan.provenance.given_neurons)
    file.fail("its plan has different numbers of neurons from its network");
}

void require(bool condition, const std::string& what) {
  if (!condition) throw std::invalid_argument(what);
}

void check_same_neurons(const Plan& plan, const Plan& other, std::size_t k) {
  const std::string where = fmt::format("layer {}: ", k + 1);
  require(k < other.layers.size(), where + "missing in its in-order plan");
  const Layer& mine = plan.layers[k];
  const Layer& theirs = other.layers[k];
  require(mine.inputs() == theirs.inputs() && mine.outputs() == theirs.outputs(),
          where + "its in-order plan has different neurons");
  for (Index neuron = 0; neuron < mine.outputs(); ++neuron)
    require(mine.bias[neuron] == theirs.bias[neuron], where + "its in-order plan has different biases");
}

void check_expansion(const Plan& plan, std::size_t k) {
  const Array<Index>& map = plan.expansion[k];
  const Index stored = plan.layers[k].outputs();
  const Index given = plan.provenance.given_neurons[k + 1];
  const std::string where = fmt::format("layer {}: ", k + 1);
  if (map.empty() && stored != given) throw std::invalid_argument(where + "its expansion is missing");
  if (!map.empty() && map.size() != given)
    throw std::invalid_argument(where + fmt::format("an expansion of {} neurons, expected {}", map.size(), given));
  for (const Index neuron : map)
    if (neuron >= stored && neuron != kAlwaysZero && neuron != kNotComputed)
      throw std::invalid_argument(where + "its expansion refers to neurons that are not stored");
}

/// Error bounds and the in-order plan must exist if `merge` is in effect, and only then.
void check_merge(const Plan& plan) {
  if (!plan.passes.merge) {
    require(!plan.fallback, "error bounds or an in-order plan without the pass merge");
    return;
  }
  require(plan.fallback && plan.fallback->in_order, "the pass merge is in effect, expected an in-order plan");
  require(plan.fallback->error_bounds.size() == plan.layers.size(), "expected one error bound for each layer");
  require(std::all_of(plan.fallback->error_bounds.begin(), plan.fallback->error_bounds.end(),
                      [](double e) { return e >= 0; }),
          "an error bound is negative or not a number");
  const Plan& other = *plan.fallback->in_order;
  Passes passes = other.passes;
  passes.merge = true;
  require(!other.passes.merge && passes == plan.passes, "its in-order plan has different passes");
  require(other.provenance.given_neurons == plan.provenance.given_neurons &&
              other.provenance.given_edges == plan.provenance.given_edges &&
              other.provenance.network_digest == plan.provenance.network_digest && other.bias_rule == plan.bias_rule &&
              other.cap == plan.cap,
          "its in-order plan belongs to another network");
  for (std::size_t k = 0; k < plan.layers.size(); ++k) check_same_neurons(plan, other, k);
}

/// Certificates are recomputed from the layers, which takes a pass over the biases, and over degrees or weights.
void check_certificates(const Plan& plan) {
  require(plan.certificates.dead_from <= plan.depth() && plan.certificates.saturated_from <= plan.depth(),
          "a certificate begins after the last layer");
  require(plan.certificates.dead_from >= planning::dead_from(plan.layers, plan.bias_rule),
          "rows of zeros are certified to stay zero from too early a layer");
  if (plan.certificates.saturated_from == plan.depth()) return;
  require(plan.cap && planning::certifiable_cap(*plan.cap),
          "rows are certified to stay at a cap that cannot be certified");
  require(plan.certificates.saturated_from >= planning::saturated_from(plan.layers, plan.bias_rule, *plan.cap),
          "rows at the cap are certified to stay there from too early a layer");
}

}  // namespace

void check_plan(const Plan& plan) {
  const std::size_t depth = plan.layers.size();
  require(plan.expansion.size() == depth, "expected one expansion for each layer");
  require(plan.provenance.given_neurons.size() == depth + 1,
          "expected the given neurons of the inputs and of each layer");
  require(
      depth == 0 || *std::min_element(plan.provenance.given_neurons.begin(), plan.provenance.given_neurons.end()) > 0,
      "a layer of no neurons");
  require(depth == 0 || plan.provenance.given_neurons[0] == plan.inputs(), "its inputs differ from the network's");
  parallel_for(depth, [&](std::size_t k) { check_expansion(plan, k); });
  require(!plan.passes.saturated || plan.cap, "images are retired at a cap, but it has no cap");
  check_certificates(plan);
  check_merge(plan);
  if (plan.fallback) check_plan(*plan.fallback->in_order);
}

Plan load_plan(const PackedFile& file) {
  const std::uint32_t section = file.require(Kind::plan, "plan");
  LayerReader reader(file, LayerReader::Repeats::allowed);
  Plan plan = plan_of(file, reader, section);
  std::shared_ptr<Plan> in_order;
  if (const auto other = file.find(Kind::plan_in_order)) {
    in_order = std::make_shared<Plan>(plan_of(file, reader, *other));
    if (!plan.fallback) plan.fallback.emplace();
    plan.fallback->in_order = in_order;
  }
  reader.run(ProgressCallback{});
  if ((file.header().contents & packed::kNetwork) != 0) check_network(file, reader, plan);
  try {
    check_plan(plan);
  } catch (const std::invalid_argument& error) {
    file.fail(std::string("is corrupted: its plan: ") + error.what());
  }
  return plan;
}

Plan read_plan(const Path& path) { return load_plan(PackedFile(path)); }

}  // namespace spdnn
