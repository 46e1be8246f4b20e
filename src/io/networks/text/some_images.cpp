#include "io/networks/text/some_images.hpp"

#include <algorithm>
#include <vector>

#include "core/threads/parallel.hpp"
#include "io/networks/text/image_builder.hpp"

namespace spdnn {

namespace {

/// The entries of some images, which are numbered anew in the order of their ids.
class Chosen {
 public:
  Chosen(Index images, std::span<const Index> ids) : places_(images, kNone) {
    for (std::size_t place = 0; place < ids.size(); ++place) places_[ids[place]] = static_cast<Index>(place);
  }

  void choose(const Entries& from, Entries& to) const {
    to.reserve(from.count);
    to.count = 0;
    to.uniform = from.uniform;
    to.largest_first = 0;
    for (std::size_t k = 0; k < from.count; ++k) {
      const Index place = places_[from.first[k]];
      if (place == kNone) continue;
      to.first[to.count] = place;
      to.second[to.count] = from.second[k];
      to.values[to.count++] = from.values[k];
      to.largest_first = std::max(to.largest_first, place);
    }
  }

 private:
  static constexpr Index kNone = ~Index{0};
  std::vector<Index> places_;
};

}  // namespace

ImageSet read_some_images(TextSource& source, const EntryList& list, std::span<const Index> ids) {
  const Chosen chosen(list.columns.first_limit, ids);
  ImageBuilder builder(list.columns.second_limit, source.expected_bytes());
  std::vector<Entries> some;
  const auto problem = read_entries(source, list.columns, list.lines_before, [&](std::span<const Entries> round) {
    if (some.size() < round.size()) some.resize(round.size());
    parallel_for(round.size(), [&](std::size_t i) { chosen.choose(round[i], some[i]); });
    builder.add(std::span<const Entries>(some).first(round.size()));
    return true;
  });
  if (problem) throw *problem;
  return builder.finish(static_cast<Index>(ids.size()));
}

}  // namespace spdnn
