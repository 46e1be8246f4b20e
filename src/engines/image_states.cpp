#include "engines/image_states.hpp"

namespace spdnn {

Outcome resolve(std::span<const ImageState> states) {
  Outcome outcome;
  for (Index image = 0; image < states.size(); ++image) {
    Index owner = image;
    while (states[owner].kind == ImageState::Kind::duplicate) owner = states[owner].duplicate_of;
    const ImageState::Kind end = states[owner].kind;
    if (end == ImageState::Kind::undecided || end == ImageState::Kind::saturated) outcome.categories.push_back(image);
    if (end == ImageState::Kind::borderline) outcome.borderline.push_back(image);
    if (states[image].kind == ImageState::Kind::saturated) ++outcome.saturated;
    if (states[image].kind == ImageState::Kind::duplicate) ++outcome.identical;
  }
  return outcome;
}

}  // namespace spdnn
