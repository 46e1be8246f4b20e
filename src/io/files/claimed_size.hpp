#pragma once

#include <cstddef>
#include <string>

#include "spdnn/types.hpp"

namespace spdnn {

// Names, headers and ids state how many neurons or images there are, and each takes memory even if the file has no data
// for it. Such numbers are accepted up to 1048576, and beyond that up to one for every eight bytes of text or of a
// packed file. A line of text is longer than that, so every file with an entry for each neuron or image is accepted.
// Numbers given by the caller are not limited.

/// The largest number of neurons or images accepted from a file of `bytes` bytes.
Index believed_size(std::size_t bytes);

/// Throws DataError `PLACE: CLAIMED WHAT, expected at most ...` if a file of `bytes` bytes claims more than that.
void check_claimed_size(const std::string& place, Offset claimed, const std::string& what, std::size_t bytes);

/// The text after the limit in these messages.
std::string claimed_size_reason(std::size_t bytes);

}  // namespace spdnn
