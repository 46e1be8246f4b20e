#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spdnn/categories.hpp"

namespace spdnn {

/// Whether a result is right, and by which comparison. Without a truth the status is unverified, never passed.
struct Judgement {
  enum class Status { passed, failed, unverified } status = Status::unverified;
  std::string against;  ///< the comparisons and their results, for people
};

/// Whether the categories are right.
struct Verdict : Judgement {
  std::vector<std::string> checks;     ///< the name of each comparison, whatever its result
  std::size_t categories = 0;          ///< their number
  std::optional<std::size_t> missing;  ///< empty if unknown: no truth, or only a digest that differs
  std::optional<std::size_t> extra;
  std::vector<Index> first_ids;  ///< 1-based, at most ten: the first wrong ids, or the first ids if none is wrong
};

std::string_view to_string(Verdict::Status status);

/// Against a full list of the true categories.
Verdict judge(const Categories& categories, const Categories& truth, std::string against);
/// Against the number and the SHA-256 digest of the true list.
Verdict judge(const Categories& categories, std::size_t count, std::string_view truth_digest, std::string against);
/// Against the truth of the `checked` images only (ascending): failed if one differs, unverified otherwise.
Verdict judge_sample(const Categories& categories, const std::vector<Index>& checked, const Categories& truth,
                     std::string against);
/// Without a comparison, with the reason.
Verdict unverified(const Categories& categories, const std::string& why);
/// Combines one or more comparisons of the same categories: failed if any failed, with the numbers of the first
/// failure; passed if one passed and none failed. Names all of them.
Verdict combine(const std::vector<Verdict>& checks);
/// After a second run that must give the same categories: failed if the runs differ, with the numbers of `other` unless
/// the verdict had failed before. Agreement proves nothing and leaves the status. The comparison is among the checks
/// either way.
Verdict downgrade_if_contradicted(const Verdict& verdict, const Verdict& other);
/// After a run with overflowed sums: passed becomes unverified, because another order of summation, just as right, may
/// give other categories.
Verdict downgrade_overflowed(Verdict verdict);

}  // namespace spdnn
