#include "report/answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "core/text/message.hpp"
#include "report/phases.hpp"

namespace spdnn {

namespace {

constexpr Index kShownImages = 10;
constexpr Index kShownClasses = 5;

/// Orders classes by score. Ties go to the lower class, as for predictions; NaN comes last.
std::vector<Index> largest(std::span<const float> scores, Index count) {
  const auto before = [&](Index a, Index b) {
    const bool known = !std::isnan(scores[a]);
    if (known == std::isnan(scores[b])) return known;
    return scores[a] > scores[b] || (!(scores[a] < scores[b]) && a < b);
  };
  std::vector<Index> classes(scores.size());
  std::iota(classes.begin(), classes.end(), Index{0});
  std::partial_sort(classes.begin(), classes.begin() + count, classes.end(), before);
  classes.resize(count);
  return classes;
}

std::string image_text(const ModelReport& r, Index image) {
  return r.image_files.empty() ? fmt::format("image {}", image + 1) : escaped(r.image_files[image]);
}

}  // namespace

std::string class_text(const ModelReport& r, Index number) {
  return r.class_names.empty() ? fmt::format("class {}", number)
                               : fmt::format("{} (class {})", escaped(r.class_names[number]), number);
}

std::string answers_text(const ModelReport& r) {
  if (r.classes == 0 || r.predictions.empty()) return {};
  const Index shown = std::min(kShownImages, r.images);
  const Index each = std::min(kShownClasses, r.classes);
  std::string text;
  for (Index image = 0; image < shown; ++image) {
    const auto scores = r.logits().values.span().subspan(std::size_t{image} * r.classes, r.classes);
    std::string line = image_text(r, image) + ":";
    for (const Index number : largest(scores, each))
      line += fmt::format("{} {}, {} {:.4g}", line.ends_with(':') ? "" : ";", class_text(r, number), r.score,
                          scores[number]);
    text += report_line(image == 0 ? "answers" : "", line);
  }
  if (shown < r.images)
    text += report_line("", fmt::format("the first {} of {} images; --predictions FILE writes all", shown, r.images));
  return text;
}

}  // namespace spdnn
