#pragma once

#include <string>
#include <string_view>

namespace spdnn {

/// Exact rewrites of a model; src/model/rewrites has a file for each, with the reason why the bounds hold.
struct Rewrites {
  bool constants = false;   ///< nodes that read only constants are computed beforehand
  bool hard_swish = false;  ///< a hard swish made of several nodes becomes one activation
  bool padding = false;     ///< pads become padding of the convolutions and max pools that read them
  bool affine = false;      ///< batch norms, and sums and products by channel, are folded into the weights before them
  bool dead_channels = false;  ///< unread and constant channels are removed
  bool twin_filters = false;   ///< equal filters are computed once
  bool unread = false;         ///< nodes without effect on an output are removed; the first four do that too after a
                               ///< change
  bool epilogues = false;      ///< engines may fuse activations and sums into the node before them

  bool operator==(const Rewrites&) const = default;
};

inline constexpr Rewrites kAllRewrites{.constants = true,
                                       .hard_swish = true,
                                       .padding = true,
                                       .affine = true,
                                       .dead_channels = true,
                                       .twin_filters = true,
                                       .unread = true,
                                       .epilogues = true};

/// `all`, `none`, or names joined by commas; throws UsageError naming `field` and the choices.
Rewrites parse_rewrites(std::string_view text, std::string_view field = "rewrite");
/// The names joined by commas, in the order above; `none` for no rewrite.
std::string to_string(const Rewrites& rewrites);

}  // namespace spdnn
