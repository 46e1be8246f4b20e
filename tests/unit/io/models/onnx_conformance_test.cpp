// ONNX's own conformance cases (Debian's package libonnx-testdata), read and evaluated by the reference: all cases
// whose operators are supported give the outputs that ONNX expects, and the others are refused with node, operator and
// reason.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "io/models/onnx/read/operators.hpp"
#include "model/oracle/evaluate.hpp"
#include "spdnn/error.hpp"
#include "support/onnx_file.hpp"

namespace spdnn {
namespace {

namespace fs = std::filesystem;
using onnx::TensorProto;

/// Cases whose outputs contradict the operator's definition, and onnxruntime, which lists the resizes as broken, too:
/// in them align_corners divides by the length before it is rounded down. The input of the cast is UINT16 in its
/// file: the bits of the numbers.
const std::set<std::string> disputed_cases{"test_cast_BFLOAT16_to_FLOAT",
                                           "test_resize_downsample_scales_cubic_align_corners",
                                           "test_resize_downsample_scales_linear_align_corners"};

const fs::path case_folder = "/usr/share/libonnx-testdata/data";

template <class Message>
Message read_message(const fs::path& path) {
  Message message;
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(message.ParseFromIstream(&file)) << path;
  return message;
}

Tensor tensor_of(const TensorProto& proto) {
  Budget budget("net.onnx", proto.ByteSizeLong());
  const onnx_reader::Constant constant =
      onnx_reader::TensorReader("net.onnx", "", budget).read(proto, "input of the case");
  if (!constant.integers()) return {constant.shape, std::get<0>(constant.values)};
  return {constant.shape, std::vector<float>(constant.ints().begin(), constant.ints().end())};
}

bool is_floating(const TensorProto& tensor) {
  return tensor.data_type() == TensorProto::FLOAT || tensor.data_type() == TensorProto::DOUBLE ||
         tensor.data_type() == TensorProto::FLOAT16;
}

/// A model with one set of inputs and outputs.
struct NodeCase {
  fs::path folder;
  onnx::ModelProto model;
  std::vector<TensorProto> inputs;

  explicit NodeCase(const fs::path& path) : folder(path), model(read_message<onnx::ModelProto>(path / "model.onnx")) {
    std::set<std::string> constants;
    for (const TensorProto& tensor : model.graph().initializer()) constants.insert(tensor.name());
    for (const onnx::ValueInfoProto& input : model.graph().input()) {
      if (constants.contains(input.name()) || !input.type().has_tensor_type()) continue;
      const fs::path file = folder / fmt::format("test_data_set_0/input_{}.pb", inputs.size());
      if (!exists(file)) break;
      inputs.push_back(read_message<TensorProto>(file));
      inputs.back().set_name(input.name());
    }
  }

  /// The operators, and those of subgraphs' nodes, which are refused with the node that holds them.
  std::set<std::string> operators() const {
    std::set<std::string> names;
    for (const onnx::NodeProto& node : model.graph().node()) names.insert(node.op_type());
    return names;
  }

  /// Turns inputs into initializers with the case's values: integer inputs, and on request all others but the first.
  std::vector<Tensor> fix_inputs(bool all_but_first) {
    std::vector<Tensor> open;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (i == 0 || (!all_but_first && is_floating(inputs[i]))) {
        open.push_back(tensor_of(inputs[i]));
        continue;
      }
      *model.mutable_graph()->add_initializer() = inputs[i];
    }
    return open;
  }
};

struct Tally {
  int passed = 0;
  int refused = 0;
};

class OnnxConformance : public ::testing::Test {
 protected:
  /// Empty, or why the case was refused.
  std::string run(const fs::path& folder) {
    std::string reason;
    for (const bool all_but_first : {false, true}) {
      NodeCase one(folder);
      try {
        const std::vector<Tensor> inputs = one.fix_inputs(all_but_first);
        onnx_test::File file;
        file.proto = one.model;
        const Model model = file.read();
        model.validate();
        const std::string wrong = mismatch(one, evaluate(model, inputs));
        EXPECT_EQ(wrong.empty(), !disputed_cases.contains(folder.filename().string())) << folder << ": " << wrong;
        return {};
      } catch (const UsageError& error) {
        return fmt::format("net.onnx: input of the case: {}", error.what());
      } catch (const DataError& error) {
        reason = error.what();
      }
      if (reason.find("must be a constant") == std::string::npos) break;
    }
    return reason;
  }

  /// The first difference between the model's outputs and the expected ones; empty if there is none.
  static std::string mismatch(const NodeCase& one, const std::vector<Bounded>& outputs) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Tensor expected =
          tensor_of(read_message<TensorProto>(one.folder / fmt::format("test_data_set_0/output_{}.pb", i)));
      if (outputs[i].shape != expected.shape)
        return fmt::format("{}, expected {}", shape_text(outputs[i].shape), shape_text(expected.shape));
      for (std::size_t k = 0; k < expected.values.size(); ++k) {
        // The expected values were computed in fp32, too, possibly with more roundings than ours.
        const double found = outputs[i].values[k];
        if (found == expected.values[k] || (std::isnan(found) && std::isnan(expected.values[k]))) continue;
        const double allowed = outputs[i].bounds[k] + 2e-6 * std::abs(expected.values[k]);
        if (!(std::abs(found - expected.values[k]) <= allowed))
          return fmt::format("element {} is {}, expected {}, up to {}", k, found, expected.values[k], allowed);
      }
    }
    return {};
  }
};

TEST_F(OnnxConformance, CasesPassOrAreRefusedWithAReason) {
  if (!exists(case_folder)) {
    ASSERT_EQ(std::getenv("CI"), nullptr) << "libonnx-testdata is not installed";
    GTEST_SKIP() << case_folder << " is absent: install libonnx-testdata";
  }
  std::vector<fs::path> folders;
  for (const char* group : {"node", "pytorch-converted", "pytorch-operator", "simple"})
    for (const auto& entry : fs::directory_iterator(case_folder / group)) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());

  const std::regex place(
      "^net.onnx: (node '.*' \\(\\w+\\)|\\d+ nodes are not supported: \\d+ \\w+, (the first )?node "
      "'|initializer '|input '|output ')");
  std::map<std::string, Tally> tallies;
  Tally all;
  int of_others = 0;
  std::string refusals;
  for (const fs::path& folder : folders) {
    const std::set<std::string> operators = NodeCase(folder).operators();
    const bool supported = std::all_of(operators.begin(), operators.end(),
                                       [](const auto& name) { return onnx_reader::find_operator(name) != nullptr; });
    const std::string reason = run(folder);
    EXPECT_TRUE(supported || !reason.empty()) << folder;
    for (const std::string& name : operators) ++(reason.empty() ? tallies[name].passed : tallies[name].refused);
    ++(reason.empty() ? all.passed : all.refused);
    if (reason.empty()) continue;
    of_others += supported ? 0 : 1;
    // The refusal names its place: the node and its operator, or an input or initializer.
    const bool placed = std::regex_search(reason, place);
    const auto begins = [&](const char* text) { return reason.starts_with(text); };
    EXPECT_TRUE(placed || begins("net.onnx: the graph has no input") ||
                begins("net.onnx: it names no version of ONNX's") || begins("net.onnx: input of the case"))
        << folder << ": " << reason;
    if (supported) refusals += fmt::format("  {}: {}\n", folder.filename().string(), reason.substr(10));
  }
  fmt::print("{:<20} {:>6} {:>7}\n", "operator", "passed", "refused");
  for (const auto& [name, tally] : tallies)
    if (onnx_reader::find_operator(name) != nullptr)
      fmt::print("{:<20} {:>6} {:>7}\n", name, tally.passed, tally.refused);
  fmt::print(
      "{} cases: {} pass, {} have operators that are not supported, {} are refused for what they ask of others:\n{}",
      folders.size(), all.passed, of_others, all.refused - of_others, refusals);
  // The counts of version 1.12, which Debian 12 has, so that no case is skipped unnoticed.
  EXPECT_EQ(folders.size(), 1072U);
  EXPECT_EQ(all.passed, 572);
  EXPECT_EQ(of_others, 408);
}

}  // namespace
}  // namespace spdnn
