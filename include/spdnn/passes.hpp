#pragma once

#include <string>
#include <string_view>

namespace spdnn {

/// Passes that skip redundant work. Static ones change the plan, dynamic ones the run; src/plan has the proofs.
struct Passes {
  bool twins = false;      ///< static: equal output neurons are computed once
  bool unused = false;     ///< static: neurons that nothing reads, or that can never be non-zero, are not computed
  bool merge = false;      ///< static: inputs that are twins are added once, times their count (re-associates sums)
  bool saturated = false;  ///< dynamic: images all at the cap are retired from the certificate's layer on
  bool dead = false;       ///< dynamic: all-zero images are retired, likewise
  bool identical = false;  ///< dynamic: images with equal rows are one image from there on

  bool operator==(const Passes&) const = default;
};

/// All passes that keep activations bit for bit: all but `merge`.
inline constexpr Passes kExactPasses{
    .twins = true, .unused = true, .merge = false, .saturated = true, .dead = true, .identical = true};

/// `all` (kExactPasses), `dead`, `none`, or names joined by commas; throws UsageError naming `field` and the choices.
Passes parse_passes(std::string_view text, std::string_view field = "passes");
/// The names joined by commas, in the order above; `none` for no pass.
std::string to_string(const Passes& passes);

}  // namespace spdnn
