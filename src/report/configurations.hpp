#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "report/run_line.hpp"

namespace spdnn {

/// The combined runs of one configuration on one machine by one build.
struct Configuration {
  /// The properties common to all runs, the categories and alive images of the first, and the worst status with its
  /// reason.
  RunLine first;
  std::size_t runs = 0;
  std::size_t last = 0;    ///< the position of the last of them among all lines
  std::size_t origin = 0;  ///< in Results::origins
  Spread infer = {};       ///< least minimum, median of the medians, greatest maximum
  double total = 0;        ///< this and the phases below: medians
  std::vector<std::pair<std::string, double>> phases = {};
  std::optional<double> computed_edges = {}, rate_with_setup = {};
  double rate_end_to_end = 0;
  std::string set_aside = {};  ///< why this is not among the headline figures; empty if it is

  double rate() const { return first.work() / infer.median; }
  std::optional<double> rate_computed() const;
  double phase(const std::string& name) const;  ///< 0 if the phase is missing
};

/// Lines classified by their standing.
struct Results {
  std::vector<LineOrigin> origins;                        ///< in the order of the lines
  std::vector<std::size_t> lines_of;                      ///< of each origin: number of lines read
  std::vector<Configuration> headline;                    ///< verified, by a build without uncommitted changes; sorted
  std::vector<Configuration> set_aside;                   ///< the others; sorted
  std::vector<std::pair<LayerLine, std::size_t>> layers;  ///< with their origins
  std::vector<std::pair<ModelLine, std::size_t>> models;  ///< in the order of the lines, with their origins
  std::vector<std::pair<ModelBenchLine, std::size_t>> model_benches;  ///< likewise
  std::vector<std::pair<ConvLine, std::size_t>> convolutions;         ///< likewise
  std::size_t run_lines = 0, layer_lines = 0;
  std::size_t superseded = 0;  ///< lines replaced by a later build

  /// The number shown to readers.
  static std::string number_of(std::size_t origin) { return std::to_string(origin + 1); }
};

/// Combines lines into configurations. Lines of different machines or builds are never combined. Of several builds on
/// one machine only that of the last line counts, separately for verified and other lines, unless `all` are wanted.
/// Wrong categories by a later build without uncommitted changes also replace verified ones.
Results evaluate(const ResultLines& lines, bool all);

/// The same network and, as far as the lines state it, the same images.
bool same_problem(const RunLine& a, const RunLine& b);
/// False if one line states that its images are official and the other that they are not.
bool may_share_images(const RunLine& a, const RunLine& b);
/// Equal if the network is the same.
std::string network_key(const RunLine& run);
/// For runs whose categories are not wrong: equal if the problem is the same. The converse does not hold, because some
/// lines do not fully identify their images.
std::string problem_key(const RunLine& run);

/// Groups things without comparing all pairs, by a key that is equal within a group.
template <typename Thing>
class Candidates {
 public:
  void add(const std::string& key, Thing thing) { things_[key].push_back(std::move(thing)); }
  /// In the order in which they were added.
  const std::vector<Thing>& with(const std::string& key) const {
    static const std::vector<Thing> none;
    const auto found = things_.find(key);
    return found == things_.end() ? none : found->second;
  }
  /// The first one that fits, or null.
  const Thing* find(const std::string& key, auto fits) const {
    const std::vector<Thing>& all = with(key);
    const auto found = std::find_if(all.begin(), all.end(), fits);
    return found == all.end() ? nullptr : &*found;
  }

 private:
  std::unordered_map<std::string, std::vector<Thing>> things_;
};

/// The fastest verified configuration of each problem on each machine, in their order.
std::vector<const Configuration*> fastest(const Results& results);

}  // namespace spdnn
