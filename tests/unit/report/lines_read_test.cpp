// Lines of results in which each field has a value of its own, as they are read, and the same with a field damaged.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/text/json_text.hpp"
#include "report/json_fields.hpp"
#include "report/run_line.hpp"
#include "spdnn/error.hpp"
#include "support/message_of.hpp"
#include "support/whole.hpp"

namespace spdnn {
namespace {

const std::string origin_fields =
    R"("machine":{"host":"h","cpu":"C","device":"D","driver":"E","cuda":"F","threads":3,"ranks":4},)"
    R"("build":{"version":"1.2","commit":"abc","dirty":true}})";

const std::string run_of_network =
    R"({"schema":"spdnn-run-1","problem":{"neurons":[12,8,4],"layers":2,"bias":"-0.3","cap":32,"images":10,)"
    R"("empty_images":3,"edges":20},"variant":"v","passes":"dead","precision":"fp16","trials":5,"parts":2,"batch":6,)"
    R"("streamed":{},"suite":{"options":{"official_images":true}},"seconds":{"load":1,"plan":2,)"
    R"("start":{"took":7,"waited":3},"share":4,"upload":8,"warm_up":16,"infer":{"min":20,"median":28,"max":40},)"
    R"("total":156},"rate":5,"rate_end_to_end":1,"computed_edges":56,"rate_computed":2,"rate_with_setup":3.3333333,)"
    R"("verdict":{"status":"FAILED","against":"a","checks":["b","a","b"],"categories":6,"missing":1,"extra":0},)"
    R"("alive":[9,7],"active":[8,null],"compared":{"same_categories":true},"scaling":{"kind":"strong"},)"
    R"("device_state":{"sm_clock_mhz":{"min":1,"median":2,"max":3},"memory_clock_mhz":{"min":4,"median":5,"max":6},)"
    R"("temperature_c":{"min":-9,"median":8,"max":9},"power_w":{"min":10,"median":11,"max":12},"joules_per_trial":13},)" +
    origin_fields;

const std::string run_of_layers =
    R"({"schema":"spdnn-layers-1","variant":"v","precision":"fp16","weights":"random","neurons":2,"degree":3,)"
    R"("layers":4,"images":5,"trials":6,"seconds_per_layer":{"min":7,"median":8,"max":9},"edges_per_second":10,)"
    R"("bytes":11,"ceiling_bytes_per_second":12,)" +
    origin_fields;

const std::string run_of_model =
    R"({"schema":"spdnn-model-1","model":{"file":"m","weights":9,"nonzeros":8},"variant":"v","precision":"bf16",)"
    R"("images":12,"batch":4,"seconds":{"infer":{"min":2,"median":3,"max":5}},"images_per_second":4,)"
    R"("flops":{"dense":7,"sparse":6},"accuracy":{"top_1":0.75,"at_least":null},)"
    R"("expected":{"images":11,"largest_ratio":0.25},"reference":{"images":10,"largest_ratio":0.5},)"
    R"("verdict":{"status":"PASSED"},"profile":[{"name":"a","operation":"relu","seconds":1},)"
    R"({"name":"b","operation":"pool","seconds":2}],)" +
    origin_fields;

const std::string times_of_model =
    R"({"schema":"spdnn-model-bench-1","model":"m","variant":"v","precision":"bf16","batch":12,"runs":5,)"
    R"("seconds":{"p50":2,"p90":3,"p99":4},"images_per_second":6,"load":0.5,)"
    R"("layers":[{"name":"a","operation":"relu","seconds":1}],"with":{"name":"o","version":"1.0","runs":7,)"
    R"("seconds":{"p50":4,"p90":5,"p99":6},"images_per_second":3,"ratio":{"min":0.25,"median":0.5,"max":0.75},)"
    R"("outputs":{"agree":false}},)" +
    origin_fields;

const std::string times_of_convolution =
    R"({"schema":"spdnn-conv-bench-1","table":"t","layer":"l","variant":"v","kernel":"k","batch":12,"runs":5,)"
    R"("sparsity":0.75,"kept":0.25,"input_sparsity":0.5,"multiply_adds":8,"bytes":9,"load":0.125,)"
    R"("seconds":{"p50":2},"images_per_second":6,"with":{"ours":null,"x":{"kernel":"p","library":"q",)"
    R"("precision":"fp32","seconds":{"p50":4},"images_per_second":3,"ratio":{"min":0.25,"median":0.5,"max":0.75}}},)"
    R"("published":{"source":"s","device":"d","seconds":{"theirs":2.5}},)" +
    origin_fields;

std::string fields_of(const Spread& s) { return fmt::format("{}-{}-{}", s.min, s.median, s.max); }

std::string fields_of(const LineOrigin& o) {
  return fmt::format("{} {} {} {} {} {} {} {} {}", o.host, o.cpu, o.device, o.driver, o.cuda, o.threads, o.version,
                     o.commit, o.dirty);
}

std::string fields_of(const std::vector<ProfiledNode>& nodes) {
  std::string text;
  for (const ProfiledNode& node : nodes) text += fmt::format("{} {} {};", node.name, node.operation, node.seconds);
  return text;
}

std::string fields_of(const ModelTimes& t) {
  return fmt::format("{} {} {} {} {}", t.runs, t.p50, t.p90, t.p99, t.images_per_second);
}

std::string fields_of(const RunLine& r) {
  std::string text = fmt::format("{}: {} of {} in {}, {} layers, {} images, {} empty, {} edges, {} {}; {} {} {}; ",
                                 r.neurons, r.width, r.widths.size(), r.widths.back(), r.layers, r.images,
                                 r.empty_images, r.edges, r.bias, r.cap, r.variant, r.passes, r.precision);
  text += fmt::format("{} {} {} {} {} {}; {} {}", r.trials, r.parts, r.ranks, r.batch, r.streamed,
                      r.official_images.value(), fields_of(r.infer), r.total);
  for (const auto& [name, seconds] : r.phases) text += fmt::format(" {} {}", name, seconds);
  text += fmt::format("; {} {} {:.4f}; {} {} {} {}; {}, {}, {}; {}; ", r.computed_edges.value(), r.rate_end_to_end,
                      r.rate_with_setup.value(), r.status, r.against, fmt::join(r.checks, "+"), r.categories,
                      fmt::join(r.alive, " "), r.active.at(0).value(), r.active.at(1).has_value(), r.scaling);
  const LineDeviceState& state = r.device_state.value();
  return text + fmt::format("{} {} {} {} {}; {}", fields_of(state.sm_clock_mhz.value()),
                            fields_of(state.memory_clock_mhz.value()), fields_of(state.temperature_c.value()),
                            fields_of(state.power_w.value()), state.joules_per_trial.value(), fields_of(r.origin));
}

std::string fields_of(const LayerLine& l) {
  return fmt::format("{} {} {} {} {} {} {} {}; {} {} {} {}; {}", l.variant, l.precision, l.weights, l.neurons, l.degree,
                     l.layers, l.images, l.trials, fields_of(l.seconds), l.edges_per_second, l.bytes, l.ceiling,
                     fields_of(l.origin));
}

std::string fields_of(const ModelLine& m) {
  return fmt::format("{} {} {} {}; {} {} {} {}; {} {} {} {}; {} {} {}; {} {}", m.model, m.variant, m.precision,
                     m.status, m.images, m.batch, m.weights, m.nonzeros, fields_of(m.infer), m.images_per_second,
                     m.dense, m.sparse, m.accuracy.value(), m.largest_ratio.value(), m.sample.value(),
                     fields_of(m.profile), fields_of(m.origin));
}

std::string fields_of(const ModelBenchLine& m) {
  const TimedWith& with = m.with.value();
  return fmt::format("{} {} {} {}; {}; {}; {} with {}; {}; {} {}; {}", m.model, m.variant, m.precision, m.batch,
                     fields_of(m.times), m.load, fields_of(m.layers), with.name, fields_of(with.times),
                     fields_of(with.ratio), with.agree, fields_of(m.origin));
}

std::string fields_of(const ConvLine& c) {
  const ConvPeerLine& peer = c.with.at(0);
  const ConvPublished& paper = c.published.value();
  return fmt::format("{} {} {} {} {} {}; {} {} {} {} {}; {} {}; {} of {}: {} {}; {} {} {} {}; {}", c.table, c.layer,
                     c.variant, c.kernel, c.batch, c.runs, c.sparsity, c.kept, c.input_sparsity, c.multiply_adds,
                     c.bytes, c.median, c.load, peer.kernel, peer.with, peer.median, fields_of(peer.ratio),
                     paper.source, paper.device, paper.seconds.at(0).first, paper.seconds.at(0).second,
                     fields_of(c.origin));
}

ResultLines lines_in(const std::string& text) {
  ResultLines lines;
  read_result_lines("f", text, lines);
  return lines;
}

TEST(LinesRead, HaveEachFieldInItsPlace) {
  const std::string origin = "h C D E F 12 1.2 abc true";
  const ResultLines lines = lines_in(times_of_convolution + "\n" + times_of_model + "\n" + run_of_model + "\n" +
                                     run_of_layers + "\n" + run_of_network + "\n");
  EXPECT_EQ(fields_of(lines.runs.at(0)),
            "12-8-4: 12 of 3 in 4, 2 layers, 10 images, 3 empty, 20 edges, -0.3 32; v dead fp16; 5 2 4 6 true true; "
            "20-28-40 156 load 1 plan 2 start took 7 start waited 3 share 4 upload 8 warm_up 16; 56 1 3.3333; FAILED a "
            "a+b 6; 9 7, 8, false; strong; 1-2-3 4-5-6 -9-8-9 10-11-12 13; " +
                origin);
  EXPECT_EQ(fields_of(lines.layers.at(0)), "v fp16 random 2 3 4 5 6; 7-8-9 10 11 12; " + origin);
  EXPECT_EQ(fields_of(lines.models.at(0)),
            "m v bf16 UNVERIFIED; 12 4 9 8; 2-3-5 4 7 6; 0.75 0.5 11; a relu 1;b pool 2; " + origin);
  EXPECT_EQ(fields_of(lines.model_benches.at(0)),
            "m v bf16 12; 5 2 3 4 6; 0.5; a relu 1; with o 1.0; 7 4 5 6 3; 0.25-0.5-0.75 false; " + origin);
  EXPECT_EQ(fields_of(lines.convolutions.at(0)),
            "t l v k 12 5; 0.75 0.25 0.5 8 9; 2 0.125; p of q in fp32: 4 0.25-0.5-0.75; s d theirs 2.5; " + origin);
  std::string six_widths = run_of_network;
  six_widths.replace(six_widths.find("[12,8,4]"), 8, "[12,8,4,6,2,3]");
  EXPECT_EQ(lines_in(six_widths).runs.at(0).neurons, "12-8-4-6-2-3");
}

TEST(LinesRead, OfEachSchemaAreAllThereHoweverMany) {
  std::string text;
  for (int i = 0; i < 150; ++i)
    for (const std::string& line : {run_of_network, run_of_layers, run_of_model, times_of_model, times_of_convolution})
      text += line + "\n";
  const ResultLines lines = lines_in(text);
  EXPECT_EQ(lines.runs.size(), 150U);
  EXPECT_EQ(lines.layers.size(), 150U);
  EXPECT_EQ(lines.models.size(), 150U);
  EXPECT_EQ(lines.model_benches.size(), 150U);
  EXPECT_EQ(lines.convolutions.size(), 150U);
}

/// What is said of a line, without its place and the field's value; `read` if it is read.
std::string verdict_on(const Json& line) {
  try {
    lines_in(json_line(line));
    return "read";
  } catch (const DataError& error) {
    const std::string said = error.what();
    const std::size_t end = said.find(", expected");
    return end == std::string::npos ? said.substr(said.find(": ") + 2) : said.substr(end + 2);
  }
}

/// For each field of a part, at any depth: what is said where it is left out or something else.
std::string outcomes_of(const Json& part, const std::string& path, const std::function<Json(Json)>& line_of) {
  const std::vector<std::pair<std::string, Json>> values{
      {"null", Json()},        {"-1", Json(-1)},           {"0", Json(0)},      {"words", Json("words")},
      {"list", Json::array()}, {"object", Json::object()}, {"true", Json(true)}};
  std::string text;
  for (const auto& [name, value] : part.items()) {
    const std::string its_name = name;
    const auto changed = [&](Json to) {
      Json copy = part;
      copy[its_name] = std::move(to);
      return line_of(std::move(copy));
    };
    Json without = part;
    without.erase(name);
    std::vector<std::pair<std::string, std::string>> all{{verdict_on(line_of(without)), "none"}};
    for (const auto& [called, other] : values) {
      const std::string said = verdict_on(changed(other));
      const auto same = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.first == said; });
      if (same == all.end())
        all.emplace_back(said, called);
      else
        same->second += ", " + called;
    }
    text += path + name + "\n";
    for (const auto& [said, which] : all) text += fmt::format("  {}: {}\n", which, said);
    if (value.is_object()) text += outcomes_of(value, path + name + ".", changed);
  }
  return text;
}

TEST(LinesRead, AreReadOrRefusedFieldByField) {
  std::string found;
  for (const std::string& line : {run_of_network, run_of_layers, run_of_model, times_of_model, times_of_convolution}) {
    const Json whole = parse_json(line);
    found += outcomes_of(whole, whole.at("schema").get<std::string>() + " ", [](Json all) { return all; });
  }
  testing::expect_whole(__FILE__, "lines_changed.txt", found);
}

/// A field may have the name of one before it in the line.
TEST(LinesRead, AFieldOfAPartIsFoundBehindTheNameOfThePart) {
  const std::string text = R"({"p":1,"with":{"q":{"p":2},"p":-1},"p":3})";
  const JsonFields line("f:7", text);
  EXPECT_EQ(testing::message_of<DataError>([&] { line.part("with").number({"p"}); }),
            "f:7:21: with.p is -1, expected a number that is not negative");
  EXPECT_EQ(testing::message_of<DataError>([&] { line.text({"p"}); }), "f:7:2: p is 3, expected a string");
  EXPECT_EQ(testing::message_of<DataError>([&] { line.part("with").part("q").text({"p"}); }),
            "f:7:21: with.q.p is 2, expected a string");
  EXPECT_EQ(testing::message_of<DataError>([&] { line.part("p"); }), "f:7:2: p is 3, expected an object");
}

/// What lines of earlier versions did not state.
TEST(LinesRead, OfEarlierVersionsHaveWhatTheirsMeant) {
  RunLine run =
      lines_in(
          R"({"schema":"spdnn-run-1","problem":{"neurons":[9,8,7,6,5,4,3],"layers":6,"bias":"0","cap":null,"images":10,)"
          R"("edges":20},"variant":"v","passes":"dead","precision":"fp32","trials":5,"batch":6,"seconds":{"infer":)"
          R"({"min":0,"median":4,"max":40},"total":5},"rate":50,"rate_end_to_end":40,"computed_edges":56,)"
          R"("rate_computed":null,"streamed":null,"device_state":null,"alive":null,"active":null,)"
          R"("verdict":{"status":"UNVERIFIED","against":"nothing: no truth","checks":[],"categories":6,"missing":null},)"
          R"("machine":{"host":"h","cpu":"C","threads":1},"build":{"version":"1","commit":"a","dirty":false}})")
          .runs.at(0);
  EXPECT_EQ(run.neurons, "9-...-3");
  EXPECT_EQ(run.width, 9U);
  EXPECT_EQ(run.cap, "none");
  EXPECT_EQ(fmt::format("{} {} {} {} {}", run.empty_images, run.parts, run.ranks, run.streamed, run.scaling),
            "0 1 1 false ");
  EXPECT_FALSE(run.official_images || run.rate_with_setup || run.device_state);
  EXPECT_TRUE(run.alive.empty() && run.active.empty() && run.phases.empty() && run.checks.empty());
  EXPECT_EQ(run.origin.threads, 1U);
  EXPECT_EQ(run.origin.device + run.origin.driver + run.origin.cuda, "");
}

/// Earlier versions named checks in a sentence alone.
TEST(LinesRead, OfEarlierVersionsNameTheirChecksInASentence) {
  const auto checks = [](const std::string& against, const std::string& more) {
    std::string line = run_of_network;
    line.replace(line.find("\"against\":\"a\",\"checks\":[\"b\",\"a\",\"b\"]"), 36, "\"against\":\"" + against + "\"");
    line.replace(line.find("\"compared\":{\"same_categories\":true}"), 35, more);
    return fmt::format("{}", fmt::join(lines_in(line).runs.at(0).checks, "|"));
  };
  EXPECT_EQ(checks("the list", R"("compared":null)"), "the list");
  EXPECT_EQ(checks("y and x and z, but sums overflowed", R"("x":1)"), "x|y|z");
  EXPECT_EQ(checks("y, though not against x and y", R"("x":1)"), "x|y");
  EXPECT_EQ(checks("cpu_reference on 40 images and cpu_reference on all images", R"("x":1)"),
            "cpu_reference on 40 images, a sample|cpu_reference on all images");
  EXPECT_EQ(checks("labels of 40 images", R"("x":1)"), "labels of 40 images");
  EXPECT_EQ(checks("y", R"("compared":{"passes":"dead","variant":"w","same_categories":true})"),
            "--reduce dead by w|y");
  EXPECT_EQ(checks("nothing: no truth", R"("compared":{"passes":"dead","variant":"w","same_categories":true})"),
            "--reduce dead by w");
}

/// What is said of a line in which `from` is `to`; "no error" if it is read.
std::string said_of(std::string line, const std::string& from, const std::string& to) {
  const std::size_t at = line.find(from);
  if (at == std::string::npos || line.find(from, at + 1) != std::string::npos) return "not once: " + from;
  return testing::message_of<DataError>([&] { lines_in(line.replace(at, from.size(), to)); });
}

struct Damage {
  std::string from, to, said;
};

void expect_said(const std::string& line, const std::vector<Damage>& all) {
  for (const Damage& one : all) {
    const std::string found = said_of(line, one.from, one.to);
    EXPECT_NE(found.find(one.said), std::string::npos) << one.to << ": " << found;
  }
}

TEST(LinesRead, OfANetworkThatContradictThemselvesAreRefused) {
  expect_said(run_of_network,
              {
                  {"[12,8,4]", "[12,-8,4]", "problem.neurons is [12,-8,4], expected whole numbers"},
                  {"[12,8,4]", "[]", "expected at least one number"},
                  {"[12,8,4]", "-12", "problem.neurons is -12, expected a whole number"},
                  {"\"seconds\":{\"load\":1,", "\"seconds\":[1],\"x\":{", "seconds is [1], expected an object"},
                  {"\"load\":1", "\"load\":-1", "seconds.load is -1"},
                  {"\"took\":7", "\"took\":\"7\"", "seconds.start.took is"},
                  {"{\"min\":20", "{\"min\":-20", "seconds.infer is {"},
                  {"{\"min\":20", "{\"min\":29", "expected min <= median <= max"},
                  {"\"max\":40}", "\"max\":27}", "expected min <= median <= max"},
                  {"\"max\":40}", "\"max\":1e61}", "expected numbers min, median and max"},
                  {"\"rate\":5", "\"rate\":5.001", "expected 140 edges / 28 s"},
                  {"\"rate\":5", "\"rate\":5.000001", "no error"},
                  {"\"rate_end_to_end\":1", "\"rate_end_to_end\":1.1", "expected 140 edges / 140 s"},
                  {"\"rate_computed\":2", "\"rate_computed\":5", "expected 56 edges / 28 s"},
                  {"\"rate_with_setup\":3.3333333", "\"rate_with_setup\":5", "expected 140 edges / 42 s"},
                  {"\"rate_with_setup\":3.3333333", "\"rate_with_setup\":null", "no error"},
                  {"[9,7]", "[9,7,1]", "expected at most 2 numbers, one per layer"},
                  {"[9,7]", "[9]", "no error"},
                  {"[9,7]", "[9,11]", "expected at most 10 images"},
                  {"[9,7]", "[10,7]", "no error"},
                  {"[9,7]", "[9,-7]", "alive is [9,-7], expected whole numbers"},
                  {"[8,null]", "[8,null,2]", "expected at most 2 numbers, one per layer"},
                  {"[8,null]", "[8,-1]", "expected whole numbers or null"},
                  {"\"empty_images\":3", "\"empty_images\":11", "expected no more than images"},
                  {"\"images\":10", "\"images\":\"10\"", "problem.images is \"10\", expected a whole number"},
                  {"\"trials\":5", "\"trials\":0", "trials is 0, expected a whole number from 1"},
                  {"\"trials\":5", "\"trials\":2147483648", "expected a whole number from 1 to 2147483647"},
                  {"\"parts\":2", "\"parts\":0", "parts is 0"},
                  {"\"ranks\":4", "\"ranks\":0", "machine.ranks is 0"},
                  {"\"threads\":3", "\"threads\":0", "machine.threads is 0"},
                  {"\"status\":\"FAILED\"", "\"status\":\"WRONG\"", "expected PASSED, FAILED or UNVERIFIED"},
                  {"\"status\":\"FAILED\"", "\"status\":\"PASSED\"", "verdict.missing is 1, expected 0 with status"},
                  {"\"status\":\"FAILED\"", "\"status\":\"UNVERIFIED\"", "no error"},
                  {"[\"b\",\"a\",\"b\"]", "[]", "expected UNVERIFIED, as nothing was checked"},
                  {"[\"b\",\"a\",\"b\"]", "[\"b\",1]", "expected a list of strings"},
                  {"\"same_categories\":true", "\"same_categories\":1", "expected true or false"},
                  {"\"joules_per_trial\":13", "\"joules_per_trial\":-13", "device_state.joules_per_trial is -13"},
                  {"\"official_images\":true", "\"official_images\":0", "suite.options.official_images is 0"},
                  {"\"dirty\":true", "\"dirty\":null", "build.dirty is null, expected true or false"},
                  {"\"cpu\":\"C\"", "\"cpu\":null", "machine.cpu is null, expected a string"},
                  {"\"device\":\"D\"", "\"device\":null", "no error"},
                  {"spdnn-run-1", "spdnn-run-2", "expected spdnn-run-1, spdnn-layers-1"},
              });
}

TEST(LinesRead, OfOtherSchemasThatContradictThemselvesAreRefused) {
  expect_said(run_of_layers, {
                                 {"{\"min\":7", "{\"min\":0", "seconds_per_layer.min is 0, expected a number above 0"},
                                 {"\"edges_per_second\":10", "\"edges_per_second\":0", "expected a number above 0"},
                                 {"\"bytes\":11", "\"bytes\":0", "expected a number above 0"},
                                 {"\"ceiling_bytes_per_second\":12", "\"ceiling_bytes_per_second\":0", "above 0"},
                                 {"\"trials\":6", "\"trials\":0", "trials is 0"},
                             });
  expect_said(run_of_model, {
                                {"\"nonzeros\":8", "\"nonzeros\":10", "expected no more than weights"},
                                {"\"nonzeros\":8", "\"nonzeros\":9", "no error"},
                                {"\"images_per_second\":4", "\"images_per_second\":6", "expected 12 images / 3 s"},
                                {"\"seconds\":1}", "\"seconds\":-1}", "expected nodes with name, operation"},
                                {"\"seconds\":1}", "\"x\":1}", "expected nodes with name, operation and seconds"},
                                {"\"name\":\"a\"", "\"name\":1", "expected nodes with name, operation and seconds"},
                                {"\"name\":\"a\",", "", "expected nodes with name, operation and seconds"},
                                {"\"profile\":[", "\"profile\":[1,", "expected nodes with name, operation and"},
                                {"\"profile\":[", "\"profile\":{},\"x\":[", "expected null or a list of nodes"},
                            });
  expect_said(times_of_model, {
                                  {"\"p90\":3", "\"p90\":1", "expected p50 <= p90 <= p99"},
                                  {"\"p99\":4", "\"p99\":2", "expected p50 <= p90 <= p99"},
                                  {"\"p90\":5", "\"p90\":3", "with.seconds is {"},
                                  {"\"images_per_second\":6", "\"images_per_second\":3", "expected 12 images / 2 s"},
                                  {"\"images_per_second\":3", "\"images_per_second\":6", "expected 12 images / 4 s"},
                                  {"\"runs\":5", "\"runs\":0", "runs is 0"},
                                  {"\"agree\":false", "\"agree\":0", "with.outputs.agree is 0"},
                              });
  expect_said(times_of_convolution,
              {
                  {"\"sparsity\":0.75", "\"sparsity\":1.5", "sparsity is 1.5, expected a share"},
                  {"\"kept\":0.25", "\"kept\":1.25", "kept is 1.25, expected a share from 0 to 1"},
                  {"\"input_sparsity\":0.5", "\"input_sparsity\":2", "input_sparsity is 2"},
                  {"\"kept\":0.25", "\"kept\":1", "no error"},
                  {"{\"min\":0.25", "{\"min\":0", "with.x.ratio.min is 0, expected a number above 0"},
                  {"\"images_per_second\":6", "\"images_per_second\":3", "expected 12 images / 2 s"},
                  {"\"images_per_second\":3", "\"images_per_second\":6", "expected 12 images / 4 s"},
                  {"\"theirs\":2.5", "\"theirs\":-2.5", "published.seconds.theirs is -2.5"},
              });
}

/// Where a second run of the same categories differs, one of the two is wrong.
TEST(LinesRead, WhoseComparedRunDiffersFailed) {
  const auto status = [](const std::string& compared) {
    std::string line = run_of_network;
    line.replace(line.find("FAILED"), 6, "UNVERIFIED");
    line.replace(line.find("\"same_categories\":true"), 22, compared);
    return lines_in(line).runs.at(0).status;
  };
  EXPECT_EQ(status("\"same_categories\":false"), "FAILED");
  EXPECT_EQ(status("\"same_categories\":true"), "UNVERIFIED");
  EXPECT_EQ(status("\"x\":1"), "UNVERIFIED");
}

/// All but one of the fields alike.
TEST(LinesRead, AreOfOneMachineOrBuildWhereAllFieldsOfItAreEqual) {
  const LineOrigin one{"h", "C", "D", "E", "F", 4, "1", "abc", false};
  std::vector<LineOrigin> machines(6, one);
  machines[0].host = machines[1].cpu = machines[2].device = machines[3].driver = machines[4].cuda = "x";
  machines[5].threads = 5;
  for (const LineOrigin& other : machines) {
    EXPECT_FALSE(one.same_machine(other));
    EXPECT_TRUE(one.same_build(other));
  }
  std::vector<LineOrigin> builds(3, one);
  builds[0].version = builds[1].commit = "x";
  builds[2].dirty = true;
  for (const LineOrigin& other : builds) {
    EXPECT_TRUE(one.same_machine(other));
    EXPECT_FALSE(one.same_build(other));
  }
  EXPECT_TRUE(one.is_known());
  EXPECT_FALSE(builds[2].is_known()) << "with changes";
}

}  // namespace
}  // namespace spdnn
