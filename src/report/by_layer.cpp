#include "report/by_layer.hpp"

#include <algorithm>
#include <utility>

namespace spdnn {

std::vector<Point> points_by_layer(const std::vector<double>& values, bool logarithmic) {
  std::vector<Point> points;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool flat = i > 0 && i + 1 < values.size() && values[i] == values[i - 1] && values[i] == values[i + 1];
    if (!flat && (values[i] > 0 || !logarithmic)) points.push_back({static_cast<double>(i + 1), values[i]});
  }
  return points;
}

std::vector<Series> without_twins(const std::vector<Series>& series) {
  std::vector<Series> kept;
  for (const Series& one : series) {
    const auto same_place = [](const Point& a, const Point& b) { return a.x == b.x && a.y == b.y; };
    const auto twin = std::find_if(kept.begin(), kept.end(), [&](const Series& other) {
      return std::equal(other.points.begin(), other.points.end(), one.points.begin(), one.points.end(), same_place);
    });
    if (twin == kept.end())
      kept.push_back(one);
    else
      twin->name += " = " + one.name;
  }
  return kept;
}

Chart zeros_by_node(std::string description, const std::vector<Series>& shares) {
  Chart chart{.id = "zeros",
              .title = "Zeros by node",
              .description = std::move(description),
              .kind = Chart::Kind::lines,
              .x = {"node"},
              .y = {"% of the weights"}};
  chart.y.end = 100;
  chart.series = without_twins(shares);
  return chart;
}

std::vector<std::size_t> some_layers(std::size_t depth) {
  std::vector<std::size_t> layers;
  for (std::size_t decade = 1; decade < depth; decade *= 10)
    for (const std::size_t digit : {1, 2, 5})
      if (digit * decade < depth) layers.push_back(digit * decade);
  if (depth > 0) layers.push_back(depth);
  return layers;
}

}  // namespace spdnn
