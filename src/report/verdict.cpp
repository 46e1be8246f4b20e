#include "spdnn/verdict.hpp"

#include <algorithm>
#include <iterator>

namespace spdnn {

namespace {

constexpr std::size_t kShownIds = 10;

std::vector<Index> first_of(const std::vector<Index>& ids) {
  std::vector<Index> shown(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(std::min(ids.size(), kShownIds)));
  for (Index& id : shown) ++id;
  return shown;
}

/// A verdict before any comparison.
Verdict about(const Categories& categories, std::string against) {
  Verdict verdict;
  verdict.against = std::move(against);
  verdict.categories = categories.size();
  verdict.first_ids = first_of(categories);
  return verdict;
}

/// A check before the comparison named `against` has a result.
Verdict check_of(const Categories& categories, std::string against) {
  Verdict verdict = about(categories, std::move(against));
  verdict.checks = {verdict.against};
  return verdict;
}

void append(std::vector<std::string>& checks, const std::vector<std::string>& more) {
  checks.insert(checks.end(), more.begin(), more.end());
}

Verdict from(const Comparison& comparison, const Categories& categories, std::string against) {
  Verdict verdict = check_of(categories, std::move(against));
  verdict.status = comparison.equal() ? Verdict::Status::passed : Verdict::Status::failed;
  verdict.missing = comparison.missing.size();
  verdict.extra = comparison.extra.size();
  if (!comparison.equal()) {
    std::vector<Index> wrong;
    std::merge(comparison.missing.begin(), comparison.missing.end(), comparison.extra.begin(), comparison.extra.end(),
               std::back_inserter(wrong));
    verdict.first_ids = first_of(wrong);
  }
  return verdict;
}

}  // namespace

std::string_view to_string(Verdict::Status status) {
  switch (status) {
    case Verdict::Status::passed:
      return "PASSED";
    case Verdict::Status::failed:
      return "FAILED";
    default:
      return "UNVERIFIED";
  }
}

Verdict judge(const Categories& categories, const Categories& truth, std::string against) {
  return from(compare(categories, truth), categories, std::move(against));
}

Verdict judge(const Categories& categories, std::size_t count, std::string_view truth_digest, std::string against) {
  Verdict verdict = check_of(categories, std::move(against));
  const bool right = categories.size() == count && digest(categories) == truth_digest;
  verdict.status = right ? Verdict::Status::passed : Verdict::Status::failed;
  if (right) {
    verdict.missing = 0;
    verdict.extra = 0;
  }
  return verdict;
}

Verdict judge_sample(const Categories& categories, const std::vector<Index>& checked, const Categories& truth,
                     std::string against) {
  Categories among_checked;
  std::set_intersection(categories.begin(), categories.end(), checked.begin(), checked.end(),
                        std::back_inserter(among_checked));
  Verdict verdict = from(compare(among_checked, truth), categories, std::move(against));
  if (verdict.status == Verdict::Status::passed) verdict.status = Verdict::Status::unverified;
  return verdict;
}

Verdict unverified(const Categories& categories, const std::string& why) {
  return about(categories, "nothing: " + why);
}

Verdict combine(const std::vector<Verdict>& checks) {
  const auto first = [&](Verdict::Status status) {
    return std::find_if(checks.begin(), checks.end(), [&](const Verdict& check) { return check.status == status; });
  };
  auto decisive = first(Verdict::Status::failed);
  const bool failed = decisive != checks.end();
  if (!failed) decisive = first(Verdict::Status::passed);
  if (decisive == checks.end()) decisive = checks.begin();
  std::string deciding;
  std::string agreeing;
  std::vector<std::string> names_of_all;
  for (const Verdict& check : checks) {
    append(names_of_all, check.checks);
    std::string& names = failed && check.status != Verdict::Status::failed ? agreeing : deciding;
    names += (names.empty() ? "" : " and ") + check.against;
  }
  Verdict verdict = *decisive;
  verdict.checks = std::move(names_of_all);
  verdict.against = deciding + (agreeing.empty() ? "" : ", though not against " + agreeing);
  return verdict;
}

Verdict downgrade_if_contradicted(const Verdict& verdict, const Verdict& other) {
  if (other.status == Verdict::Status::failed) return verdict.checks.empty() ? other : combine({verdict, other});
  Verdict agreed = verdict;
  append(agreed.checks, other.checks);
  return agreed;
}

Verdict downgrade_overflowed(Verdict verdict) {
  if (verdict.status != Verdict::Status::passed) return verdict;
  verdict.status = Verdict::Status::unverified;
  verdict.against += ", but sums overflowed";
  return verdict;
}

}  // namespace spdnn
