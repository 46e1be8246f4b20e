#include "cli/inspect_memory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/text/amounts.hpp"

namespace spdnn::cli {

namespace {

std::string column(std::size_t bytes) { return fmt::format("{:>10.1f} MB", static_cast<double>(bytes) / 1e6); }

Json range_json(const MemoryRange& range) { return {{"most", range.most}, {"least", range.least}}; }

}  // namespace

InspectedRun inspected_run(const po::variables_map& values) {
  InspectedRun run{.images = parse_count("images", values["images"].as<std::string>()),
                   .ranks = static_cast<int>(parse_count("ranks", values["ranks"].as<std::string>())),
                   .checkpoint = values.count("checkpoint") != 0};
  const auto on_node = text_of(values, "ranks-per-node");
  run.ranks_per_node =
      on_node ? std::min(run.ranks, static_cast<int>(parse_count("ranks-per-node", *on_node))) : run.ranks;
  return run;
}

void print_memory(std::FILE* out, const InspectedRun& run, const InspectedNetwork& inspected) {
  const MemoryEstimate& one = inspected.rank;
  const RanksEstimate& all = inspected.memory;
  const auto line = [&](const char* what, std::size_t bytes) {
    fmt::print(out, "        {:<19}{}\n", what, column(bytes));
  };
  fmt::print(out, "memory  network as given   {}\n", column(one.network));
  line("plan", one.shared + one.plan);
  line("images", one.images);
  fmt::print(out, "        {:<19}{}  (batches of {} images)\n", fmt::format("engine ({})", to_string(one.device)),
             column(one.engine), one.batch);
  line("peak on the host", one.host_peak());
  const auto range = [&](const std::string& what, const MemoryRange& bytes) {
    fmt::print(out, "        {:<19}{}  (at least {:.1f} MB)\n", what, column(bytes.most),
               static_cast<double>(bytes.least) / 1e6);
  };
  if (run.ranks == 1 && one.device == Device::cpu) return;
  fmt::print(out, "job     {}, {} on each node, with {} and {} each\n", counted(run.ranks, "rank", "ranks"),
             run.ranks_per_node, counted(run.share(), "image", "images"),
             counted(inspected.threads, "thread", "threads"));
  range("rank", all.rank);
  range("first node", all.first_node);
  if (run.ranks > run.ranks_per_node) range("other nodes", all.node);
  if (one.device == Device::cuda) range("device of a rank", all.device);
}

std::vector<std::pair<std::string, std::size_t>> memory_by_part(const InspectedNetwork& inspected) {
  const MemoryEstimate& one = inspected.rank;
  return {{"memory: network as given", one.network},
          {"memory: plan", one.shared + one.plan},
          {"memory: images", one.images},
          {fmt::format("memory: engine ({}), batches of {} images", to_string(one.device), one.batch), one.engine},
          {"memory: peak on the host", one.host_peak()}};
}

Json memory_json(const InspectedRun& run, const InspectedNetwork& inspected) {
  const MemoryEstimate& one = inspected.rank;
  const RanksEstimate& all = inspected.memory;
  Json json{{"images", run.images},
            {"ranks", run.ranks},
            {"ranks_per_node", run.ranks_per_node},
            {"checkpoint", run.checkpoint},
            {"threads", inspected.threads},
            {"batch", one.batch},
            {"network", one.network},
            {"plan", one.shared + one.plan},
            {"images_of_a_rank", one.images},
            {"engine", one.engine},
            {"host_peak", one.host_peak()},
            {"rank", range_json(all.rank)},
            {"first_node", range_json(all.first_node)},
            {"node", range_json(all.node)},
            {"device", nullptr}};
  if (one.device == Device::cuda) json["device"] = range_json(all.device);
  return json;
}

}  // namespace spdnn::cli
