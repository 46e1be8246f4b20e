#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "inference/ranks/inference_on_ranks.hpp"
#include "support/thread_ranks.hpp"

namespace spdnn::testing {

/// The root's report of a run on that many ranks, or none where it was stopped; `change` is made to each rank's own
/// settings.
inline std::optional<Report> stoppable_run(int ranks, const InferenceSpec& spec, const Network& network,
                                           const ImageSet& images,
                                           const std::function<void(InferenceSpec&, int)>& change = {}) {
  std::optional<Report> found;
  const auto work = [&](Communicator& rank) {
    InferenceSpec own = spec;
    if (change) change(own, rank.place().rank);
    InferenceOnRanks inference(own, rank);
    if (rank.is_root())
      inference.load(network, images);
    else
      inference.load();
    inference.plan();
    try {
      inference.run();
      if (rank.is_root()) found = inference.report();
    } catch (const Stopped&) {
    }
  };
  for (const auto& thrown : on_ranks(ranks, work)) EXPECT_EQ(thrown, nullptr);
  return found;
}

}  // namespace spdnn::testing
