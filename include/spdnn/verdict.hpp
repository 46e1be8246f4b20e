#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spdnn/categories.hpp"

namespace spdnn {

/// Are the categories right, and how is that known? Without a truth the status is unverified, never passed.
struct Verdict {
  enum class Status { passed, failed, unverified } status = Status::unverified;
  std::string against;                 ///< what they were compared with, and what came of it, for people
  std::vector<std::string> checks;     ///< the name of each comparison that was made, whatever came of it
  std::size_t categories = 0;          ///< how many there are
  std::optional<std::size_t> missing;  ///< absent where unknown: nothing to compare with, or a digest that differs
  std::optional<std::size_t> extra;
  std::vector<Index> first_ids;  ///< 1-based, at most ten: the first wrong ids, or the first ids if none is wrong
};

std::string_view to_string(Verdict::Status status);

/// Against a full list of the true categories.
Verdict judge(const Categories& categories, const Categories& truth, std::string against);
/// Against the number and the SHA-256 digest of the true list.
Verdict judge(const Categories& categories, std::size_t count, std::string_view truth_digest, std::string against);
/// Against the truth about `checked` images alone (ascending): status failed where one differs, unverified otherwise.
Verdict judge_sample(const Categories& categories, const std::vector<Index>& checked, const Categories& truth,
                     std::string against);
/// Against nothing, and why not.
Verdict unverified(const Categories& categories, const std::string& why);
/// Of several comparisons of the same categories, at least one: failed where any of them failed, with the numbers of
/// the first that did; passed where one passed and none failed. Names all of them.
Verdict combine(const std::vector<Verdict>& checks);
/// Of a run that another one, which had to give the same categories, contradicts: failed, by the numbers of `other`
/// unless the verdict has failed before. That both agree proves nothing and leaves the status as it is. The comparison
/// is among the checks either way.
Verdict downgrade_if_contradicted(const Verdict& verdict, const Verdict& other);
/// Of a run in which sums overflowed: what passed is unverified, as another order of summation, just as right, may give
/// other categories.
Verdict downgrade_overflowed(Verdict verdict);

}  // namespace spdnn
