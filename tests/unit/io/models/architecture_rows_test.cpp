// A table of architectures, each as one line of JSON, and below it what it computes, or why it is refused. The weights
// are 1, -2, 0, 3, -4, 0, ...

#include <gtest/gtest.h>

#include <filesystem>

#include "io/models/architecture/node.hpp"
#include "io/models/architecture/reader.hpp"
#include "model/operations/csr_of_dense.hpp"
#include "support/onnx_rows.hpp"

namespace spdnn {
namespace {

class CountedWeights final : public StoredWeights {
 public:
  const std::string& name() const override { return name_; }
  std::string digest() const override { return "d"; }
  Array<float> numbers(const ArchitectureNode& node, const std::string& tensor, const Shape& shape) const override {
    if (tensor.starts_with("without")) node.fail("no " + tensor + " of " + shape_text(shape));
    std::vector<float> values(*elements(shape));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = tensor.ends_with("var") || i % 3 == 0 ? static_cast<float>(i + 1)
                  : i % 3 == 1                          ? -static_cast<float>(i + 1)
                                                        : 0.0F;
    return Array<float>(std::move(values));
  }
  Weights weights(const ArchitectureNode& node, const std::string& tensor, const Shape& shape) const override {
    const Array<float> values = numbers(node, tensor, shape);
    const auto rows = static_cast<Index>(shape[0]);
    return csr_of_dense(values.span(), rows, static_cast<Index>(values.size() / rows));
  }

 private:
  std::string name_ = "w";
};

TEST(ArchitectureRows, EachComputesItsNumbersOrIsRefusedInItsWords) {
  testing::expect_rows(std::filesystem::path(__FILE__).parent_path() / "architecture_rows.txt", 170,
                       [](const std::string& row) {
                         return testing::outcome_of([&] { return read_architecture(CountedWeights(), "a: b", row); },
                                                    onnx_test::counted_input);
                       });
}

}  // namespace
}  // namespace spdnn
