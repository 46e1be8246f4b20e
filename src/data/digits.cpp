// Synthetic digits. Each image is one of ten shapes made of strokes, drawn with a pen of random width. The points are
// moved slightly, and the whole shape is rotated, slanted, stretched and shifted. A pixel is set if its centre lies
// within half the pen's width of a stroke. Widths and sizes are chosen so that about a tenth of the pixels are ones at
// any image size, as in the official images, with variation between images: the official networks, which keep the
// fullest 3 %, also keep some of these images.
//
// Cost: about 30 bounding boxes of stroke pieces per image; 60000 images of 65536 neurons take seconds.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/threads/parallel.hpp"
#include "data/counter_random.hpp"
#include "data/generate.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

/// A point of the unit square; x points to the right, y downwards.
struct Point {
  double x;
  double y;
};
using Stroke = std::vector<Point>;

/// The strokes of a digit: smooth curves through the given points.
const std::vector<Stroke>& shape_of(Index digit) {
  static const std::array<std::vector<Stroke>, 10> shapes{{
      {{{.50, .18}, {.34, .28}, {.28, .50}, {.34, .72}, {.50, .82}, {.66, .72}, {.72, .50}, {.66, .28}, {.50, .18}}},
      {{{.40, .30}, {.52, .18}, {.51, .50}, {.48, .82}}},
      {{{.30, .34}, {.42, .20}, {.60, .20}, {.68, .34}, {.58, .52}, {.42, .68}, {.30, .80}},
       {{.30, .80}, {.50, .78}, {.72, .80}}},
      {{{.32, .24}, {.50, .18}, {.66, .28}, {.60, .44}, {.46, .49}},
       {{.46, .49}, {.64, .54}, {.70, .68}, {.56, .81}, {.30, .76}}},
      {{{.38, .20}, {.33, .40}, {.32, .54}, {.50, .55}, {.72, .52}}, {{.64, .20}, {.62, .50}, {.60, .82}}},
      {{{.68, .20}, {.52, .20}, {.38, .22}},
       {{.38, .22}, {.36, .36}, {.35, .46}},
       {{.35, .46}, {.52, .42}, {.68, .54}, {.66, .72}, {.50, .82}, {.30, .76}}},
      {{{.62, .18}, {.44, .32}, {.34, .54}, {.36, .74}, {.52, .82}, {.66, .72}, {.62, .56}, {.48, .52}, {.37, .62}}},
      {{{.30, .22}, {.50, .20}, {.70, .22}}, {{.70, .22}, {.58, .46}, {.46, .82}}},
      {{{.60, .22},
        {.44, .20},
        {.36, .32},
        {.50, .48},
        {.65, .64},
        {.60, .78},
        {.45, .82},
        {.35, .70},
        {.46, .52},
        {.62, .36},
        {.60, .22}}},
      {{{.64, .32}, {.52, .20}, {.38, .28}, {.38, .42}, {.52, .48}, {.64, .36}}, {{.65, .28}, {.63, .56}, {.58, .82}}},
  }};
  return shapes[digit];
}

/// The point at t in [0, 1] between b and c of the curve through a, b, c, d (Catmull & Rom 1974).
Point curve_point(Point a, Point b, Point c, Point d, double t) {
  const auto along = [t](double p, double q, double r, double s) {
    return q + t / 2 * (r - p + t * (2 * p - 5 * q + 4 * r - s + t * (3 * (q - r) + s - p)));
  };
  return {along(a.x, b.x, c.x, d.x), along(a.y, b.y, c.y, d.y)};
}

/// The handwriting of one image, drawn at random.
class Hand {
 public:
  explicit Hand(RandomStream& random)
      : random_(random),
        turn_(random.between(-0.25, 0.25)),
        slant_(random.between(-0.15, 0.25)),
        width_(random.between(0.85, 1.3)),
        height_(random.between(0.9, 1.15)),
        shift_{random.between(-0.05, 0.05), random.between(-0.05, 0.05)} {}

  Point place(Point p) {
    constexpr double kTremble = 0.02;
    const double x = (p.x - 0.5 + random_.between(-kTremble, kTremble)) * width_;
    const double y = (p.y - 0.5 + random_.between(-kTremble, kTremble)) * height_;
    const double slanted = x - slant_ * y;
    return {0.5 + shift_.x + std::cos(turn_) * slanted - std::sin(turn_) * y,
            0.5 + shift_.y + std::sin(turn_) * slanted + std::cos(turn_) * y};
  }

 private:
  RandomStream& random_;
  double turn_;
  double slant_;
  double width_;
  double height_;
  Point shift_;
};

/// The pixels of a side x side image as bits. A pixel is neuron col * side + row, as in the official images.
class Canvas {
 public:
  Canvas(Index side, std::uint64_t* words) : side_(side), words_(words) {}

  /// Sets all pixels whose centre lies within `radius` of the line from a to b.
  void draw(Point a, Point b, double radius) {
    const double dx = b.x - a.x;
    const double dy = b.y - a.y;
    const double length2 = std::max(dx * dx + dy * dy, 1e-12);
    const Index last_col = pixel(std::max(a.x, b.x) + radius);
    const Index last_row = pixel(std::max(a.y, b.y) + radius);
    for (Index col = pixel(std::min(a.x, b.x) - radius); col <= last_col; ++col) {
      const double px = centre(col) - a.x;
      for (Index row = pixel(std::min(a.y, b.y) - radius); row <= last_row; ++row) {
        const double py = centre(row) - a.y;
        const double t = std::clamp((px * dx + py * dy) / length2, 0.0, 1.0);
        const double ex = px - t * dx;
        const double ey = py - t * dy;
        const std::size_t neuron = std::size_t{col} * side_ + row;
        words_[neuron / 64] |= std::uint64_t{ex * ex + ey * ey <= radius * radius} << neuron % 64;
      }
    }
  }

 private:
  double centre(Index pixel) const { return (pixel + 0.5) / side_; }
  Index pixel(double x) const { return static_cast<Index>(std::clamp(x * side_, 0.0, side_ - 1.0)); }

  Index side_;
  std::uint64_t* words_;
};

void draw_digit(RandomStream random, Canvas canvas) {
  const std::vector<Stroke>& shape = shape_of(random.below(10));
  // Most pens are thin, some thick.
  const double radius = 0.022 + 0.055 * random.unit() * random.unit();
  Hand hand(random);
  for (const Stroke& stroke : shape) {
    Stroke placed;
    for (const Point point : stroke) placed.push_back(hand.place(point));
    constexpr int kPieces = 4;
    const auto last = placed.size() - 1;
    for (std::size_t i = 0; i < last; ++i) {
      Point from = placed[i];
      for (int piece = 1; piece <= kPieces; ++piece) {
        const Point to = curve_point(placed[i == 0 ? 0 : i - 1], placed[i], placed[i + 1],
                                     placed[std::min(i + 2, last)], static_cast<double>(piece) / kPieces);
        canvas.draw(from, to, radius);
        from = to;
      }
    }
  }
}

}  // namespace

ImageSet generate_digit_images(Index neurons, Index images, std::uint64_t seed) {
  const auto side = static_cast<Index>(std::lround(std::sqrt(static_cast<double>(neurons))));
  if (neurons == 0 || std::uint64_t{side} * side != neurons)
    throw UsageError(fmt::format("digits are square images: {} neurons is not a square number", neurons));
  BitMatrix result{.rows = images, .cols = neurons};
  const std::size_t width = result.words_per_row();
  std::vector<std::uint64_t> words(width * images);
  const auto pieces = static_cast<std::size_t>(host_threads()) * 16;
  parallel_ranges(images, pieces, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t image = begin; image < end; ++image)
      draw_digit(RandomStream(seed, 0, image), Canvas(side, words.data() + image * width));
  });
  result.words = Array<std::uint64_t>(std::move(words));
  return {result};
}

}  // namespace spdnn
