// What `spdnn convert --to` says of the weights that it stores in another form.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/amounts.hpp"
#include "io/arrays/npy.hpp"
#include "prune/quantise.hpp"
#include "prune/two_of_four.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"
#include "support/commands.hpp"
#include "support/message_of.hpp"
#include "support/models.hpp"
#include "support/networks.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

using testing::Arguments;

class ConvertedWeights : public ::testing::Test {
 protected:
  /// Of 40 x 40 weights with 20 entries in a row, 2 of each 4 of all but some rows, of 40 x 40 without zeros, and of
  /// 2 x 16, which are few.
  ConvertedWeights() {
    testing::Rng rng(6);
    testing::ModelBuilder builder;
    ValueId x = builder.input({kBatchExtent, 16});
    x = builder.add(Linear{testing::random_layer(rng, 16, 40, 16, 0.1, 1, 0).weights, {}}, {x});
    testing::Rows rows = testing::random_rows(rng, 40, 40, 20, 0.1, 1);
    for (Index row = 2; row < 40; ++row)
      for (Index k = 0; k < 20; ++k) rows[row][k].first = k / 2 * 4 + k % 2 * 2 + row % 2;
    x = builder.add(Linear{testing::make_matrix(40, rows), {}}, {x});
    x = builder.add(Linear{testing::random_layer(rng, 40, 40, 40, 0.1, 1, 0).weights, {}}, {x});
    write_model(model_, builder.finish({x}));
    given_ = read_model(model_, {});
  }
  std::string said(const Arguments& options) const {
    return testing::run_command("convert", testing::joined({model_, (directory_ / "out.spdnn").string()}, options)).err;
  }

  TemporaryDirectory directory_;
  std::string model_ = (directory_ / "m.onnx").string();
  Model given_;
};

TEST_F(ConvertedWeights, AreSaidToBeRoundedByHowMuch) {
  for (const char* const form : {"fp16", "int8", "codebook4"}) {
    Model rounded = given_;
    const QuantisationLoss loss = quantise(rounded, parse_quantisation(form));
    EXPECT_LT(loss.bytes_after, loss.bytes_before);
    EXPECT_EQ(
        said({"--to", form}),
        fmt::format("spdnn: note: the weights of 3 nodes were rounded, which changed them by {:.3g} % (Euclidean); "
                    "they take {} in memory instead of {}\n",
                    100 * loss.change, bytes_text(loss.bytes_after), bytes_text(loss.bytes_before)));
  }
}

TEST_F(ConvertedWeights, InGroupsOfFourAreSaidToFitOrNot) {
  Model grouped = given_;
  const TwoOfFourForm form = store_two_of_four(grouped);
  ASSERT_EQ(form.nodes, 1U);
  ASSERT_EQ(form.few, 1U);
  ASSERT_EQ(form.crowded, 1U);
  ASSERT_GT(form.rest, 0U);
  std::string stored = fmt::format("spdnn: note: the weights of 1 node are stored as 2:4, {} in memory instead of {}",
                                   bytes_text(form.bytes_after), bytes_text(form.bytes_before));
  if (form.ordered > 0) stored += fmt::format("; {} of them by orders of the input channels", form.ordered);
  EXPECT_EQ(
      said({"--to", "2:4"}),
      stored + "; 1 node with filters of fewer than 32 weights not\n" +
          fmt::format("spdnn: note: {} of 800 weights ({:.2g} %) do not fit and are stored beside, as CSR; most of "
                      "{}\n",
                      form.rest, static_cast<double>(form.rest) / 8, form.worst) +
          fmt::format("spdnn: note: 1 node stays as before, because more than a quarter of the weights do not fit; "
                      "most of {}\n",
                      form.most_crowded));
}

TEST_F(ConvertedWeights, OfImagesHaveTheirRanges) {
  const std::string images = (directory_ / "x.npy").string();
  write_npy(images, testing::make_tensor({3, 16}, std::vector<float>(48, 0.5F)));
  const std::string notes = said({"--to", "int8", "--inputs", images});
  EXPECT_TRUE(notes.ends_with("spdnn: note: 3 values are quantised to 8 bits, with ranges of 3 images\n")) << notes;
  EXPECT_TRUE(said({"--to", "int8", "--inputs", images, "--first", "1"}).ends_with("with ranges of 1 image\n"));
  std::string head = "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 16), }";
  head.resize(117, ' ');
  const std::vector<double> numbers(48, 0.5);
  std::ofstream(images, std::ios::trunc) << std::string("\x93NUMPY\x01\0v\0", 10) << head << '\n'
                                         << std::string_view(reinterpret_cast<const char*>(numbers.data()),
                                                             48 * sizeof(double));
  EXPECT_EQ(said({"--to", "int8", "--inputs", images}),
            "spdnn: note: " + images + ": float64 numbers are rounded to float32\n" + notes);
}

TEST_F(ConvertedWeights, AreThoseOfAModelThatHasSome) {
  testing::ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 3});
  write_model(model_, builder.finish({builder.add(testing::make_activation(Activation::Kind::relu), {x})}));
  EXPECT_EQ(testing::message_of<DataError>([&] {
              said({"--to", "fp16"});
            }),
            "--to: the model has no convolution or linear node, so no weights");
}

}  // namespace
}  // namespace spdnn
