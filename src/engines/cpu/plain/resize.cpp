// Resizes of row-major images.

#include <algorithm>
#include <array>
#include <vector>

#include "engines/cpu/plain/loops.hpp"
#include "model/operations/geometry.hpp"

namespace spdnn::plain {

namespace {

/// Rows of the output that are made one after another, so that rows of the input which they share are kept.
constexpr Extent kBand = 16;

/// Where the elements of the output lie along an axis of the input.
std::vector<Between> places_along(const Resize& resize, std::size_t axis, Extent length, Extent count) {
  std::vector<Between> all;
  for (Extent i = 0; i < count; ++i)
    all.push_back(resize.kind == Resize::Kind::nearest ? Between{nearest_element(resize, axis, length, i), 0, 0}
                                                       : between_elements(resize, axis, length, i));
  return all;
}

/// The last two rows of a plane that were interpolated across: when an image grows, several rows of the output lie
/// between the same two of the input.
class RowsAcross {
 public:
  explicit RowsAcross(const std::vector<Between>& columns) : columns_(columns) {
    for (std::vector<float>& row : rows_) row.resize(columns.size());
  }

  void begin(const float* plane, Extent width) {
    plane_ = plane;
    width_ = width;
    held_.fill(-1);
  }
  /// Keeps the row `other`, if it is held.
  const float* get(Extent row, Extent other) {
    const auto found = std::find(held_.begin(), held_.end(), row);
    if (found != held_.end()) return rows_[static_cast<std::size_t>(found - held_.begin())].data();
    const std::size_t place = held_[0] == other ? 1 : 0;
    held_[place] = row;
    float* const to = rows_[place].data();
    const float* const from = plane_ + row * width_;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const Between& column = columns_[i];
      to[i] = (1 - column.weight) * from[column.first] + column.weight * from[column.second];
    }
    return to;
  }

 private:
  const std::vector<Between>& columns_;
  const float* plane_ = nullptr;
  Extent width_ = 0;
  std::array<Extent, 2> held_{};  ///< by place
  std::array<std::vector<float>, 2> rows_;
};

}  // namespace

void resize(const Resize& resize, const Shape& from, const float* input, float* output) {
  const ImageExtents in = image_extents(from);
  const Extent height = from.size() == 4 ? resize.size[0] : 1;
  const Extent width = resize.size[1];
  const bool nearest = resize.kind == Resize::Kind::nearest;
  const std::vector<Between> rows =
      from.size() == 4 ? places_along(resize, 0, in.height, height) : std::vector<Between>(1);
  const std::vector<Between> columns = places_along(resize, 1, in.width, width);
  const Extent bands = (height + kBand - 1) / kBand;
  const Extent planes = in.images * in.channels;
#pragma omp parallel if (planes * bands > 1)
  {
    RowsAcross across(columns);
#pragma omp for collapse(2) schedule(static)
    for (Extent plane = 0; plane < planes; ++plane)
      for (Extent band = 0; band < bands; ++band) {
        const float* const source = input + plane * in.pixels();
        across.begin(source, in.width);
        for (Extent line = band * kBand; line < std::min((band + 1) * kBand, height); ++line) {
          const Between& row = rows[static_cast<std::size_t>(line)];
          float* const to = output + (plane * height + line) * width;
          if (nearest) {
            const float* const copied = source + row.first * in.width;
            for (Extent i = 0; i < width; ++i) to[i] = copied[columns[static_cast<std::size_t>(i)].first];
            continue;
          }
          const float* const first = across.get(row.first, row.second);
          const float* const second = across.get(row.second, row.first);
          for (Extent i = 0; i < width; ++i) to[i] = (1 - row.weight) * first[i] + row.weight * second[i];
        }
      }
  }
}

}  // namespace spdnn::plain
