#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "inference/model/accuracy.hpp"
#include "spdnn/model_report.hpp"

namespace spdnn {

/// An output of one image, found and expected, with the bounds of the expected numbers.
struct Compared {
  std::span<const float> found;
  std::span<const double> expected;
  std::span<const double> bounds;
};

/// NaN exceeds every number.
inline double or_infinite(double number) {
  return std::isnan(number) ? std::numeric_limits<double>::infinity() : number;
}
/// Any deviation exceeds a bound of 0.
inline double ratio(double off, double bound) { return off == 0 ? 0 : or_infinite(off / bound); }

/// Compares one output with the expected one, image by image.
class OutputComparer {
 public:
  OutputComparer(std::string name, std::vector<bool> probabilities) : probabilities_(std::move(probabilities)) {
    check_.name = std::move(name);
  }

  /// The largest ratio of a deviation to its bound.
  double add(const Compared& image) {
    double largest = 0;
    double farthest = 0;
    double excess = 0;
    for (std::size_t i = 0; i < image.found.size(); ++i) {
      const double off = std::abs(image.found[i] - image.expected[i]);
      const double size = std::abs(image.expected[i]);
      largest = std::max(largest, ratio(off, image.bounds[i]));
      check_.largest_deviation = std::max(check_.largest_deviation, or_infinite(off));
      check_.largest_bound = std::max(check_.largest_bound, or_infinite(image.bounds[i]));
      check_.largest_expected = std::max(check_.largest_expected, size);
      if (probabilities_[i]) {
        excess = std::max(excess, ratio(off, OutputCheck::tolerance_of_probability(size)));
      } else {
        farthest = std::max(farthest, or_infinite(off));
        largest_other_ = std::max(largest_other_, size);
      }
    }
    check_.largest_ratio = std::max(check_.largest_ratio, largest);
    images_.push_back({farthest, excess});
    return largest;
  }

  /// After all images: the comparison, and by image the largest deviation relative to the tolerance, which is widened
  /// by `factor`, or as far as it may be.
  std::pair<OutputCheck, std::vector<double>> take(double factor) {
    const double widened = std::min(factor, OutputCheck::kMostDecided);
    const bool all = std::find(probabilities_.begin(), probabilities_.end(), false) == probabilities_.end();
    check_.tolerance =
        all ? OutputCheck::tolerance_of_probability(check_.largest_expected) : OutputCheck::kTolerance * largest_other_;
    check_.tolerance *= widened;
    check_.widened = widened;
    check_.undecided = widened < factor;
    std::vector<double> excess;
    for (const Image& image : images_) {
      const double of_probabilities = image.excess / widened;
      excess.push_back(all ? of_probabilities : std::max(of_probabilities, ratio(image.farthest, check_.tolerance)));
      check_.largest_excess = std::max(check_.largest_excess, excess.back());
    }
    return {std::move(check_), std::move(excess)};
  }

 private:
  /// The tolerance of numbers other than probabilities is known once all images are.
  struct Image {
    double farthest;  ///< deviation of a number that is no probability
    double excess;    ///< of a probability: the largest deviation relative to the tolerance
  };

  std::vector<bool> probabilities_;  ///< by element of an image; see probabilities_of()
  double largest_other_ = 0;         ///< expected number that is no probability
  std::vector<Image> images_;
  OutputCheck check_;
};

/// Compares all outputs with expected ones, image by image.
class Comparer {
 public:
  Comparer(std::string against, Index classes, std::vector<OutputComparer> outputs)
      : classes_(classes), outputs_(std::move(outputs)) {
    check_.against = std::move(against);
  }

  void add(Index image, const std::vector<Compared>& outputs) {
    double largest = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i) largest = std::max(largest, outputs_[i].add(outputs[i]));
    images_.push_back({image, largest > 1});
    if (classes_ > 0) add_prediction(image, outputs.front());
  }

  /// `widened`, by output, are factors of the tolerance; empty: all 1.
  LogitCheck take(const std::vector<double>& widened = {}) {
    std::vector<double> excess(images_.size());
    std::vector<double> undecided(images_.size());
    for (std::size_t o = 0; o < outputs_.size(); ++o) {
      auto [check, by_image] = outputs_[o].take(widened.empty() ? 1 : widened[o]);
      std::vector<double>& largest = check.undecided ? undecided : excess;
      for (std::size_t i = 0; i < largest.size(); ++i) largest[i] = std::max(largest[i], by_image[i]);
      check_.outputs.push_back(std::move(check));
    }
    for (std::size_t i = 0; i < images_.size(); ++i) {
      if (!images_[i].outside && excess[i] <= 1) {
        if (undecided[i] > 1) ++check_.undecided;
        continue;
      }
      ++(images_[i].outside ? check_.outside : check_.beyond);
      if (check_.first_ids.size() < kShownIds) check_.first_ids.push_back(images_[i].number + 1);
    }
    check_.images = static_cast<Index>(images_.size());
    return std::move(check_);
  }

 private:
  static constexpr std::size_t kShownIds = 10;
  struct Image {
    Index number;
    bool outside;  ///< the bound
  };

  void add_prediction(Index image, const Compared& output) {
    const Index mine = largest_of(output.found);
    const Index theirs = largest_of(output.expected);
    if (mine == theirs) return;
    ++check_.differing;
    if (output.expected[theirs] - output.expected[mine] <= output.bounds[theirs] + output.bounds[mine])
      check_.near_ties.push_back({image, mine, theirs});
  }

  Index classes_;
  std::vector<OutputComparer> outputs_;
  std::vector<Image> images_;
  LogitCheck check_;
};

}  // namespace spdnn
