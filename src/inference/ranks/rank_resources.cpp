#include "inference/ranks/rank_resources.hpp"

#include <fmt/format.h>
#include <omp.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdint>

#include "cluster/exchange.hpp"
#include "cluster/together.hpp"
#include "core/system/machine_names.hpp"
#include "core/threads/parallel.hpp"
#include "core/threads/thread_quota.hpp"
#include "engines/devices.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

std::vector<int> sharers_of(Communicator& ranks, const std::vector<std::string>& things) {
  const std::string host = host_name();
  std::vector<std::uint64_t> mine;  // digests, as lists of processors are long
  for (const std::string& thing : things) {
    const std::string text = fmt::format("{} {}", host, thing);
    mine.push_back(XXH3_64bits(text.data(), text.size()));
  }
  const auto all = gather_on_all(ranks, mine);
  std::vector<int> sharers;
  for (std::size_t i = 0; i < mine.size(); ++i)
    sharers.push_back(static_cast<int>(
        std::count_if(all.begin(), all.end(), [&](const auto& theirs) { return theirs[i] == mine[i]; })));
  return sharers;
}

int threads_of(Communicator& ranks, int asked) {
  const auto& quota = processor_quota();
  const std::vector<int> sharers = sharers_of(ranks, {processor_set(), quota ? quota->group : "no quota"});
  if (asked != 0) return asked;
  return std::min(host_threads(), part_of_threads(omp_get_num_procs(), sharers[0], quota, sharers[1]));
}

int device_of_rank(const RankPlace& place) { return place.node_rank % std::max(1, device_count(Device::cuda)); }

std::function<int()> device_choice(const RankPlace& place, int given) {
  return [place, given] { return place.ranks == 1 ? given : device_of_rank(place); };
}

int sharers_of_device(Communicator& ranks, const UsedDevice& used, bool may_share) {
  const int sharers = sharers_of(ranks, {used.id}).front();
  together(ranks, [&] {
    if (sharers > 1 && !may_share)
      throw DeviceError(
          fmt::format("{} of the {} ranks on this node run on one CUDA device, of {} visible; expected a device for "
                      "each rank: fewer ranks on a node, or more devices for them; or --share-devices",
                      sharers, ranks.place().node_ranks, used.visible));
  });
  return sharers;
}

int sharers_of_device(Communicator& ranks, Device device, const EngineOptions& options, bool may_share) {
  if (device == Device::cpu) return ranks.place().node_ranks;
  return sharers_of_device(ranks, {device_names(device, options.device).id, device_count(device)}, may_share);
}

}  // namespace spdnn
