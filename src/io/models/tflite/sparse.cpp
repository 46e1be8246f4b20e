// TensorFlow Lite's sparse tensors follow TACO: axes, and block axes, are levels of a tree. Below each node, a dense
// level has all of its coordinates, a compressed level only the listed ones. Leaves are the numbers.

#include "io/models/tflite/sparse.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "spdnn/error.hpp"

namespace spdnn::tflite_reader {

namespace {

/// A list of integers of one of three types.
class Numbers {
 public:
  explicit Numbers(const tflite::Int32Vector* list) : ints_(list == nullptr ? nullptr : list->values()) {}
  explicit Numbers(const tflite::Uint16Vector* list) : shorts_(list == nullptr ? nullptr : list->values()) {}
  explicit Numbers(const tflite::Uint8Vector* list) : bytes_(list == nullptr ? nullptr : list->values()) {}

  std::size_t size() const {
    if (ints_ != nullptr) return ints_->size();
    if (shorts_ != nullptr) return shorts_->size();
    return bytes_ == nullptr ? 0 : bytes_->size();
  }
  std::int64_t operator[](std::size_t i) const {
    const auto at = static_cast<flatbuffers::uoffset_t>(i);
    if (ints_ != nullptr) return ints_->Get(at);
    return shorts_ != nullptr ? shorts_->Get(at) : bytes_->Get(at);
  }

 private:
  const flatbuffers::Vector<std::int32_t>* ints_ = nullptr;
  const flatbuffers::Vector<std::uint16_t>* shorts_ = nullptr;
  const flatbuffers::Vector<std::uint8_t>* bytes_ = nullptr;
};

Numbers numbers(tflite::SparseIndexVector type, const void* list) {
  switch (type) {
    case tflite::SparseIndexVector::Uint16Vector:
      return Numbers(static_cast<const tflite::Uint16Vector*>(list));
    case tflite::SparseIndexVector::Uint8Vector:
      return Numbers(static_cast<const tflite::Uint8Vector*>(list));
    case tflite::SparseIndexVector::Int32Vector:
      return Numbers(static_cast<const tflite::Int32Vector*>(list));
    case tflite::SparseIndexVector::NONE:
      break;
  }
  return Numbers(static_cast<const tflite::Int32Vector*>(nullptr));
}

struct Level {
  Extent length = 0;  ///< number of coordinates
  Offset step = 0;    ///< stride in the dense tensor, in elements
  const tflite::DimensionMetadata* metadata = nullptr;
};

class Levels {
 public:
  Levels(const tflite::SparsityParameters& sparsity, const Shape& shape, const std::string& where)
      : sparsity_(sparsity), shape_(shape), where_(where) {
    const auto* order = sparsity.traversal_order();
    const auto* metadata = sparsity.dim_metadata();
    const std::size_t blocks = sparsity.block_map() == nullptr ? 0 : sparsity.block_map()->size();
    const std::size_t count = shape.size() + blocks;
    if (order == nullptr || metadata == nullptr || order->size() != count || metadata->size() != count)
      fail(fmt::format("expected traversal_order and dim_metadata of {} levels, one for each axis and each of blocks",
                       count));
    find_blocks(blocks);
    std::vector<bool> seen(count);
    for (flatbuffers::uoffset_t i = 0; i < count; ++i) {
      const std::int64_t axis = order->Get(i);
      const bool of_block = i >= shape.size();
      if (axis < 0 || axis >= static_cast<std::int64_t>(count) || seen[static_cast<std::size_t>(axis)] ||
          of_block != (axis >= static_cast<std::int64_t>(shape.size())))
        fail(fmt::format("traversal_order: {} is not one of the remaining axes", axis));
      seen[static_cast<std::size_t>(axis)] = true;
      levels_.push_back(level(static_cast<std::size_t>(axis), *metadata->Get(i)));
    }
  }

  const std::vector<Level>& all() const { return levels_; }
  [[noreturn]] void fail(const std::string& problem) const { throw DataError(where_ + ": sparsity: " + problem); }

 private:
  /// Determines which axis each block axis divides, and its block length.
  void find_blocks(std::size_t blocks) {
    block_.assign(shape_.size(), 1);
    for (std::size_t b = 0; b < blocks; ++b) {
      const std::int64_t axis = sparsity_.block_map()->Get(static_cast<flatbuffers::uoffset_t>(b));
      if (axis < 0 || axis >= static_cast<std::int64_t>(shape_.size()) ||
          std::find(blocked_.begin(), blocked_.end(), static_cast<std::size_t>(axis)) != blocked_.end())
        fail(fmt::format("block_map: {} is not a distinct axis", axis));
      blocked_.push_back(static_cast<std::size_t>(axis));
      const Extent length = block_length(shape_.size() + b);
      Extent& extent = block_[blocked_.back()];
      if (length < 1 || shape_[blocked_.back()] % length != 0)
        fail(fmt::format("blocks of {} do not divide axis {} of {}", length, axis, shape_text(shape_)));
      extent = length;
    }
  }
  Extent block_length(std::size_t axis) const {
    for (flatbuffers::uoffset_t i = 0; i < sparsity_.traversal_order()->size(); ++i)
      if (sparsity_.traversal_order()->Get(i) == static_cast<std::int64_t>(axis))
        return sparsity_.dim_metadata()->Get(i)->dense_size();
    return 0;
  }
  Level level(std::size_t axis, const tflite::DimensionMetadata& metadata) const {
    const bool of_block = axis >= shape_.size();
    const std::size_t real = of_block ? blocked_[axis - shape_.size()] : axis;
    Level level{.metadata = &metadata};
    level.length = of_block ? block_[real] : shape_[real] / block_[real];
    level.step = of_block ? 1 : static_cast<Offset>(block_[real]);
    for (std::size_t after = real + 1; after < shape_.size(); ++after) level.step *= static_cast<Offset>(shape_[after]);
    return level;
  }

  const tflite::SparsityParameters& sparsity_;
  const Shape& shape_;
  const std::string& where_;
  std::vector<Extent> block_;         ///< block length, by axis
  std::vector<std::size_t> blocked_;  ///< the blocked axis, by block axis
  std::vector<Level> levels_;
};

/// The number of nodes on a compressed level below `nodes` parent nodes.
std::size_t checked_count(const Levels& levels, const Level& level, std::size_t nodes) {
  const Numbers segments = numbers(level.metadata->array_segments_type(), level.metadata->array_segments());
  const Numbers indices = numbers(level.metadata->array_indices_type(), level.metadata->array_indices());
  if (segments.size() != nodes + 1 || segments[0] != 0 || segments[nodes] != static_cast<std::int64_t>(indices.size()))
    levels.fail(fmt::format("array_segments: expected {} numbers from 0 to {}", nodes + 1, indices.size()));
  for (std::size_t n = 0; n < nodes; ++n)
    if (segments[n] > segments[n + 1]) levels.fail(fmt::format("array_segments descend at number {}", n + 2));
  for (std::size_t n = 0; n < nodes; ++n)
    for (auto i = static_cast<std::size_t>(segments[n]); i < static_cast<std::size_t>(segments[n + 1]); ++i) {
      if (indices[i] < 0 || indices[i] >= level.length)
        levels.fail(fmt::format("array_indices: {} is outside 0..{}", indices[i], level.length - 1));
      if (i > static_cast<std::size_t>(segments[n]) && indices[i - 1] >= indices[i])
        levels.fail(fmt::format("array_indices do not ascend at number {}", i + 1));
    }
  return indices.size();
}

/// Checks all levels before anything is allocated.
void check_levels(const Levels& levels, std::size_t count) {
  std::size_t nodes = 1;
  for (const Level& level : levels.all()) {
    if (level.metadata->format() == tflite::DimensionType::SPARSE_CSR) {
      nodes = checked_count(levels, level, nodes);
    } else if (level.metadata->format() != tflite::DimensionType::DENSE) {
      levels.fail("a level is neither DENSE nor SPARSE_CSR");
    } else if (level.metadata->dense_size() != level.length) {
      levels.fail(fmt::format("dense_size {}, expected {}", level.metadata->dense_size(), level.length));
    } else if (nodes != 0 && static_cast<Offset>(level.length) > Offset{kMaxIndex} * 64 / nodes) {
      levels.fail("more numbers than can be counted");
    } else {
      nodes *= static_cast<std::size_t>(level.length);
    }
  }
  if (nodes != count) levels.fail(fmt::format("it describes {} numbers, and the buffer has {}", nodes, count));
}

}  // namespace

std::vector<Offset> places_of(const tflite::SparsityParameters& sparsity, const Shape& shape, std::size_t count,
                              const std::string& where, Budget& budget) {
  const Levels levels(sparsity, shape, where);
  check_levels(levels, count);
  std::vector<Offset> places{0};
  for (const Level& level : levels.all()) {
    std::vector<Offset> below;
    const auto add = [&](Offset from, std::int64_t coordinate) {
      below.push_back(from + static_cast<Offset>(coordinate) * level.step);
    };
    if (level.metadata->format() == tflite::DimensionType::DENSE) {
      budget.take(places.size() * static_cast<std::size_t>(level.length) * sizeof(Offset));
      below.reserve(places.size() * static_cast<std::size_t>(level.length));
      for (const Offset place : places)
        for (Extent coordinate = 0; coordinate < level.length; ++coordinate) add(place, coordinate);
    } else {
      const Numbers segments = numbers(level.metadata->array_segments_type(), level.metadata->array_segments());
      const Numbers indices = numbers(level.metadata->array_indices_type(), level.metadata->array_indices());
      budget.take(indices.size() * sizeof(Offset));
      below.reserve(indices.size());
      for (std::size_t n = 0; n < places.size(); ++n)
        for (auto i = static_cast<std::size_t>(segments[n]); i < static_cast<std::size_t>(segments[n + 1]); ++i)
          add(places[n], indices[i]);
    }
    places = std::move(below);
  }
  return places;
}

}  // namespace spdnn::tflite_reader
