// All that `spdnn inspect` prints of a small network and of a small model, and the numbers in its JSON line.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/text/json_text.hpp"
#include "io/files/input_file.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"
#include "support/commands.hpp"
#include "support/message_of.hpp"
#include "support/models.hpp"
#include "support/networks.hpp"
#include "support/printed_json.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

std::string printed_by_inspect(const cli::Arguments& arguments) {
  return testing::run_command("inspect", arguments).out;
}

/// 5, 8, 2, 2 and 2 neurons. In the first layer two neurons are twins, two are never above zero, and three are not
/// read; the last two layers are alike.
Network layers_of_each_kind() {
  Network network;
  network.layers = {testing::make_layer(5,
                                        {{{0, 1.F}, {1, 2.F}, {4, 3.F}},
                                         {{0, 1.F}, {1, 2.F}, {4, 3.F}},
                                         {{2, 1.F}},
                                         {},
                                         {},
                                         {{3, 4.F}},
                                         {{3, 4.F}, {2, 1.F}},
                                         {{1, 2.F}}},
                                        -1),
                    testing::make_layer(8, {{{0, 1.F}, {1, 1.F}}, {{5, 1.F}}}, -0.5),
                    testing::make_layer(2, {{{0, 1.F}, {1, 1.F}}, {{0, 1.F}}}, -0.5),
                    testing::make_layer(2, {{{0, 1.F}, {1, 1.F}}, {{0, 1.F}}}, -0.5)};
  network.cap = 16;
  return network;
}

TEST(Inspect, OfANetworkTellsTheNumbersOfEachKindOfLayer) {
  const TemporaryDirectory directory;
  const std::string path = (directory / "n.spdnn").string();
  const std::string json = (directory / "n.json").string();
  write_network(path, Form::packed, layers_of_each_kind());
  const std::string printed = printed_by_inspect({path, "--variant", "cpu_openmp", "--threads", "3", "--json", json});
  EXPECT_EQ(
      printed.substr(0, printed.find("memory  ")),
      R"(layers  first  inputs outputs      edges            degree   density weights   twins    zero  unread  stored      edges distinct
                                    each      min/mean/max            values          always         neurons     stored    terms
     1      1       5       8         11           0/1.4/3  2.75e-01       4       1       2       3       2          4      2.0
     1      2       8       2          3           1/1.5/2  1.88e-01       1       0       0       0       2          3      1.0
     2      3       2       2          3           1/1.5/2  7.50e-01       1       0       0       0       2          3      1.5

passes                       twins,unused,dead,identical
                             saturated is not applied because of layer 4, where a row at the cap does not provably stay there
dead images leave            from the rows entering layer 1 on
saturated images leave       never
edges                        20 given, 13 stored
official network             no
variant                      cpu_openmp
)");
  Json line = parse_json(text_of_file(json));
  line.erase("memory");
  EXPECT_EQ(
      json_line(line),
      R"({"schema":"spdnn-inspect-network-1","network":")" + path +
          R"(","inputs":5,"layers":4,"edges":20,"stored_edges":13,"official":false,)"
          R"("passes":"twins,unused,dead,identical","notes":[],"variant":"cpu_openmp","precision":"fp32","why":""})"
          "\n");
}

TEST(Inspect, OfANetworkHasAPageOfEachOfItsLayers) {
  const TemporaryDirectory directory;
  const std::string path = (directory / "n.spdnn").string();
  const std::string html = (directory / "n.html").string();
  write_network(path, Form::packed, layers_of_each_kind());
  for (const char* const layer : {"1", "4"}) {
    printed_by_inspect({path, "--html", html, "--layer", layer});
    EXPECT_NE(text_of_file(html).find(std::string("Layer ") + layer + ": where the edges are"), std::string::npos);
  }
  EXPECT_EQ(testing::message_of<UsageError>([&] {
              printed_by_inspect({path, "--html", html, "--layer", "5"});
            }),
            "--layer: 5 is outside 1..4");
}

/// With `--generate` there is no file, and the network is the official one.
TEST(Inspect, OfTheOfficialNetworkSaysSo) {
  const TemporaryDirectory directory;
  const std::string json = (directory / "n.json").string();
  printed_by_inspect({"--generate", "official", "--neurons", "1024", "--layers", "120", "--variant", "cpu_reference",
                      "--reduce", "none", "--json", json});
  const Json line = parse_json(text_of_file(json));
  EXPECT_EQ(line["network"], nullptr);
  EXPECT_EQ(line["official"], true);
  EXPECT_EQ(line["layers"], 120);
  EXPECT_EQ(line["edges"], 120 * 32768);
  EXPECT_EQ(line["precision"], "fp64");
  EXPECT_EQ(line["passes"], "none");
}

std::string shown_megabytes(const Json& bytes) { return fmt::format("{:.1f} MB", bytes.get<double>() / 1e6); }

/// Each line of memory shows the number that the JSON line has under its name.
TEST(Inspect, ShowsTheMemoryOfTheJsonLine) {
  const TemporaryDirectory directory;
  const std::string path = (directory / "n.spdnn").string();
  const std::string json = (directory / "n.json").string();
  testing::Rng rng(5);
  Network network;
  for (int k = 0; k < 2; ++k) network.layers.push_back(testing::random_layer(rng, 6000, 6000, 30, 0.1, 1, -0.5));
  write_network(path, Form::packed, network);
  for (const bool checkpoint : {false, true}) {
    cli::Arguments arguments{path, "--variant", "cpu_openmp", "--reduce", "none", "--threads",        "3", "--json",
                             json, "--images",  "7001",       "--ranks",  "3",    "--ranks-per-node", "2"};
    if (checkpoint) arguments.emplace_back("--checkpoint");
    const std::string printed = printed_by_inspect(arguments);
    const Json memory = parse_json(text_of_file(json))["memory"];
    EXPECT_EQ(memory["images"], 7001);
    EXPECT_EQ(memory["ranks"], 3);
    EXPECT_EQ(memory["ranks_per_node"], 2);
    EXPECT_EQ(memory["checkpoint"], checkpoint);
    EXPECT_EQ(memory["threads"], 3);
    EXPECT_EQ(memory["images_of_a_rank"], 2334 * 94 * 8) << "bits in whole words";
    EXPECT_EQ(memory["network"], network.bytes());
    EXPECT_EQ(memory["device"], nullptr);
    const auto line = [&](const std::string& what, const Json& bytes, const std::string& rest = "") {
      return fmt::format("        {:<19}{:>13}{}\n", what, shown_megabytes(bytes), rest);
    };
    const auto range = [&](const std::string& what, const char* field) {
      return line(what, memory[field]["most"], fmt::format("  (at least {})", shown_megabytes(memory[field]["least"])));
    };
    EXPECT_EQ(printed.substr(printed.find("memory  ")),
              fmt::format("memory  network as given   {:>13}\n", shown_megabytes(memory["network"])) +
                  line("plan", memory["plan"]) + line("images", memory["images_of_a_rank"]) +
                  line("engine (cpu)", memory["engine"],
                       fmt::format("  (batches of {} images)", memory["batch"].get<std::int64_t>())) +
                  line("peak on the host", memory["host_peak"]) +
                  "job     3 ranks, 2 on each node, with 2334 images and 3 threads each\n" + range("rank", "rank") +
                  range("first node", "first_node") + range("other nodes", "node"));
  }
}

/// A convolution of 1 x 3 taps of two channels of 4 x 5 pixels, and a linear node, with differing numbers of zeros.
Model two_weighted_nodes() {
  testing::ModelBuilder builder;
  ValueId x = builder.input({kBatchExtent, 2, 4, 5});
  x = builder.add(Convolution{.weights = testing::make_matrix(
                                  6, {{{0, 1.F}, {1, 2.F}, {4, 3.F}}, {{0, 1.F}}, {{1, 1.F}, {5, 2.F}}}),
                              .bias = {},
                              .window = {.kernel = {1, 3}, .pad_begin = {0, 1}, .pad_end = {0, 1}}},
                  {x});
  x = builder.add(testing::make_activation(Activation::Kind::relu), {x});
  x = builder.add(Reshape{{kBatchExtent, 60}}, {x});
  x = builder.add(Linear{testing::make_matrix(60, {{{0, 1.F}, {1, 2.F}, {4, 3.F}, {7, 2.F}}, {{0, 1.F}}}), {}}, {x});
  Model model = builder.finish({x});
  model.name = "small";
  return model;
}

TEST(Inspect, OfAModelTellsTheNumbersOfEachNode) {
  const TemporaryDirectory directory;
  const std::string path = (directory / "m.spdnn").string();
  const std::string json = (directory / "m.json").string();
  write_model(path, two_weighted_nodes());
  const std::string printed = printed_by_inspect({path, "--batch", "3", "--json", json});
  EXPECT_EQ(printed.substr(0, printed.find("\nmemory ")), "model     " + path + R"(  "small"
input     N x 2 x 4 x 5  input
output    N x 2  node3

 node operation           output                 weights  non-zero    zeros           per row multiply-adds     of these  name
                                                                          %      min/mean/max    per image     non-zero  
    1 convolution         N x 3 x 4 x 5               18         6    66.67           1/2.0/3          360          120  node0
    2 relu                N x 3 x 4 x 5                                                                                  node1
    3 reshape             N x 60                                                                                         node2
    4 linear              N x 2                      120         5    95.83           1/2.5/4          120            5  node3
total                                                138        11    92.03                            480          125  
)");
  EXPECT_PRED_FORMAT2(::testing::IsSubstring,
                      "\nvariant   conv_reference   supports it; 0.0 MB for 3 images at a time\n", printed);
  Json line = parse_json(text_of_file(json));
  EXPECT_EQ(line["variants"][0]["name"], "conv_reference");
  EXPECT_EQ(line["variants"][0]["why_not"], nullptr);
  EXPECT_GT(line["variants"][0]["bytes"].get<std::int64_t>(), 0);
  int remarks = 0;
  for (const Json& variant : line["variants"])
    for (const Json& remark : variant["remarks"]) {
      EXPECT_PRED_FORMAT2(::testing::IsSubstring, "\n" + std::string(27, ' ') + remark.get<std::string>() + "\n",
                          printed);
      ++remarks;
    }
  EXPECT_GT(remarks, 0);
  EXPECT_NE(line["would_run"], nullptr);
  EXPECT_NE(line["why"], "");
  for (const char* const varies : {"variants", "would_run", "why"}) line.erase(varies);
  EXPECT_EQ(
      json_line(line),
      R"({"schema":"spdnn-inspect-1","model":")" + path +
          R"(","name":"small","inputs":[{"name":"input","shape":["N",2,4,5]}],"outputs":[{"name":"node3","shape":["N",2]}],"nodes":[)"
          R"({"name":"node0","operation":"convolution","output":["N",3,4,5],"weights":18,"nonzeros":6,"row_nonzeros":{"min":1,"mean":2.0,"max":3},"multiply_adds":{"dense":360.0,"sparse":120.0}},)"
          R"({"name":"node1","operation":"relu","output":["N",3,4,5],"weights":0,"nonzeros":0,"row_nonzeros":{"min":0,"mean":0.0,"max":0},"multiply_adds":{"dense":0.0,"sparse":0.0}},)"
          R"({"name":"node2","operation":"reshape","output":["N",60],"weights":0,"nonzeros":0,"row_nonzeros":{"min":0,"mean":0.0,"max":0},"multiply_adds":{"dense":0.0,"sparse":0.0}},)"
          R"({"name":"node3","operation":"linear","output":["N",2],"weights":120,"nonzeros":5,"row_nonzeros":{"min":1,"mean":2.5,"max":4},"multiply_adds":{"dense":120.0,"sparse":5.0}}],)"
          R"("weights":138,"nonzeros":11,"multiply_adds":{"dense":480.0,"sparse":125.0},"bytes":144,"weight_forms":[{"form":"csr f32","nodes":2,"bytes":144}],)"
          R"("onnx_bytes":{"dense":552,"sparse":132},"notes":[],"batch":3})"
          "\n");
}

/// A page shows the weights of a node that has some, by its number from 1 on.
TEST(Inspect, OfAModelRefusesToShowWhatHasNoWeights) {
  const TemporaryDirectory directory;
  const std::string path = (directory / "m.spdnn").string();
  const std::string html = (directory / "m.html").string();
  write_model(path, two_weighted_nodes());
  const auto refused = [&](const char* node) {
    return testing::message_of<UsageError>([&] { printed_by_inspect({path, "--html", html, "--node", node}); });
  };
  EXPECT_EQ(refused("5"), "--node: 5 is outside 1..4");
  EXPECT_EQ(refused("2"), "--node: node 2 is relu, which has no weights");
  EXPECT_EQ(refused("4"), "no error");
}

}  // namespace
}  // namespace spdnn
