#include "inference/network/planned_network.hpp"

#include <utility>

#include "inference/device/device_start.hpp"
#include "inference/run/load.hpp"
#include "plan/describe.hpp"
#include "plan/planner.hpp"

namespace spdnn {

PlannedNetwork::PlannedNetwork(Network network, const Passes& passes, const std::optional<Device>& device) {
  network.validate();
  const planning::TwinFinder find_twins = finder_on(device.value_or(Device::cpu), 0, "device");
  auto contents = std::make_shared<Contents>();
  contents->official = is_official(network);
  contents->plan = make_plan(network, passes, find_twins);
  contents->planned_on_cuda = passes.twins && find_twins != nullptr;
  contents->network = std::move(network);
  contents_ = std::move(contents);
}

const Network& PlannedNetwork::network() const { return contents_->network; }
const Passes& PlannedNetwork::passes() const { return contents_->plan.passes; }
const std::vector<std::string>& PlannedNetwork::notes() const { return contents_->plan.provenance.notes; }
Offset PlannedNetwork::stored_edges() const { return contents_->plan.edges(); }
Index PlannedNetwork::dead_from() const { return contents_->plan.certificates.dead_from; }
Index PlannedNetwork::saturated_from() const { return contents_->plan.certificates.saturated_from; }

std::vector<LayerDescription> PlannedNetwork::describe() const {
  return spdnn::describe(contents_->network, contents_->plan);
}

}  // namespace spdnn
