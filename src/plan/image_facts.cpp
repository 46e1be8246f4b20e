#include "plan/image_facts.hpp"

#include <algorithm>
#include <cmath>

#include "plan/magnitudes.hpp"

namespace spdnn {

namespace {

bool all_within_unit(const CsrMatrix& rows) {
  const auto inside = [](float value) { return value >= 0.0F && value <= 1.0F; };
  return rows.uniform() ? rows.entries() == 0 || inside(rows.value)
                        : std::all_of(rows.values.begin(), rows.values.end(), inside);
}

/// Whether an image may name a neuron twice: entries that do not ascend are not examined any further.
bool has_repeats(const CsrMatrix& rows) {
  for (Index image = 0; image < rows.rows; ++image) {
    const auto neurons = rows.row(image);
    if (std::adjacent_find(neurons.begin(), neurons.end(), std::greater_equal<>()) != neurons.end()) return true;
  }
  return false;
}

}  // namespace

ImageFacts facts_of(const ImageSet& images) {
  ImageFacts facts{.images = images.images(),
                   .neurons = images.neurons(),
                   .bytes = images.bytes(),
                   .bits = images.is_bits(),
                   .largest = 1};
  if (facts.bits) return facts;
  const CsrMatrix& rows = images.sparse();
  facts.binary = images.binary();
  facts.within_unit = all_within_unit(rows);
  facts.largest = planning::largest_of(rows.values.span());
  if (rows.uniform() && rows.entries() > 0) facts.largest = std::abs(static_cast<double>(rows.value));
  for (Index image = 0; image < rows.rows; ++image)
    facts.most_entries = std::max(facts.most_entries, rows.degree(image));
  facts.repeats = has_repeats(rows);
  return facts;
}

ImageFacts join_facts(const ImageFacts& one, const ImageFacts& other) {
  if (one.images == 0) return other;
  if (other.images == 0) return one;
  ImageFacts both = one;
  both.images += other.images;
  both.bytes += other.bytes;
  both.bits = one.bits && other.bits;
  both.binary = one.binary && other.binary;
  both.within_unit = one.within_unit && other.within_unit;
  both.largest = std::max(one.largest, other.largest);
  both.most_entries = std::max(one.most_entries, other.most_entries);
  both.repeats = one.repeats || other.repeats;
  return both;
}

}  // namespace spdnn
