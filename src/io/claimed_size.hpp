#pragma once

#include <cstddef>
#include <string>

#include "spdnn/types.hpp"

namespace spdnn {

// Names, headers and ids say how many neurons or images there are, and each takes memory even if the file holds nothing
// of it. They are believed up to 1048576, and beyond that one for every eight bytes of text (or of a packed file): a
// line takes more, so that whatever has an entry for each neuron or image is taken. What the caller says is believed.

/// The most neurons or images that so many bytes are believed to be about.
Index believed_size(std::size_t bytes);

/// DataError `PLACE: CLAIMED WHAT, expected at most ...` where a file of so many bytes claims more.
void check_claimed_size(const std::string& place, Offset claimed, const std::string& what, std::size_t bytes);

/// What messages say after the limit.
std::string claimed_size_reason(std::size_t bytes);

}  // namespace spdnn
