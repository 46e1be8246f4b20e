// Checkpoints on disk: a JSON line, and a packed file of the activations of images that had been begun.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

#include "core/text/json_text.hpp"
#include "inference/checkpoint/activation_files.hpp"
#include "inference/checkpoint/checkpoint.hpp"
#include "inference/checkpoint/parser.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/input_file.hpp"
#include "io/files/output_target.hpp"
#include "io/files/temporaries.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"
#include "spdnn/inference.hpp"

namespace spdnn {

namespace {

namespace fs = std::filesystem;

/// Times that a report adds up over the parts of a run.
constexpr std::pair<const char*, double PhaseSeconds::*> kSeconds[] = {{"read", &PhaseSeconds::read},
                                                                       {"plan", &PhaseSeconds::plan},
                                                                       {"share", &PhaseSeconds::share},
                                                                       {"upload", &PhaseSeconds::upload},
                                                                       {"gather", &PhaseSeconds::gather},
                                                                       {"total", &PhaseSeconds::total},
                                                                       {"images", &PhaseSeconds::upload_images},
                                                                       {"checkpoint", &PhaseSeconds::checkpoint}};

/// Ascending ids as [first, count] pairs.
Json ranges_json(const std::vector<Index>& ids) {
  Json ranges = Json::array();
  for (std::size_t i = 0; i < ids.size();) {
    std::size_t end = i + 1;
    while (end < ids.size() && ids[end] == ids[end - 1] + 1) ++end;
    ranges.push_back(Json::array({ids[i], end - i}));
    i = end;
  }
  return ranges;
}

Json outcome_json(const Outcome& outcome) {
  Json overflow = Json::array();
  for (const Overflow& one : outcome.overflow) overflow.push_back(Json::array({one.image, one.layer}));
  return {{"categories", outcome.categories},
          {"alive", outcome.alive},
          {"active", outcome.active},
          {"saturated", outcome.saturated},
          {"identical", outcome.identical},
          {"borderline", outcome.borderline},
          {"overflow", overflow}};
}

bool begun(const Work& work) { return work.layer > 0; }

/// The same without activations.
Checkpoint beginning_again(Checkpoint checkpoint) {
  for (Work& work : checkpoint.left) work = {0, std::move(work.ids), {}};
  join_pieces(checkpoint.left);
  return checkpoint;
}

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

Json costs_json(const CheckpointSummary& costs) {
  return {{"every", json_or_null(costs.every)},
          {"written", costs.written},
          {"bytes", costs.bytes},
          {"lost_parts", costs.lost_parts},
          {"lost_seconds", costs.lost_seconds}};
}

/// `digests` are in the names of the files of activations. Returns the line's bytes.
std::uint64_t write_line(const std::string& path, const Checkpoint& checkpoint,
                         const std::vector<std::string>& digests) {
  Json left = Json::array();
  for (const Work& work : checkpoint.left) left.push_back({{"layer", work.layer}, {"images", ranges_json(work.ids)}});
  Json seconds;
  for (const auto& [name, member] : kSeconds) seconds[name] = checkpoint.seconds.*member;
  seconds["infer"] = checkpoint.seconds.infer.sum;
  Json json{{"schema", kCheckpointSchema},
            {"plan", hex(checkpoint.plan_digest)},
            {"image_digest", hex(checkpoint.image_digest)},
            {"passes", to_string(checkpoint.passes)},
            {"variants", std::vector(checkpoint.variants.begin(), checkpoint.variants.end())},
            {"parts", checkpoint.parts},
            {"seconds", seconds},
            {"costs", costs_json(checkpoint.costs)},
            {"time", now()},
            {"next_within", json_or_null(checkpoint.next_within)},
            {"known", outcome_json(checkpoint.known)},
            {"left", left},
            {"activations", digests}};
  json["checksum"] = checkpoint_checksum(json);
  AtomicFile file(path);
  file.write(json_line(json));
  file.commit();
  return file.size();
}

WrittenCheckpoint write_whole(const std::string& path, const Checkpoint& checkpoint, const ActivationParts& parts) {
  WrittenCheckpoint written;
  written.left = work_in(checkpoint.left, checkpoint.depth);
  try {
    while (const std::optional<ImageSet> part = parts()) {
      const WrittenActivations file = write_activations(path, *part);
      written.activations.push_back(file.digest);
      written.bytes += file.bytes;
    }
    written.bytes += write_line(path, checkpoint, written.activations);
  } catch (...) {
    remove_activations(path, checkpoint.activations);
    throw;
  }
  remove_activations(path, written.activations);
  return written;
}

}  // namespace

WrittenCheckpoint write_checkpoint(const std::string& path, const Checkpoint& checkpoint,
                                   const ActivationParts& parts) {
  const bool none_begun = std::none_of(checkpoint.left.begin(), checkpoint.left.end(), begun);
  try {
    return write_whole(path, checkpoint, parts);
  } catch (const DataError& error) {
    const Checkpoint without = beginning_again(checkpoint);
    if (none_begun || work_in(without.left, without.depth) >= checkpoint.left_in_file) throw;
    WrittenCheckpoint written = write_whole(path, without, [] { return std::nullopt; });
    written.begun_again = error.what();
    return written;
  }
}

Passes passes_to_continue(const std::string& path, Passes requested) {
  const CheckpointParser parser(path, 0);
  const Json json = parser.parse(text_of_file(path));
  const Passes ran = parser.passes(parser.at(json, "passes"));
  for (bool Passes::*const pass : {&Passes::twins, &Passes::unused, &Passes::merge})
    requested.*pass = requested.*pass && ran.*pass;
  return requested;
}

void read_checkpoint(const std::string& path, Checkpoint& checkpoint) {
  const auto images = static_cast<Index>(checkpoint.left.at(0).ids.size());
  const CheckpointParser parser(path, checkpoint.depth);
  const Json json = parser.parse(text_of_file(path));
  const Passes passes = parser.passes(parser.at(json, "passes"));
  if (passes != checkpoint.passes)
    parser.fail(
        fmt::format("was made with the passes {}, but {} run here", to_string(passes), to_string(checkpoint.passes)));
  if (parser.at(json, "plan") != hex(checkpoint.plan_digest))
    parser.fail("was made for another network or another precision");
  if (parser.at(json, "image_digest") != hex(checkpoint.image_digest)) parser.fail("was made for other images");
  for (const Json& variant : parser.list(parser.at(json, "variants"), "variants"))
    checkpoint.variants.insert(parser.text(variant, "variants"));
  checkpoint.parts = static_cast<int>(parser.number(parser.at(json, "parts"), "parts", CheckpointParser::kMostParts));
  const Json& seconds = parser.at(json, "seconds");
  for (const auto& [name, member] : kSeconds)
    checkpoint.seconds.*member = parser.seconds(parser.at(seconds, name), name);
  const double infer = parser.seconds(parser.at(seconds, "infer"), "infer");
  checkpoint.seconds.infer = {infer, infer, infer, infer};
  checkpoint.costs = parser.costs(parser.at(json, "costs"));
  const double since = std::max(0.0, now() - parser.seconds(parser.at(json, "time"), "time"));
  if (const Json& next_within = parser.at(json, "next_within"); !next_within.is_null()) {
    ++checkpoint.costs.lost_parts;
    checkpoint.costs.lost_seconds += std::min(since, parser.seconds(next_within, "next_within"));
  }
  checkpoint.known = parser.outcome(parser.at(json, "known"), images);
  checkpoint.left = parser.left(parser.at(json, "left"), images);
  checkpoint.left_in_file = work_in(checkpoint.left, checkpoint.depth);
  for (const Json& digest : parser.list(parser.at(json, "activations"), "activations")) {
    checkpoint.activations.push_back(parser.text(digest, "activations"));
    if (!is_digest(checkpoint.activations.back())) parser.fail("activations: expected digests");
  }
}

void remove_checkpoint(const std::string& path) {
  remove_file(path);
  remove_activations(path, {});
  remove_file(unnamed_activations(path));
  try {
    for (const fs::path& name : {fs::path(path), unnamed_activations(path)}) {
      const fs::path target = find_output_file(name).path;
      remove_stale_temporaries(target.parent_path(), target);
    }
  } catch (const DataError&) {  // nothing may be removed in a directory in which nothing may be written
  }
}

}  // namespace spdnn
