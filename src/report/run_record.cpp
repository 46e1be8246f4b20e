#include "spdnn/run_record.hpp"

#include <algorithm>
#include <numeric>

namespace spdnn {

Spread spread(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const std::size_t half = samples.size() / 2;
  const double median = samples.size() % 2 == 1 ? samples[half] : (samples[half - 1] + samples[half]) / 2;
  return {samples.front(), median, samples.back(), std::accumulate(samples.begin(), samples.end(), 0.0)};
}

std::optional<double> RankSpreads::slowest_over_median() const {
  return infer.median > 0 ? std::optional(infer.max / infer.median) : std::nullopt;
}

void PhaseSeconds::add(const PhaseSeconds& part) {
  for (double PhaseSeconds::*phase :
       {&PhaseSeconds::load, &PhaseSeconds::join, &PhaseSeconds::read, &PhaseSeconds::plan, &PhaseSeconds::share,
        &PhaseSeconds::upload, &PhaseSeconds::upload_images, &PhaseSeconds::warm_up, &PhaseSeconds::checkpoint,
        &PhaseSeconds::gather, &PhaseSeconds::write, &PhaseSeconds::total})
    this->*phase += part.*phase;
  const double sum = infer.sum + part.infer.sum;
  infer = {sum, sum, sum, sum};
}

double PhaseSeconds::other() const {
  return std::max(0.0, total - (load + join + read + plan + start.waited + share + upload + warm_up + infer.sum +
                                checkpoint + gather + write));
}

}  // namespace spdnn
