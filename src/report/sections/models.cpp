#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/types/share_of_zeros.hpp"
#include "report/sections/cells.hpp"
#include "report/sections/sections.hpp"

namespace spdnn::sections {

namespace {

Cell zeros(const ModelLine& line) {
  return line.weights == 0 ? Cell() : percent(share_of_zeros(line.weights, line.nonzeros));
}

/// The status; a partial comparison is explained beside it.
std::string verdict(const ModelLine& line) {
  if (!line.sample || line.status != "UNVERIFIED") return line.status;
  return fmt::format("UNVERIFIED: {} of {} images compared", *line.sample, line.images);
}

Table model_table(const Results& results) {
  Table table{
      "models-table",
      "Runs of models, in the order of the lines.",
      {{"model", "", false, "The file, as given on the command line"},
       {"verdict", "", false, "PASSED: the logits or the accuracy are right; the rows of other runs are marked"},
       columns::variant(),
       {"images", "", true, "Number of images"},
       {"batch", "", true, "Images at a time"},
       {"infer", "ms", true, "Median over the trials, all images together"},
       {"rate", "images/s", true, "Images / infer"},
       {"zeros", "%", true, "Share of zeros among the weights of convolutions and linear nodes"},
       {"dense", "GFLOP/s", true, "2 x multiply-adds of all weights, zeros too, x images / infer"},
       {"sparse", "GFLOP/s", true, "2 x multiply-adds of weights that are not zero x images / infer"},
       {"accuracy", "%", true, "Share of predictions that match the labels"},
       {"of the bound", "%", true, "The largest deviation of a logit, as a share of the bound on fp32 rounding"},
       columns::run_on()},
      {}};
  for (const auto& [line, place] : results.models)
    table.rows.push_back(
        {{line.model, verdict(line), variant_of(line), whole(line.images), whole(line.batch),
          milliseconds(line.infer.median), number(line.images_per_second), zeros(line), number(line.dense / 1e9),
          number(line.sparse / 1e9), line.accuracy ? percent(*line.accuracy) : Cell(),
          line.largest_ratio ? percent(*line.largest_ratio) : Cell(), origin(place)},
         line.status != "PASSED"});
  return table;
}

Chart model_rates(const Results& results) {
  constexpr std::size_t kMost = 40;
  constexpr double kFarApart = 30;
  Chart chart{.id = "models-chart",
              .title = "Images per second",
              .description = "Higher is better. FAILED runs are omitted.",
              .kind = Chart::Kind::bars,
              .x = {"images per second"},
              .series = {{"PASSED"}, {"UNVERIFIED"}}};
  std::size_t left_out = 0;
  Spread shown{INFINITY, 0, 0, 0};
  for (const auto& [line, place] : results.models) {
    if (line.status == "FAILED" || line.images_per_second <= 0) continue;
    if (chart.categories.size() == kMost) {
      ++left_out;
      continue;
    }
    chart.series[line.status == "PASSED" ? 0 : 1].points.push_back(
        {static_cast<double>(chart.categories.size()), line.images_per_second});
    shown.min = std::min(shown.min, line.images_per_second);
    shown.max = std::max(shown.max, line.images_per_second);
    chart.categories.push_back(name_of(line, place, results));
  }
  chart.x.logarithmic = shown.max > kFarApart * shown.min;
  if (chart.x.logarithmic) chart.description += " The axis is logarithmic.";
  if (left_out > 0) chart.description += fmt::format(" {} more are omitted.", left_out);
  std::erase_if(chart.series, [](const Series& series) { return series.points.empty(); });
  return chart;
}

using Profile = std::vector<ProfiledNode>;

/// Names a node by its position in the model that ran.
std::string node_name(const Profile& profile, std::size_t node) {
  const ProfiledNode& one = profile[node];
  return fmt::format("{} {}{}", node + 1, one.operation, one.name.empty() ? "" : ", " + one.name);
}

double seconds_of(const Profile& profile) {
  double sum = 0;
  for (const ProfiledNode& node : profile) sum += node.seconds;
  return sum;
}

/// The nodes that take the most time, in the model's order.
Chart nodes_chart(const Profile& profile, const std::string& id, const std::string& title) {
  constexpr std::size_t kMost = 25;
  std::vector<std::size_t> nodes(profile.size());
  std::iota(nodes.begin(), nodes.end(), std::size_t{0});
  std::stable_sort(nodes.begin(), nodes.end(), [&](auto a, auto b) { return profile[a].seconds > profile[b].seconds; });
  nodes.resize(std::min(nodes.size(), kMost));
  std::sort(nodes.begin(), nodes.end());
  Chart chart{.id = id, .title = title, .kind = Chart::Kind::bars, .x = {"ms"}, .series = {{"time"}}};
  double shown = 0;
  for (const std::size_t node : nodes) {
    chart.series[0].points.push_back({static_cast<double>(chart.categories.size()), profile[node].seconds * 1e3});
    chart.categories.push_back(node_name(profile, node));
    shown += profile[node].seconds;
  }
  chart.description = nodes.size() == profile.size()
                          ? std::string("Time in a trial for all images together, node by node in the model's order.")
                          : fmt::format(
                                "Time in a trial for all images together: the {} nodes that take the most time, in the "
                                "model's order; {:.1f} % of the time of all {}.",
                                nodes.size(), 100 * share_of(shown, seconds_of(profile)), profile.size());
  return chart;
}

Table nodes_table(const Profile& profile, const std::string& id, const std::string& title) {
  Table table{id,
              title + ": every node of the model that ran, after the rewrites.",
              {{"node", "", true, "In order of computation"},
               {"operation"},
               {"name"},
               {"time", "ms", true, "In a trial for all images together; the maximum over ranks"},
               {"share", "%", true, "Share of the time of all nodes"}},
              {}};
  const double all = seconds_of(profile);
  for (std::size_t n = 0; n < profile.size(); ++n)
    table.rows.push_back({{whole(n + 1), profile[n].operation, profile[n].name, milliseconds(profile[n].seconds),
                           percent(share_of(profile[n].seconds, all))}});
  return table;
}

}  // namespace

std::optional<Section> models(const Results& results) {
  if (results.models.empty()) return std::nullopt;
  Section section{"models", "Models", {}};
  Chart chart = model_rates(results);
  if (!chart.series.empty()) section.blocks.emplace_back(std::move(chart));
  section.blocks.emplace_back(model_table(results));
  return section;
}

std::optional<Section> profiles(const Results& results) {
  constexpr std::size_t kMost = 8;
  Section section{"profiles", "Time by node", {}};
  std::size_t number = 0;
  const auto add = [&](const auto& line, const Profile& profile, std::size_t place) {
    if (profile.empty() || ++number > kMost) return;
    const std::string title = name_of(line, place, results);
    const std::string id = fmt::format("profile-{}", number);
    section.blocks.emplace_back(nodes_chart(profile, id + "-chart", title));
    section.blocks.emplace_back(nodes_table(profile, id, title));
  };
  for (const auto& [line, place] : results.models) add(line, line.profile, place);
  for (const auto& [line, place] : results.model_benches) add(line, line.layers, place);
  if (number == 0) return std::nullopt;
  if (number > kMost)
    section.blocks.emplace_back(
        Paragraph{fmt::format("The first {1} of {0} runs with times of nodes are shown.", number, kMost)});
  return section;
}

}  // namespace spdnn::sections
