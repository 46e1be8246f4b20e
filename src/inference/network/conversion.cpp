#include "inference/network/conversion.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "inference/device/device_start.hpp"
#include "inference/network/streaming.hpp"
#include "inference/run/load.hpp"
#include "io/packed/digests.hpp"
#include "io/packed/read_write.hpp"
#include "io/packed/stored_plan.hpp"
#include "plan/planner.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

/// The plan must fit into memory, but not the network.
void pack_stream(const GivenStream& given, const NetworkConversion& to, std::size_t budget) {
  const NetworkStream& network = given.network;
  if (!to.passes) return write_packed(to.out, {.stream = &network}, to.progress);
  const Plan plan = plan_stream(given, *to.passes, budget, 1, to.progress);
  if (plan.streamed) {
    std::string why = "cannot plan";
    for (const std::string& note : plan.provenance.notes) why += "; " + note;
    throw DeviceError(fmt::format("{}: {}", to.out.string(), why));
  }
  write_packed(to.out, {.stream = &network, .plan = &plan}, to.progress);
}

/// Whether the network was too large for memory, and is packed now.
bool packed_as_stream(const NetworkConversion& conversion) {
  const std::size_t budget = host_budget(conversion.host_memory);
  if (const auto given = stream_if_too_large(conversion.network, budget)) {
    pack_stream(*given, conversion, budget);
    return true;
  }
  const auto text = stream_text_if_too_large(conversion.network, budget);
  if (!text) return false;
  conversion.take_notes(text->notes);
  pack_stream(*text, conversion, budget);
  return true;
}

}  // namespace

NetworkFile convert_network(const NetworkConversion& conversion) {
  const planning::TwinFinder find_twins = finder_on(conversion.plan_device);
  const bool packs = conversion.form == Form::packed;
  if (packs && packed_as_stream(conversion)) return {};
  NetworkFile file = read_network(conversion.network.path, request_for(conversion.network, conversion.progress));
  conversion.take_notes(file.notes);
  if (packs) fill_in_parameters(conversion.network, file);
  if (conversion.passes) {
    Plan plan = make_plan(file.network, *conversion.passes, find_twins);
    plan.set_network_digest(network_digest(file.network));
    write_network_with_plan(conversion.out, file.network, plan);
  } else {
    write_network(conversion.out, conversion.form, file.network, conversion.progress);
  }
  return packs ? NetworkFile{} : std::move(file);
}

}  // namespace spdnn
