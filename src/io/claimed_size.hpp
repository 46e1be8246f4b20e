#pragma once

#include <cstddef>
#include <string>

#include "spdnn/types.hpp"

namespace spdnn {

// Names, headers and ids claim how many neurons or images there are, and each takes memory even if the file holds
// nothing about it. Claims are believed up to 1048576, and beyond that one for every eight bytes of text or of a packed
// file. Since a line of text is longer than that, every file with an entry for each neuron or image is accepted. What
// the caller says is believed without limit.

/// The most neurons or images that a file of that many bytes is believed to describe.
Index believed_size(std::size_t bytes);

/// DataError `PLACE: CLAIMED WHAT, expected at most ...` where a file of that many bytes claims more.
void check_claimed_size(const std::string& place, Offset claimed, const std::string& what, std::size_t bytes);

/// The words that follow the limit in messages.
std::string claimed_size_reason(std::size_t bytes);

}  // namespace spdnn
