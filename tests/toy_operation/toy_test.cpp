// A program with one operation more than spdnn: shapes, messages, checks, the oracle, magnitudes, rewrites and messages
// between ranks handle it by its line in the list and its rules alone.

#include <cstdio>
#include <stdexcept>

#include "cluster/model_fields.hpp"
#include "cluster/parcel.hpp"
#include "model/graph/magnitudes.hpp"
#include "model/graph/node_text.hpp"
#include "model/oracle/evaluate.hpp"
#include "model/rewrites/fold_constants.hpp"
#include "spdnn/error.hpp"
#include "support/model_text.hpp"
#include "support/models.hpp"

using namespace spdnn;

namespace {

void expect(bool as_expected, const char* what) {
  if (!as_expected) throw std::runtime_error(what);
}

/// y = relu(-2 x), and z = -2 of a constant.
Model scaled(float factor = -2) {
  testing::ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 2});
  const ValueId y = builder.add(Activation{}, {builder.add(Scale{factor}, {x})});
  const ValueId z = builder.add(Scale{factor}, {builder.constant(testing::make_tensor({1, 1}, {3}))});
  return builder.finish({y, z});
}

void run() {
  Model model = scaled();
  expect(model.values[model.outputs[0]].shape == Shape({kBatchExtent, 2}), "its shape");
  expect(node_text(model, 0) == "node 1 \"node0\" (scale)", "its name");

  const std::vector<Bounded> outputs = evaluate(model, {testing::make_tensor({2, 2}, {1, -2, 0, -0.5F})});
  expect(outputs[0].values == std::vector<double>({0, 4, 0, 1}), "its values");
  expect(outputs[0].bounds[1] > 0 && outputs[0].bounds[1] < 1e-6, "its bounds");

  const double largest = 8;
  expect(Magnitudes(model).of(0, {&largest, 1}).result == 16, "its magnitude");

  const Parcel parcel = pack(model);
  expect(parcel.description.size() > 0, "ranks send it");
  expect(testing::ModelText::of(model, true).find("scale") != std::string::npos, "its fields as text");

  expect(fold_constants(model) == 1 && model.values[model.outputs[1]].constant->values[0] == -6, "it is folded");

  bool refused = false;
  try {
    scaled(INFINITY);
  } catch (const std::invalid_argument& error) {
    refused = std::string(error.what()).find("its factor is not finite") != std::string::npos;
  }
  expect(refused, "its check");
}

}  // namespace

int main() {
  try {
    run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "not as expected: %s\n", error.what());
    return 1;
  }
  std::puts("the toy operation works");
  return 0;
}
