#include "program/stored.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "core/system/build_info.hpp"
#include "core/system/machine_names.hpp"
#include "core/text/json_text.hpp"
#include "model/graph/model_digest.hpp"
#include "model/graph/node_text.hpp"
#include "spdnn/error.hpp"
#include "spdnn/outcome.hpp"

namespace spdnn::program {

namespace {

constexpr const char* kSchema = "spdnn-program-1";
constexpr const char* kUnfit = "its actions and buffers do not fit its model";

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : fmt::format(" {}={}", name, value);
}

Json json_of(const Buffer& buffer);
Json json_of(const Action& action);
Json json_of(const Watched& watched);

Json json_of(const Operand& operand) { return Json::array({operand.buffer, text(operand.layout)}); }

template <class T>
Json json_of(const std::vector<T>& all) {
  Json list = Json::array();
  for (const T& one : all) list.push_back(json_of(one));
  return list;
}

Json json_of(const Lifetime& lifetime) { return Json::array({lifetime.bytes, lifetime.first, lifetime.last}); }

Json json_of(const Buffer& buffer) {
  static constexpr std::array<const char*, 3> kKinds{"input", "arena", "constant"};
  const char* const kind = kKinds.at(static_cast<std::size_t>(buffer.kind));
  if (buffer.kind != Buffer::Kind::constant) return {{"kind", kind}, {"lifetime", json_of(buffer.lifetime)}};
  return {{"bytes", buffer.constant.bytes},       {"form", buffer.constant.form}, {"kind", kind},
          {"lifetime", json_of(buffer.lifetime)}, {"node", buffer.node},          {"part", buffer.constant.part}};
}

Json json_of(const Action& action) {
  static constexpr std::array<const char*, 3> kKinds{"step", "change", "watch"};
  return {{"constants", action.constants},
          {"detail", action.detail},
          {"fused", action.step.fused},
          {"inputs", json_of(action.inputs)},
          {"kernel", action.kernel},
          {"kind", kKinds.at(static_cast<std::size_t>(action.kind))},
          {"node", action.node},
          {"others", action.others},
          {"output", json_of(action.output)},
          {"place", action.place},
          {"scratch", json_or_null(action.scratch)},
          {"seconds", action.seconds},
          {"step", action.step.node}};
}

Json json_of(const Watched& watched) { return Json::array({watched.node, json_of(watched.beyond)}); }

/// All but the remarks, which are also of kernels that were not chosen.
Json json_of(const Program& program) {
  return {{"actions", json_of(program.actions)},
          {"arena", {{"bytes", program.arena.bytes}, {"offsets", program.arena.offsets}}},
          {"buffers", json_of(program.buffers)},
          {"constant_bytes", program.constant_bytes},
          {"images", program.images},
          {"outputs", json_of(program.outputs)},
          {"unproven", json_or_null(program.unproven)},
          {"watched", json_of(program.watched)},
          {"zeros_skipped", program.zeros_skipped}};
}

bool is_list_of_texts(const Json& json) {
  return json.is_array() && std::all_of(json.begin(), json.end(), [](const Json& one) { return one.is_string(); });
}

/// The offer that was chosen for an action.
Wanted wanted_of(const Json& action) {
  Wanted wanted{action.at("kernel").get<std::string>(),
                action.at("detail").get<std::string>(),
                {},
                action.at("output")[1].get<std::string>(),
                !action.at("fused").empty()};
  for (const Json& input : action.at("inputs")) wanted.inputs.push_back(input[1].get<std::string>());
  return wanted;
}

}  // namespace

Origin machine_origin() {
  const BuildInfo& build = build_info();
  return {
      {"version", fmt::format("{} {}{} {}", build.version, build.commit, build.dirty ? " dirty" : "", build.headers)},
      {"processor", processor_name() + variable("ONEDNN_MAX_CPU_ISA") + variable("DNNL_MAX_CPU_ISA")}};
}

Origin origin_of(const Model& model, Extent images, const CompileOptions& options) {
  std::string kernels;
  for (const Kernel* const kernel : options.kernels)
    kernels += fmt::format("{}{}", kernels.empty() ? "" : " ", kernel->name());
  Origin origin = machine_origin();
  for (auto& one : Origin{{"model", fmt::format("{:016x}", model_digest(model))},
                          {"threads", std::to_string(options.threads)},
                          {"images", std::to_string(images)},
                          {"kernels for images", std::to_string(options.kernels_for)},
                          {"precision", std::string(to_string(options.precision))},
                          {"epilogues", options.epilogues ? "yes" : "no"},
                          {"device", options.target == nullptr ? "none" : options.target->name()},
                          {"kernels", kernels}})
    origin.push_back(std::move(one));
  return origin;
}

std::string stored_text(const Program& program, const Origin& origin, Index batch) {
  Json made_for = Json::array();
  for (const auto& [name, text] : origin) made_for.push_back(Json::array({name, text}));
  return json_line({{"batch", batch},
                    {"made_for", std::move(made_for)},
                    {"program", json_of(program)},
                    {"remarks", program.remarks},
                    {"schema", kSchema}});
}

StoredReader::StoredReader(const StoredProgram& stored) : place_(stored.place) {
  const auto fail = [&](const std::string& problem) {
    throw DataError(fmt::format("{}: {}; convert the model again", place_, problem));
  };
  try {
    json_ = parse_strict_json(stored.text);
  } catch (const JsonProblem& problem) {
    fail(fmt::format("byte {}: {}", problem.at + 1, problem.message));
  }
  const Json& json = json_;
  if (json["schema"] != kSchema) fail(fmt::format("expected a program of schema {}", kSchema));
  const Json& made_for = json["made_for"];
  const bool pairs = made_for.is_array() && std::all_of(made_for.begin(), made_for.end(), [](const Json& one) {
                       return is_list_of_texts(one) && one.size() == 2;
                     });
  if (!pairs || !is_list_of_texts(json["remarks"]) || !json["program"]["actions"].is_array())
    fail("expected made_for, remarks and a program with actions");
  const Json* const batch = json.find("batch");
  if (batch != nullptr && (!batch->is_number_unsigned() || batch->get<std::uint64_t>() > kMaxIndex))
    fail("batch: expected a number of images");
}

std::string StoredReader::why_not(const Origin& origin) const {
  const Json& made_for = json_["made_for"];
  if (made_for.size() != origin.size()) return "it is of another version of spdnn";
  for (std::size_t i = 0; i < origin.size(); ++i)
    if (made_for[i][0] != origin[i].first || made_for[i][1] != origin[i].second)
      return fmt::format("its {}: {}, now: {}", made_for[i][0].get<std::string>(), made_for[i][1].get<std::string>(),
                         origin[i].second);
  return {};
}

Choice StoredReader::choice_for(const Kernels& kernels, const Request& request) const {
  for (const Json& action : json_["program"]["actions"]) {
    if (action.at("kind") != "step" || action.at("step") != request.step.node) continue;
    const Wanted wanted = wanted_of(action);
    for (const Kernel* const kernel : kernels) {
      if (kernel->name() != wanted.kernel) continue;
      for (Offer& offer : kernel->offers(request))
        if (is_wanted(wanted, request, *kernel, offer)) return {kernel, std::move(offer), {}};
    }
    throw OfferGone(fmt::format("{} is no longer offered for {} as it was", shown(action.at("kernel")),
                                node_text(request.model, request.step.node)));
  }
  throw DataError(fmt::format("{}: has no action for {}", place_, node_text(request.model, request.step.node)));
}

Choice StoredReader::change_for(const Kernels& kernels, const Change& change, std::size_t& next) const {
  const Json& actions = json_["program"]["actions"];
  while (next < actions.size() && actions[next].at("kind") != "change") ++next;
  if (next == actions.size()) throw damaged(kUnfit);
  const Json& action = actions[next++];
  for (const Kernel* const kernel : kernels) {
    if (action.at("kernel") != kernel->name()) continue;
    Offer offer = kernel->change(change);
    if (offer.takes() && offer.detail == action.at("detail")) return {kernel, std::move(offer)};
  }
  throw OfferGone(fmt::format("{} no longer changes {} into {} as it did", shown(action.at("kernel")),
                              text(change.from), text(change.to)));
}

DataError StoredReader::damaged(const char* what) const {
  return DataError(fmt::format("{}: is corrupted: {}; convert the model again", place_, what));
}

Program StoredReader::program(const Model& model, const Magnitudes& magnitudes, Extent images,
                              const CompileOptions& options) const {
  CompileOptions as_stored = options;
  as_stored.every_tiling = true;
  as_stored.chooser = [&](const Request& request) { return choice_for(options.kernels, request); };
  as_stored.change_chooser = [&, next = std::size_t{0}](const Change& change) mutable {
    return change_for(options.kernels, change, next);
  };
  try {
    Program program = compile(model, magnitudes, images, as_stored);
    // The kernels that were not chosen are not asked, and times depend on more than the origin.
    const Json& actions = json_["program"]["actions"];
    for (std::size_t i = 0; i < std::min(actions.size(), program.actions.size()); ++i) {
      program.actions[i].seconds = actions[i].at("seconds").get<double>();
      program.actions[i].others = actions[i].at("others").get<std::string>();
    }
    if (json_of(program) != json_["program"]) throw damaged(kUnfit);
    program.remarks = json_["remarks"].get<std::vector<std::string>>();
    return program;
  } catch (const UnexpectedJson&) {
    throw damaged("an action lacks a field");
  }
}

Program stored_or_compiled(const Model& model, const Magnitudes& magnitudes, Extent images,
                           const CompileOptions& options) {
  if (!model.program) return compile(model, magnitudes, images, options);
  const StoredReader stored(*model.program);
  std::string why_not = stored.why_not(origin_of(model, images, options));
  if (why_not.empty()) try {
      Program program = stored.program(model, magnitudes, images, options);
      program.remarks.emplace_back("the program stored with the model is used");
      return program;
    } catch (const OfferGone& gone) {
      why_not = gone.what();
    }
  Program program = compile(model, magnitudes, images, options);
  program.remarks.push_back("the program stored with the model is not used, and another compiled: " + why_not);
  return program;
}

}  // namespace spdnn::program
