#include "io/networks/text/tsv_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <random>

#include "io/networks/text/csr_builder.hpp"
#include "io/networks/text/tsv_entries.hpp"
#include "support/tsv_support.hpp"

namespace spdnn {
namespace {

using test::error_of;
using test::joined;
using test::list;
using test::same;

CsrMatrix layer(const std::string& text, Index inputs = 4, Index outputs = 4) {
  TextSource source("l.tsv", text);
  return read_tsv_layer(source, inputs, outputs);
}

std::string layer_error(const std::string& text) {
  return error_of([&] { layer(text); });
}

TEST(TsvLayer, RowsAreOutputsAndColumnsInputs) {
  const CsrMatrix m = layer("1\t1\t0.5\n3\t1\t-2\n2\t4\t1e-3\n", 3, 4);
  EXPECT_EQ(m.rows, 4U);
  EXPECT_EQ(m.cols, 3U);
  EXPECT_EQ(list(m.offsets), (std::vector<Offset>{0, 2, 2, 2, 3}));
  EXPECT_EQ(list(m.indices), (std::vector<Index>{0, 2, 1}));
  EXPECT_EQ(list(m.values), (std::vector<float>{0.5F, -2.0F, 1e-3F}));
}

TEST(TsvLayer, OneRepeatedValueIsStoredOnce) {
  const CsrMatrix m = layer("1\t1\t6.250000e-02\n2\t1\t0.0625\n1\t2\t6.25e-2\n");
  EXPECT_TRUE(m.uniform());
  EXPECT_EQ(m.value, 0.0625F);
}

TEST(TsvLayer, AWeightOfZeroIsAnEdge) {
  const CsrMatrix m = layer("1\t1\t0\n2\t1\t1\n");
  EXPECT_EQ(list(m.values), (std::vector<float>{0.0F, 1.0F}));
}

TEST(TsvLayer, HowLinesAreWrittenDoesNotMatter) {
  const CsrMatrix plain = layer("1\t1\t0.5\n3\t1\t0.25\n2\t4\t0.5\n");
  EXPECT_TRUE(same(plain, layer("1\t1\t0.5\r\n3\t1\t0.25\r\n2\t4\t0.5\r\n")));
  EXPECT_TRUE(same(plain, layer("1\t1\t0.5\n3\t1\t0.25\n2\t4\t0.5")));
  EXPECT_TRUE(same(plain, layer("\n1 1 0.5\n\n \t\r\n  3\t 1   0.25 \t\n02 004 +.5\n\n")));
  EXPECT_TRUE(same(plain, layer("2\t4\t0.5\n3\t1\t0.25\n1\t1\t0.5\n")));
}

TEST(TsvLayer, OnlyBlankLinesAreALayerWithoutEdges) {
  EXPECT_EQ(layer("\n").entries(), 0U);
  EXPECT_EQ(list(layer("\n").offsets), (std::vector<Offset>{0, 0, 0, 0, 0}));
}

TEST(TsvLayer, BadLinesAreNamed) {
  const std::vector<std::pair<const char*, const char*>> cases{
      {"", "no error"},
      {"1\t1\t1\n5\t1\t1\n", "l.tsv:2:1: input 5 is outside 1..4"},
      {"1\t5\t1\n", "l.tsv:1:3: output 5 is outside 1..4"},
      {"0\t1\t1\n", "l.tsv:1:1: input 0 is outside 1..4"},
      {"1\t-3\t1\n", "l.tsv:1:3: output -3 is outside 1..4"},
      {"99999999999\t1\t1\n", "l.tsv:1:1: input 99999999999 is outside 1..4"},
      {"4294967297\t1\t1\n", "l.tsv:1:1: input 4294967297 is outside 1..4"},
      {"1\t4294967298\t1\n", "l.tsv:1:3: output 4294967298 is outside 1..4"},
      {"18446744073709551617\t1\t1\n", "l.tsv:1:1: input 18446744073709551617 is outside 1..4"},
      {"1.5\t1\t1\n", "l.tsv:1:1: input '1.5' is not a whole number, expected one in 1..4"},
      {"1\tx\x01y\t1\n", "l.tsv:1:3: output 'x\\x01y' is not a whole number, expected one in 1..4"},
      {"-\t1\t1\n", "l.tsv:1:1: input '-' is not a whole number, expected one in 1..4"},
      {"abcdefghijklmnopqrstuvwxyz012345\n",
       "l.tsv:1:1: input 'abcdefghijklmnopqrstuvwxyz012345' is not a whole number, expected one in 1..4"},
      {"abcdefghijklmnopqrstuvwxyz0123456\n",
       "l.tsv:1:1: input 'abcdefghijklmnopqrstuvwxyz012345...' is not a whole number, expected one in 1..4"},
      {"1\t1\tnan\n", "l.tsv:1:5: weight 'nan' is not finite, expected a number"},
      {"1\t1\t-inf\n", "l.tsv:1:5: weight '-inf' is not finite, expected a number"},
      {"1\t1\tone\n", "l.tsv:1:5: weight 'one' is not a number, expected a finite one"},
      {"1\t1\t1e\n", "l.tsv:1:5: weight '1e' is not a number, expected a finite one"},
      {"1\t1\t+-1\n", "l.tsv:1:5: weight '+-1' is not a number, expected a finite one"},
      {"1\t1\t1e39\n", "l.tsv:1:5: weight '1e39' is too large, expected at most 3.402823e+38"},
      {"1\t1\t1e999\n", "l.tsv:1:5: weight '1e999' is too large, expected at most 3.402823e+38"},
      {"1\t1\t1\n\n2\t1\n", "l.tsv:3:4: the line ends after 2 columns, expected input, output, weight"},
      {"1\n", "l.tsv:1:2: the line ends after 1 column, expected input, output, weight"},
      {"1\t1\t1\t1\n", "l.tsv:1:7: extra column '1', expected input, output, weight"},
      {"1,1,1\n", "l.tsv:1:1: input '1,1,1' is not a whole number, expected one in 1..4"},
      {"1\t1\t1\n2\t1\t1\n1\t1\t1\n", "l.tsv:3:1: input 1 and output 1 are given twice, expected once"},
      {"1\t1\t1\n1\t1\t2\n5\t1\t1\n", "l.tsv:2:1: input 1 and output 1 are given twice, expected once"},
      {"1\t1\t1\n5\t1\t1\n1\t1\t2\n", "l.tsv:2:1: input 5 is outside 1..4"},
      {"1\t1\t1\n2\t1\t1\n3\t1", "l.tsv:3:4: the line ends after 2 columns, expected input, output, weight"},
  };
  for (const auto& [text, message] : cases) EXPECT_EQ(layer_error(text), message) << text;
}

TEST(TsvLayer, AValueOfManyTextsIsTheNearestFloat) {
  std::mt19937_64 random(7);
  std::string text;
  std::vector<float> expected;
  const auto add = [&](const std::string& number) {
    expected.push_back(std::strtof(number.c_str(), nullptr));
    text += fmt::format("{}\t1\t{}\n", expected.size(), number);
  };
  for (int i = 0; i < 20000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random());
    const auto value = std::bit_cast<float>(bits);
    if (!std::isfinite(value)) continue;
    add(fmt::format("{:.{}e}", value, random() % 12));
    add(fmt::format("{:.{}f}", static_cast<double>(bits % 1000000) / 1e6, random() % 9));
  }
  for (const char* const number : {"1e-60", "-1e-400", "1.17549435e-38", "3.4028235e38", "7e-46", "8e-46", "-0",
                                   "0.1000000000000000055511151231257827"})
    add(number);
  const auto count = static_cast<Index>(expected.size());
  const CsrMatrix m = layer(text, count, 1);
  ASSERT_EQ(m.values.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(m.values[i]), std::bit_cast<std::uint32_t>(expected[i])) << i;
}

/// The lines of a layer of about 5 MB, which is read in many pieces and several rounds.
std::vector<std::string> layer_lines(Index neurons) {
  std::mt19937_64 random(3);
  std::vector<std::string> lines;
  for (Index output = 1; output <= neurons; ++output)
    for (Index input = 1 + static_cast<Index>(random() % 7); input <= neurons;
         input += 1 + static_cast<Index>(random() % 9))
      lines.push_back(fmt::format("{}\t{}\t{}\n", input, output, output > neurons / 2 ? "0.5" : "6.250000e-02"));
  return lines;
}

TEST(TsvLayer, ShuffledLinesGiveTheSameLayer) {
  constexpr Index kNeurons = 1500;
  std::vector<std::string> lines = layer_lines(kNeurons);
  const CsrMatrix sorted = layer(joined(lines), kNeurons, kNeurons);
  sorted.validate();
  EXPECT_EQ(sorted.entries(), lines.size());
  std::vector<std::string> late = lines;  // sorted at first, so that the reader must turn to sorting in a later round
  std::swap(late[lines.size() - 1], late[lines.size() - 2000]);
  EXPECT_TRUE(same(sorted, layer(joined(late), kNeurons, kNeurons)));
  std::shuffle(lines.begin(), lines.end(), std::mt19937_64(5));
  EXPECT_TRUE(same(sorted, layer(joined(lines), kNeurons, kNeurons)));
}

TEST(CsrBuilder, PiecesThatAreSortedEachMayBeOutOfOrder) {
  const EntryColumns columns{"input", 4, "output", 4, "weight"};
  const std::vector<std::string> texts{"1 3 1\n2 3 1\n", "", "3 3 1\n1 4 1\n", "1 1 1\n2 1 1\n"};
  const auto build = [&](const std::vector<std::vector<std::size_t>>& rounds) {
    CsrBuilder builder(CsrBuilder::Row::second);
    for (const auto& pieces : rounds) {
      std::vector<Entries> round(pieces.size());
      for (std::size_t i = 0; i < pieces.size(); ++i) parse_entries(texts[pieces[i]], columns, round[i]);
      builder.add(round);
    }
    return builder.finish(4, 4);
  };
  const CsrMatrix expected = build({{3, 0, 1, 2}});
  EXPECT_EQ(list(expected.offsets), (std::vector<Offset>{0, 2, 2, 5, 6}));
  EXPECT_EQ(list(expected.indices), (std::vector<Index>{0, 1, 0, 1, 2, 0}));
  EXPECT_TRUE(same(expected, build({{3}, {0, 1}, {2}})));
  EXPECT_TRUE(same(expected, build({{0, 1, 2, 3}})));
  EXPECT_TRUE(same(expected, build({{0}, {2}, {3}})));
  EXPECT_TRUE(same(expected, build({{1}, {2}, {3, 0}})));
}

TEST(TsvLayer, TheFirstBadLineWinsAlsoInParallel) {
  constexpr Index kNeurons = 1500;
  std::vector<std::string> lines = layer_lines(kNeurons);
  const auto error = [&] { return error_of([&] { layer(joined(lines), kNeurons, kNeurons); }); };
  for (const std::size_t bad : {lines.size() - 1, lines.size() / 2, lines.size() / 3, std::size_t{5}}) {
    lines[bad] = "7\t0\t1\n";
    EXPECT_EQ(error(), fmt::format("l.tsv:{}:3: output 0 is outside 1..1500", bad + 1));
  }
  lines[4] = lines[2];
  EXPECT_TRUE(error().starts_with("l.tsv:5:1: input ")) << error();
  EXPECT_TRUE(error().ends_with(" are given twice, expected once")) << error();
}

TEST(TsvLayer, ARepeatedEdgeFarApartIsFound) {
  constexpr Index kNeurons = 1500;
  std::vector<std::string> lines = layer_lines(kNeurons);
  lines[lines.size() - 3] = lines[1];
  EXPECT_TRUE(error_of([&] {
                layer(joined(lines), kNeurons, kNeurons);
              }).starts_with(fmt::format("l.tsv:{}:1: input ", lines.size() - 2)));
}

TEST(TsvLayer, ARepeatedEdgeThatIsGoneWhenItsLineIsSoughtMeansAChangedFile) {
  TextSource source("l.tsv", "1\t1\t1\n2\t1\t1\n");
  EXPECT_EQ(error_of([&] {
              throw_repeated(source, {"input", 4, "output", 4, "weight"}, 0, {entry_key(0, 0)});
            }),
            "l.tsv: changed while it was being read: an entry was given twice, and is not any more");
}

TEST(TsvBias, OneNumberForEachNeuron) {
  const auto read = [](const std::string& text) {
    TextSource source("b.tsv", text);
    return read_tsv_bias(source, 3);
  };
  const Bias bias = read("3\t0.1\n1\t-0.3\r\n\n2 1e300");
  EXPECT_EQ(list(bias.values), (std::vector<double>{-0.3, 1e300, 0.1}));
  const Bias equal = read("1\t-0.3\n2\t-0.3\n3\t-0.3\n");
  EXPECT_TRUE(equal.values.empty());
  EXPECT_EQ(equal.uniform, -0.3);
  EXPECT_EQ(error_of([&] { read("1\t1\n3\t1\n"); }), "b.tsv: neuron 2 is missing, expected a line for each of 1..3");
  EXPECT_EQ(error_of([&] { read("1\t1\n1\t1\n"); }), "b.tsv:2:1: neuron 1 is given twice, expected once");
  EXPECT_EQ(error_of([&] { read("1\t1\t1\n"); }).find("b.tsv:1:"), 0U) << "a number too many";
  EXPECT_EQ(error_of([&] { read("1\tinf\n"); }), "b.tsv:1:3: bias 'inf' is not finite, expected a number");
  EXPECT_EQ(error_of([&] { read("4\t1\n"); }), "b.tsv:1:1: neuron 4 is outside 1..3");
}

TEST(TsvCategories, IdsInAnyOrder) {
  const auto read = [](const std::string& text) {
    TextSource source("c.tsv", text);
    return read_tsv_categories(source);
  };
  EXPECT_EQ(read("287\n295\r\n\n 386"), (Categories{286, 294, 385}));
  EXPECT_EQ(read("3\n1\n2\n"), (Categories{0, 1, 2}));
  EXPECT_EQ(read("\n"), Categories{});
  EXPECT_EQ(read(""), Categories{});
  EXPECT_EQ(error_of([&] { read("5\n7\n7\n5\n"); }), "c.tsv:3:1: image 7 is given twice, expected once");
  EXPECT_EQ(error_of([&] { read("1\n0\n"); }), "c.tsv:2:1: image 0 is outside 1..2147483647");
  EXPECT_EQ(error_of([&] { read("1\t2\n"); }), "c.tsv:1:3: extra column '2', expected one image per line");
}

}  // namespace
}  // namespace spdnn
