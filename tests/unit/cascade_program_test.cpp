// What compile_cascade() writes, read as the header says and as the kernels do, against the plan's own rows.

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <string>

#include "engines/cuda/cascade/program.hpp"
#include "spdnn/error.hpp"

namespace spdnn {
namespace {

using Rows = std::vector<std::vector<Index>>;  ///< inputs of each neuron
using Words = std::vector<std::uint32_t>;      ///< an image's bits

Layer make_layer(Index inputs, const Rows& rows, float weight = 0.1F) {
  std::vector<Offset> offsets{0};
  std::vector<Index> indices;
  for (const auto& row : rows) {
    indices.insert(indices.end(), row.begin(), row.end());
    offsets.push_back(indices.size());
  }
  Layer layer;
  layer.weights.rows = static_cast<Index>(rows.size());
  layer.weights.cols = inputs;
  layer.weights.offsets = Array<Offset>(std::move(offsets));
  layer.weights.indices = Array<Index>(std::move(indices));
  layer.weights.value = weight;
  layer.bias.uniform = -0.3;
  return layer;
}

Plan plan_of(std::vector<Layer> layers) {
  Plan plan;
  plan.layers = std::move(layers);
  return plan;
}

/// Rows of least .. most terms, repeated ones among them, of the first `read` inputs.
Rows random_rows(Index outputs, Index read, Index least, Index most, std::mt19937& random) {
  Rows rows(outputs);
  for (auto& row : rows) {
    row.resize(least + random() % (most - least + 1));
    for (Index& input : row) input = static_cast<Index>(random() % read);
  }
  return rows;
}

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

/// Random bits in whole 64-bit words, and two words of zeros behind them, as the counting kernel stages them.
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

/// Reads a CountedLayer by every route and compares with the rows that it was made from.
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
  /// Classes' counts, and zeros behind them.
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

TEST(CascadeProgram, CountsTheOnesOfEveryNeuron) {
  std::mt19937 random(1);
  std::set<bool> scattered;
  for (const Index inputs : {1, 31, 32, 33, 64, 95, 96, 100, 300}) {
    for (const Index outputs : {0, 1, 4, 31, 32, 33, 70}) {
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

TEST(CascadeProgram, CountsTheOnesOfPeriodicNetworks) {
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

/// a, b, a, b, ... in every row.
Rows alternating_rows(Index outputs, Index inputs, Index degree, std::mt19937& random) {
  Rows rows = random_rows(outputs, inputs, degree, degree, random);
  for (auto& row : rows)
    for (Index k = 2; k < degree; ++k) row[k] = row[k - 2];
  return rows;
}

/// A layer of the program against the plan's: every term in its place, every bias.
void check_layer(const CascadeProgram& program, const Plan& plan, Index number) {
  const CascadeLayer& layer = program.layers.at(number);
  const Layer& given = plan.layers[number];
  ASSERT_EQ(layer.inputs, given.inputs());
  ASSERT_EQ(layer.outputs, given.outputs());
  EXPECT_EQ(layer.weight, given.weights.value);
  EXPECT_EQ(layer.bias_always, plan.bias_rule == BiasRule::everywhere || given.bias.max() <= 0);
  EXPECT_EQ(layer.biases == CascadeLayer::kUniform, given.bias.values.empty());
  Offset most = 0;
  for (Index neuron = 0; neuron < layer.outputs; ++neuron) most = std::max(most, given.weights.degree(neuron));
  EXPECT_EQ(layer.degree, number == 0 || layer.pairs > 0 ? 0 : most);
  for (Index neuron = 0; neuron < layer.outputs; ++neuron) {
    const float bias = layer.biases == CascadeLayer::kUniform ? layer.bias : program.biases.at(layer.biases + neuron);
    EXPECT_EQ(bias, static_cast<float>(given.bias[neuron]));
    if (number == 0) continue;
    std::vector<Index> terms;
    if (layer.pairs > 0) {
      const std::uint32_t pair = program.terms.at(layer.terms * 4 + neuron);
      for (Index k = 0; k < layer.pairs; ++k) terms.insert(terms.end(), {pair & 0xffffU, pair >> 16U});
    } else {
      terms.resize(layer.degrees == CascadeLayer::kUniform ? layer.degree : program.degrees.at(layer.degrees + neuron));
      for (Index t = 0; t < terms.size(); ++t) {
        const std::size_t chunk = layer.terms + t / 8 * std::size_t{layer.outputs} + neuron;
        terms[t] = program.terms.at(chunk * 4 + t % 8 / 2) >> t % 2 * 16 & 0xffffU;
      }
    }
    const auto row = given.weights.row(neuron);
    EXPECT_EQ(terms, std::vector<Index>(row.begin(), row.end())) << "layer " << number << ", neuron " << neuron;
  }
}

TEST(CascadeProgram, KeepsTheTermsOfEveryNeuronInOrder) {
  std::mt19937 random(3);
  Rows nearly = alternating_rows(50, 40, 8, random);
  nearly[49][7] = (nearly[49][5] + 1) % 40;
  Rows belatedly = alternating_rows(50, 50, 8, random);
  belatedly[20][0] = (belatedly[20][2] + 1) % 50;
  const std::vector<Rows> layers{random_rows(50, 70, 0, 9, random),
                                 random_rows(40, 50, 0, 30, random),
                                 random_rows(50, 40, 8, 8, random),
                                 random_rows(45, 50, 13, 13, random),
                                 alternating_rows(33, 45, 8, random),
                                 alternating_rows(40, 33, 6, random),
                                 nearly,
                                 belatedly,
                                 alternating_rows(40, 50, 7, random),
                                 alternating_rows(300, 40, 2, random),
                                 random_rows(0, 300, 0, 0, random),
                                 Rows(5),
                                 random_rows(9, 5, 300, 300, random)};
  const std::vector<Index> pairs{0, 0, 0, 0, 4, 3, 0, 0, 0, 0, 0, 0, 0};
  Plan plan;
  Index inputs = 75;  // the last of which nothing reads
  for (const Rows& rows : layers) {
    plan.layers.push_back(make_layer(inputs, rows, static_cast<float>(plan.layers.size() + 1) / 16));
    inputs = plan.layers.back().outputs();
  }
  for (const Index number : {0, 2, 4, 5}) {
    std::vector<double> biases(plan.layers[number].outputs());
    for (double& bias : biases) bias = (number == 4 ? 0.0 : 0.1) - static_cast<double>(random() % 9) / 10;
    plan.layers[number].bias.values = Array<double>(std::move(biases));
  }
  plan.layers[3].bias.uniform = 0.1;
  for (const BiasRule rule : {BiasRule::non_zeros, BiasRule::everywhere}) {
    plan.bias_rule = rule;
    const CascadeProgram program = compile_cascade(plan);
    ASSERT_EQ(program.layers.size(), plan.depth());
    EXPECT_EQ(program.width, 300U);
    for (Index number = 0; number < plan.depth(); ++number) {
      check_layer(program, plan, number);
      EXPECT_EQ(program.layers[number].pairs, pairs[number]) << "layer " << number;
    }
    EXPECT_NE(program.layers[1].degrees, CascadeLayer::kUniform);
    EXPECT_EQ(program.layers[2].degrees, CascadeLayer::kUniform);
  }
}

/// Both checks refuse the plan, naming `what`.
void expect_refused(const Plan& plan, const std::string& what) {
  EXPECT_NE(reason_against_cascade(plan).find(what), std::string::npos) << reason_against_cascade(plan);
  EXPECT_THROW(compile_cascade(plan), UsageError);
}

TEST(CascadeProgram, IsPreferredWhereItIsMadeFor) {
  std::mt19937 random(5);
  const auto preference = [&](Index width, const char* passes) {
    Plan plan = plan_of({make_layer(8192, random_rows(width, 8192, 2, 2, random)),
                         make_layer(width, random_rows(width, width, 2, 2, random))});
    plan.passes = parse_passes(passes);
    return cascade_preference(plan);
  };
  EXPECT_EQ(preference(2048, "dead,saturated"), Preference::preferred);
  EXPECT_EQ(preference(1024, "dead"), Preference::preferred) << "so narrow a tail is no matter";
  EXPECT_EQ(preference(1025, "dead"), Preference::last_resort) << "many images stay to the end";
  EXPECT_EQ(preference(2049, "dead,saturated"), Preference::last_resort) << "not narrow";
  EXPECT_EQ(preference(1024, "saturated"), Preference::last_resort) << "no image leaves";
}

TEST(CascadeProgram, TabulatesLayerOneWhereTwoCountsSayIt) {
  std::mt19937 random(4);
  const auto plan_with = [&](Index outputs, Index degree) {
    Plan plan = plan_of({make_layer(100, random_rows(outputs, 100, degree, degree, random)),
                         make_layer(outputs, alternating_rows(9, outputs, 6, random))});
    plan.cap = 32;
    return plan;
  };
  const auto tabled = [](const Plan& plan) { return compile_cascade(plan).has_pair_table; };
  const Plan plan = plan_with(20, 32);
  EXPECT_TRUE(tabled(plan));
  EXPECT_FALSE(tabled(plan_with(20, 33)));  // more counts than the table has
  EXPECT_FALSE(tabled(plan_with(18, 32)));  // a word of counts that are not all of neurons

  const auto with = [&](auto change) {
    Plan other = plan;
    change(other);
    return other;
  };
  EXPECT_TRUE(tabled(with([](Plan& p) { p.cap.reset(); })));
  EXPECT_FALSE(tabled(with([](Plan& p) { p.cap = 0; })));
  EXPECT_FALSE(tabled(with([](Plan& p) { p.layers.pop_back(); })));
  EXPECT_FALSE(tabled(with([&](Plan& p) { p.layers[1] = make_layer(20, random_rows(9, 20, 6, 6, random)); })));
  for (const Index number : {0, 1})
    EXPECT_FALSE(tabled(with([&](Plan& p) {
      p.layers[number].bias.values = Array<double>(std::vector<double>(p.layers[number].outputs(), -0.5));
    })));
  const auto with_bias_above_0 = [&](Index number) {
    return with([&](Plan& p) { p.layers[number].bias.uniform = 0.25; });
  };
  EXPECT_FALSE(tabled(with_bias_above_0(0)));  // activations no longer grow with the count
  EXPECT_TRUE(tabled(with_bias_above_0(1)));
}

TEST(CascadeProgram, RefusesWhatTheEngineDoesNotTake) {
  std::mt19937 random(4);
  const auto layer_of = [&](Index inputs, Index outputs, Index degree) {
    return make_layer(inputs, random_rows(outputs, inputs, degree, degree, random));
  };
  expect_refused({}, "without layers");

  Plan plan = plan_of({layer_of(20, 20, 4), layer_of(20, 20, 4), layer_of(20, 20, 4)});
  EXPECT_NO_THROW(compile_cascade(plan));
  plan.passes.merge = true;
  expect_refused(plan, "merged plan");
  plan.passes.merge = false;
  plan.layers[1].weights.values = Array<float>(std::vector<float>(plan.layers[1].weights.entries(), 0.5F));
  expect_refused(plan, "layer 2 has weights of its own");

  Layer counted = layer_of(20, 20, kMostCounted);
  EXPECT_EQ(compile_cascade(plan_of({counted, layer_of(20, 5, 1000)})).first.sums.size(), 256U);
  Rows rows(20, std::vector<Index>(4, 1));
  rows[6].resize(kMostCounted + 1, 2);
  expect_refused(plan_of({make_layer(20, rows)}), "neuron 7 of layer 1 has 256 terms, more than 255");

  const Layer wide = layer_of(20, kCascadeWidth, 2);
  const CascadeProgram program = compile_cascade(plan_of({layer_of(20000, 20, 4), wide, layer_of(8192, 8192, 4)}));
  EXPECT_EQ(program.width, kCascadeWidth);
  expect_refused(plan_of({layer_of(20, 20, 4), layer_of(20, kCascadeWidth + 1, 2)}),
                 "layer 2 has 8193 neurons to compute, more than 8192");
}

}  // namespace
}  // namespace spdnn
