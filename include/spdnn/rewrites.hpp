#pragma once

#include <string>
#include <string_view>

namespace spdnn {

/// Which exact rewrites of a model are made; src/model/rewrites has a file for each, which says why the bounds hold.
struct Rewrites {
  bool constants = false;   ///< nodes that read constants alone are computed beforehand
  bool hard_swish = false;  ///< a hard swish in several nodes becomes one activation
  bool affine = false;      ///< batch norms, and sums and products by channel, become part of the weights before them
  bool dead_channels = false;  ///< channels that nothing reads, or that are constant, are left out
  bool twin_filters = false;   ///< equal filters are computed once
  bool unread = false;         ///< nodes that no output depends on are left out; the first three do so, too, once they
                               ///< have changed something
  bool epilogues = false;      ///< engines that can compute activations and sums with the node before them, before
                               ///< its output is stored

  bool operator==(const Rewrites&) const = default;
};

inline constexpr Rewrites kAllRewrites{.constants = true,
                                       .hard_swish = true,
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
