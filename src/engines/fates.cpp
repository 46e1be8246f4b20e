#include "engines/fates.hpp"

namespace spdnn {

Outcome resolve(std::span<const Fate> fates) {
  Outcome outcome;
  for (Index image = 0; image < fates.size(); ++image) {
    Index owner = image;
    while (fates[owner].kind == Fate::Kind::same_as) owner = fates[owner].same_as;
    const Fate::Kind end = fates[owner].kind;
    if (end == Fate::Kind::undecided || end == Fate::Kind::saturated) outcome.categories.push_back(image);
    if (end == Fate::Kind::borderline) outcome.borderline.push_back(image);
    if (fates[image].kind == Fate::Kind::saturated) ++outcome.saturated;
    if (fates[image].kind == Fate::Kind::same_as) ++outcome.identical;
  }
  return outcome;
}

}  // namespace spdnn
