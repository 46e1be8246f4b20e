// What readers and writers of several formats share.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "io/models/budget.hpp"
#include "io/models/model_file.hpp"
#include "io/models/model_format.hpp"
#include "io/models/same_padding.hpp"
#include "io/models/transposed_convolution.hpp"
#include "io/models/unique_names.hpp"
#include "spdnn/error.hpp"
#include "support/message_of.hpp"
#include "support/models.hpp"

namespace spdnn {
namespace {

TEST(ModelParts, SamePaddingHasAWindowForEachStrideAndNoElementTooMany) {
  for (Extent length = 1; length <= 9; ++length)
    for (Extent kernel = 1; kernel <= 5; ++kernel)
      for (Extent stride = 1; stride <= 4; ++stride)
        for (Extent dilation = 1; dilation <= 3; ++dilation) {
          Extent windows = 0;
          for (Extent at = 0; at < length; at += stride) ++windows;
          // The least padding, from none on, with which that many windows fit.
          const auto fitting = [&](Extent padding) {
            Extent count = 0;
            for (Extent at = 0; at + dilation * (kernel - 1) < length + padding; at += stride) ++count;
            return count;
          };
          Extent padding = 0;
          while (fitting(padding) < windows) ++padding;
          const SamePadding same = same_padding(length, kernel, stride, dilation);
          EXPECT_EQ(same.less + same.more, padding) << length << ' ' << kernel << ' ' << stride << ' ' << dilation;
          EXPECT_TRUE(same.less >= 0 && (same.more == same.less || same.more == same.less + 1));
        }
}

TEST(ModelParts, MemoryIsSpentOnce) {
  constexpr std::size_t kFile = 1000;
  constexpr std::size_t kAll = (std::size_t{64} << 20U) + 40 * kFile;
  const auto refused = [](Budget& budget, std::size_t bytes) {
    return testing::message_of<DataError>([&] { budget.take(bytes); }) != "no error";
  };
  Budget whole("m.onnx", kFile);
  EXPECT_TRUE(refused(whole, kAll + 1));
  EXPECT_FALSE(refused(whole, kAll));
  EXPECT_TRUE(refused(whole, 1));
  Budget halves("m.onnx", kFile);
  EXPECT_FALSE(refused(halves, kAll / 2));
  EXPECT_FALSE(refused(halves, kAll / 2));
  EXPECT_TRUE(refused(halves, kAll / 2));
  halves.allow(kFile);  // one more file
  EXPECT_FALSE(refused(halves, 40 * kFile));
  EXPECT_TRUE(refused(halves, 1));
}

TEST(ModelParts, NamesAreUniqueWhateverTheirLength) {
  for (const std::size_t length : {0U, 1U, 40U, 41U, 300U}) {
    const std::string name(length, 'x');
    UniqueNames names;
    std::vector<std::string> taken;
    if (length > 0) taken.push_back(names.take(name + "_3"));
    for (int i = 0; i < 4; ++i) taken.push_back(names.take(name));
    std::sort(taken.begin(), taken.end());
    EXPECT_TRUE(std::adjacent_find(taken.begin(), taken.end()) == taken.end()) << length;
    EXPECT_TRUE(std::none_of(taken.begin(), taken.end(), [](const std::string& one) { return one.empty(); }));
    EXPECT_EQ(std::count(taken.begin(), taken.end(), name), length > 0 ? 1 : 0);
  }
}

TEST(ModelParts, TransposedConvolutionsOfTooManyChannelsAreRefused) {
  const auto error = [](Extent height, Extent width, Extent groups, Extent outputs) {
    TransposedConvolution made;
    made.axes[0].stride = height;
    made.axes[1].stride = width;
    made.groups = groups;
    made.outputs = outputs;
    return testing::message_of<UsageError>([&] { made.bytes(); });
  };
  EXPECT_EQ(error(1, 1, 1, 0x7fffffff), "no error");
  EXPECT_EQ(error(0x7fffffff, 1, 1, 1), "no error");
  EXPECT_EQ(error(3, 5, 7, 100), "no error");
  EXPECT_EQ(error(65536, 32768, 1, 1), "strides of 65536 x 32768 are too large");
  EXPECT_EQ(error(1, 1, 65536, 32768), "strides of 1 x 1 are too large");
  EXPECT_EQ(error(40000, 40000, 1, 2), "strides of 40000 x 40000 are too large");
  EXPECT_EQ(error(1, 2, 2, 0x20000000), "strides of 1 x 2 are too large");
}

TEST(ModelParts, AShapeIsThatOfOneInput) {
  testing::ModelBuilder builder;
  const ValueId a = builder.input({kBatchExtent, 3});
  const ValueId b = builder.input({kBatchExtent, 3});
  const Model two = builder.finish({builder.add(Elementwise{.kind = Elementwise::Kind::add}, {a, b})});
  EXPECT_NE(testing::message_of<UsageError>([&] {
              reshaped(two, {2, 3});
            }).find("the model has 2 inputs, expected one"),
            std::string::npos);
}

TEST(ModelParts, OtherProgramsFilesGetAHint) {
  const auto hints = [](const std::string& path, const std::string& part) {
    EXPECT_NE(conversion_hint(path).find(part), std::string::npos) << path << conversion_hint(path);
  };
  for (const char* path : {"m.pt", "m.pth", "m.ckpt"}) hints(path, "torch.onnx.export");
  hints("saved_model.pb", "--saved-model");
  hints("folder/saved_model.pb", "--saved-model");
  hints("frozen.pb", "--graphdef FILE.pb");
  for (const char* path : {"m.h5", "m.hdf5", "m.keras"}) hints(path, "--keras FILE");
  for (const char* path : {"m.onnx", "m.txt", "m"}) EXPECT_EQ(conversion_hint(path), "");
}

}  // namespace
}  // namespace spdnn
