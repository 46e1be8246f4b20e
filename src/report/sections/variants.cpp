#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "report/sections/cells.hpp"
#include "report/sections/sections.hpp"

namespace spdnn::sections {

namespace {

using Group = std::vector<const Configuration*>;  ///< the fastest first

bool same_work(const Configuration& a, const Configuration& b) {
  return same_problem(a.first, b.first) && a.first.passes == b.first.passes && a.first.ranks == b.first.ranks &&
         a.first.origin.same_machine(b.first.origin);
}

/// The fastest of each variant; groups with a single variant are dropped.
std::vector<Group> variant_groups(const Results& results) {
  std::vector<Group> groups;
  Candidates<std::size_t> candidates;
  for (const Configuration& one : results.headline) {
    const std::string key = problem_key(one.first);
    const auto fits = [&](std::size_t place) { return same_work(*groups[place].front(), one); };
    if (const std::size_t* const place = candidates.find(key, fits)) {
      Group& group = groups[*place];
      const auto same = [&](const Configuration* other) { return variant_of(other->first) == variant_of(one.first); };
      if (std::none_of(group.begin(), group.end(), same)) group.push_back(&one);
    } else {
      candidates.add(key, groups.size());
      groups.push_back({&one});
    }
  }
  std::erase_if(groups, [](const Group& group) { return group.size() < 2; });
  return groups;
}

Table variant_table(const std::vector<Group>& groups, const RateUnit& unit) {
  Table table{"variants-table",
              "Verified results of variants that had the same problem, passes and machine, the fastest first.",
              {columns::neurons(),
               columns::layers(),
               columns::passes(),
               columns::variant(),
               columns::infer(),
               columns::rate(unit),
               {"times as long", "", true, "infer / infer of the fastest variant"},
               {"upload", "ms", true, "Plan and images into the engine's own form, on its device"},
               {"trials", "", true},
               columns::run_on()},
              {}};
  for (const Group& group : groups)
    for (const Configuration* one : group)
      table.rows.push_back(
          {{Cell(one->first.neurons, static_cast<double>(one->first.width)), whole(one->first.layers),
            one->first.passes, variant_of(one->first), milliseconds(one->infer.median), unit.cell(one->rate()),
            number(one->infer.median / group.front()->infer.median), milliseconds(one->phase("upload")),
            whole(static_cast<std::uint64_t>(one->first.trials)), origin(one->origin)}});
  return table;
}

Chart variant_chart(const std::vector<Group>& groups) {
  constexpr std::size_t kMostGroups = 4;  // more would be too many bars
  Chart chart{.id = "variants-chart",
              .title = "Variants on the same work",
              .description =
                  "Logarithmic axis, lower is better. All variants of a group computed the same problem with the same "
                  "passes; groups with the most variants are shown.",
              .kind = Chart::Kind::bars,
              .x = {"infer, ms", true}};
  std::vector<std::size_t> sizes;
  sizes.reserve(groups.size());
  for (const Group& group : groups) sizes.push_back(group.size());
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  const std::size_t least = sizes[std::min(sizes.size(), kMostGroups) - 1];
  auto room =
      kMostGroups - static_cast<std::size_t>(std::ranges::count_if(sizes, [&](auto size) { return size > least; }));
  for (const Group& group : groups) {
    if (group.size() < least || (group.size() == least && room == 0)) continue;
    if (group.size() == least) --room;
    const auto place = static_cast<double>(chart.categories.size());
    chart.categories.push_back(fmt::format("{}, {}", problem_of(group.front()->first), group.front()->first.passes));
    for (const Configuration* one : group)
      points_of(chart, {variant_of(one->first)}).push_back({place, one->infer.median * 1e3});
  }
  return chart;
}

}  // namespace

std::optional<Section> variants(const Results& results) {
  const std::vector<Group> groups = variant_groups(results);
  if (groups.empty()) return std::nullopt;
  Section section{"variants", "Variants side by side", {}};
  section.blocks.emplace_back(Paragraph{
      "Rows of one group may be from different builds on the same machine, as `run on` shows. `dead` as the only one "
      "of the passes corresponds to published systems: every edge of every image that is not all zero."});
  section.blocks.emplace_back(variant_chart(groups));
  section.blocks.emplace_back(variant_table(groups, rate_unit(results)));
  return section;
}

}  // namespace spdnn::sections
