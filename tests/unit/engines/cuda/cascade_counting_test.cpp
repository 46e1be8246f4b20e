// Counting in layer 0 as compile_cascade() lays it out: every form that the counting kernel reads, against the plan's
// rows.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>

#include "engines/cuda/cascade/program.hpp"
#include "support/cascade_rows.hpp"
#include "support/sampled.hpp"

namespace spdnn {
namespace {

using namespace testing::cascade;

using Words = std::vector<std::uint32_t>;  ///< an image's bits

/// Neuron j reads the inputs i with i mod `period` j or j + 1, as the first layers of the official networks do.
Rows periodic_rows(Index outputs, Index inputs, Index period) {
  Rows rows(outputs);
  for (Index j = 0; j < outputs; ++j)
    for (Index input = 0; input < inputs; ++input)
      if (input % period == j % period || input % period == (j + 1) % period) rows[j].push_back(input);
  return rows;
}

/// Each neuron reads all inputs of some random groups, some of these twice; inputs of the last group are not read.
Rows grouped_rows(Index outputs, Index inputs, Index groups, std::mt19937& random) {
  std::vector<Index> group_of(inputs);
  for (Index& group : group_of) group = static_cast<Index>(random() % groups);
  Rows rows(outputs);
  for (auto& row : rows) {
    for (Index n = random() % 4; n > 0; --n) {
      const auto group = static_cast<Index>(random() % (groups - 1));
      for (Index input = 0; input < inputs; ++input)
        if (group_of[input] == group) row.push_back(input);
    }
    std::shuffle(row.begin(), row.end(), random);
  }
  return rows;
}

/// Random bits in whole 64-bit words, then two words of zeros, as the counting kernel stages them.
Words random_image(Index inputs, std::mt19937& random) {
  Words words((inputs + 63) / 64 * 2 + 2, 0);
  const auto density = random() % 101;
  for (Index input = 0; input < inputs; ++input)
    if (random() % 100 < density) words[input / 32] |= 1U << input % 32;
  return words;
}

bool bit_of(const Words& image, Index input) { return (image.at(input / 32) >> input % 32 & 1U) != 0; }

/// The numbers of a list, its padding included.
std::vector<Index> list_of(const SlicedLists& lists, Index number) {
  std::vector<Index> list;
  for (Index at = lists.starts.at(number / 32); at < lists.starts.at(number / 32 + 1); at += 32)
    list.push_back(lists.values.at(at + number % 32));
  return list;
}

/// Reads each form of a CountedLayer and compares with the rows from which it was made.
class CountedReader {
 public:
  CountedReader(const Rows& rows, Index inputs)
      : rows_(rows),
        inputs_(inputs),
        first_(compile_cascade(plan_of({make_layer(inputs, rows)})).first),
        quads_(first_.classes.slices() * 8) {}

  const CountedLayer& layer() const { return first_; }

  void check(std::mt19937& random) const {
    ASSERT_GE(first_.classes.slices() * 32, rows_.size());
    check_words();
    check_runs();
    check_sums();
    for (int trial = 0; trial < 6; ++trial) {
      const Words image = random_image(inputs_, random);
      check_counts(image, by_lists(image));
      if (!first_.words.empty()) check_counts(image, by_words(image));
    }
  }

 private:
  /// Classes' counts, and zeros after them.
  using Counts = std::vector<Index>;

  Counts by_lists(const Words& image) const {
    Counts counts(first_.inputs.slices() * 32 + 16, 0);
    for (Index number = 0; number < first_.inputs.slices() * 32; ++number)
      for (const Index input : list_of(first_.inputs, number)) counts[number] += bit_of(image, input) ? 1 : 0;
    return counts;
  }
  Counts by_words(const Words& image) const {
    const Index slices = first_.inputs.slices();
    Counts counts(slices * 32 + 16, 0);
    for (Index at = 0; at < first_.words.size(); ++at)
      for (Index lane = 0; lane < 32; ++lane)
        counts[at % slices * 32 + lane] += image.at(first_.words[at]) >> lane & 1U;
    return counts;
  }

  Index by_classes(const Counts& counts, Index neuron) const {
    Index sum = 0;
    for (const Index number : list_of(first_.classes, neuron)) sum += counts.at(number);
    return sum;
  }
  Index by_runs(const Counts& counts, Index neuron) const {
    Index sum = 0;
    for (std::size_t k = 0; k * quads_ < first_.runs.size(); ++k) {
      const Index run = first_.runs[k * quads_ + neuron / 4];
      sum += counts.at(run == CountedLayer::kScattered ? list_of(first_.classes, neuron).at(k) : run + neuron % 4);
    }
    return sum;
  }

  void check_counts(const Words& image, const Counts& counts) const {
    for (Index neuron = 0; neuron < first_.classes.slices() * 32; ++neuron) {
      Index expected = 0;
      if (neuron < rows_.size())
        for (const Index input : rows_[neuron]) expected += bit_of(image, input) ? 1 : 0;
      ASSERT_EQ(by_classes(counts, neuron), expected) << "neuron " << neuron;
      ASSERT_EQ(by_runs(counts, neuron), expected) << "neuron " << neuron;
    }
  }

  /// The classes' k-th inputs, slice by slice, against the bits of a word.
  void check_words() const {
    bool filled = first_.inputs.slices() > 0;
    Index longest = 0;
    for (Index number = 0; number < first_.inputs.slices() * 32; ++number) {
      const auto list = list_of(first_.inputs, number);
      longest = std::max(longest, static_cast<Index>(list.size()));
      for (Index k = 0; k < list.size(); ++k) {
        const Index head = list_of(first_.inputs, number / 32 * 32)[k];
        filled = filled && list[k] % 32 == number % 32 && list[k] / 32 == head / 32;
      }
    }
    filled = filled && longest <= CountedLayer::kMostWords;
    const std::size_t padded = (std::size_t{longest} + 3) / 4 * 4;
    EXPECT_EQ(first_.words.size(), filled ? padded * first_.inputs.slices() : 0);
  }

  void check_runs() const {
    const std::size_t longest = quads_ == 0 ? 0 : first_.runs.size() / quads_;
    EXPECT_EQ(longest * quads_, first_.runs.size());
    for (Index quad = 0; quad < quads_; ++quad) {
      ASSERT_LE(list_of(first_.classes, quad * 4).size(), longest);
      for (Index k = 0; k < longest; ++k) {
        std::vector<Index> four;
        for (Index i = 0; i < 4; ++i) {
          const auto list = list_of(first_.classes, quad * 4 + i);
          four.push_back(k < list.size() ? list[k] : first_.class_count);
        }
        const bool run = four[1] == four[0] + 1 && four[2] == four[0] + 2 && four[3] == four[0] + 3;
        const bool none = std::count(four.begin(), four.end(), first_.class_count) == 4;
        const Index zeros = first_.inputs.slices() * 32;
        EXPECT_EQ(first_.runs[k * quads_ + quad], none ? zeros : run ? four[0] : CountedLayer::kScattered);
      }
    }
  }

  void check_sums() const {
    std::size_t most = 0;
    for (const auto& row : rows_) most = std::max(most, row.size());
    ASSERT_EQ(first_.sums.size(), most + 1);
    float sum = 0.0F;
    for (std::size_t count = 0; count <= most; ++count, sum += 0.1F) EXPECT_EQ(first_.sums[count], sum);
  }

  const Rows rows_;
  const Index inputs_;
  const CountedLayer first_;
  const Index quads_;
};

TEST(CascadeCounting, CountsTheOnesOfEveryNeuron) {
  std::mt19937 random(1);
  std::set<bool> scattered;
  for (const Index inputs : testing::sampled<Index>({1, 32, 33, 96, 100}, {1, 31, 32, 33, 64, 95, 96, 100, 300})) {
    for (const Index outputs : testing::sampled<Index>({0, 4, 32, 33, 70}, {0, 1, 4, 31, 32, 33, 70})) {
      SCOPED_TRACE(std::to_string(inputs) + " inputs, " + std::to_string(outputs) + " neurons");
      for (const Index most : {Index{0}, Index{3}, Index{40}})
        CountedReader(random_rows(outputs, inputs, 0, most, random), inputs).check(random);
      CountedReader(random_rows(outputs, (inputs + 1) / 2, 8, 8, random), inputs).check(random);
      const CountedReader grouped(grouped_rows(outputs, inputs, std::max(inputs / 5, Index{2}), random), inputs);
      grouped.check(random);
      for (const Index run : grouped.layer().runs) scattered.insert(run == CountedLayer::kScattered);
    }
  }
  EXPECT_EQ(scattered.size(), 2U);
}

TEST(CascadeCounting, CountsTheOnesOfPeriodicNetworks) {
  std::mt19937 random(2);
  struct Case {
    Index inputs, period, classes;
    bool words;
  };
  for (const Case& c :
       {Case{1024, 64, 64, true}, Case{64, 32, 32, true}, Case{96, 32, 32, true},
        Case{31 * 32, 32, 32, true},                        // the most words
        Case{32 * 32, 32, 32, false},                       // one more
        Case{128, 128, 128, true}, Case{31, 31, 31, true},  // the padding is the word's last bit
        Case{30, 30, 30, false}, Case{330, 33, 33, false}, Case{100, 32, 32, false}, Case{200, 16, 16, false}}) {
    SCOPED_TRACE(std::to_string(c.inputs) + " inputs, period " + std::to_string(c.period));
    const CountedReader reader(periodic_rows(c.period, c.inputs, c.period), c.inputs);
    reader.check(random);
    EXPECT_EQ(reader.layer().class_count, c.classes);
    EXPECT_EQ(!reader.layer().words.empty(), c.words);
    const auto& runs = reader.layer().runs;
    EXPECT_LT(2 * std::count(runs.begin(), runs.end(), CountedLayer::kScattered), std::ssize(runs));
  }
}

}  // namespace
}  // namespace spdnn
