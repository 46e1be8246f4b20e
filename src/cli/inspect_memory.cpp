#include "cli/inspect_memory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/text/amounts.hpp"
#include "core/threads/parallel.hpp"
#include "inference/run/run.hpp"

namespace spdnn::cli {

namespace {

std::string column(std::size_t bytes) { return fmt::format("{:>10.1f} MB", static_cast<double>(bytes) / 1e6); }

nlohmann::ordered_json range_json(const MemoryRange& range) { return {{"most", range.most}, {"least", range.least}}; }

}  // namespace

InspectedRun::InspectedRun(const po::variables_map& values)
    : images(parse_count("images", values["images"].as<std::string>())),
      ranks(static_cast<int>(parse_count("ranks", values["ranks"].as<std::string>()))),
      ranks_per_node(ranks),
      checkpoint(values.count("checkpoint") != 0) {
  if (const auto text = text_of(values, "ranks-per-node"))
    ranks_per_node = std::min(ranks, static_cast<int>(parse_count("ranks-per-node", *text)));
}

InspectedMemory::InspectedMemory(const InspectedRun& run, const NetworkSpec& spec, const Network& network,
                                 const Plan& plan, const EngineChoice& choice, EngineOptions options)
    : run_(run) {
  // Assumes the number of threads that a rank gets on a node like this one.
  if (options.threads == 0) options.threads = std::max(1, host_threads() / run.ranks_per_node);
  options.in_steps = run.checkpoint;
  threads_ = options.threads;
  one_ = estimate_memory(spec.path, network, plan, *choice.variant, options, run.share());
  const auto engine = [&](Index images) { return batch_bytes(*choice.variant, plan, {images, true, true}, options); };
  all_ = estimate_on_ranks(one_, {engine(run.share()), engine(1)}, run.ranks, run.ranks_per_node);
}

void InspectedMemory::print(std::FILE* out) const {
  const auto line = [&](const char* what, std::size_t bytes) {
    fmt::print(out, "        {:<19}{}\n", what, column(bytes));
  };
  fmt::print(out, "memory  network as given   {}\n", column(one_.network));
  line("plan", one_.shared + one_.plan);
  line("images", one_.images);
  fmt::print(out, "        {:<19}{}  (batches of {} images)\n", fmt::format("engine ({})", to_string(one_.device)),
             column(one_.engine), one_.batch);
  line("peak on the host", one_.host_peak());
  const auto range = [&](const std::string& what, const MemoryRange& bytes) {
    fmt::print(out, "        {:<19}{}  (at least {:.1f} MB)\n", what, column(bytes.most),
               static_cast<double>(bytes.least) / 1e6);
  };
  if (run_.ranks == 1 && one_.device == Device::cpu) return;
  fmt::print(out, "job     {}, {} on each node, with {} and {} each\n", counted(run_.ranks, "rank", "ranks"),
             run_.ranks_per_node, counted(run_.share(), "image", "images"), counted(threads_, "thread", "threads"));
  range("rank", all_.rank);
  range("first node", all_.first_node);
  if (run_.ranks > run_.ranks_per_node) range("other nodes", all_.node);
  if (one_.device == Device::cuda) range("device of a rank", all_.device);
}

std::vector<std::pair<std::string, std::size_t>> InspectedMemory::named() const {
  return {{"memory: network as given", one_.network},
          {"memory: plan", one_.shared + one_.plan},
          {"memory: images", one_.images},
          {fmt::format("memory: engine ({}), batches of {} images", to_string(one_.device), one_.batch), one_.engine},
          {"memory: peak on the host", one_.host_peak()}};
}

nlohmann::ordered_json InspectedMemory::json() const {
  nlohmann::ordered_json json{{"images", run_.images},
                              {"ranks", run_.ranks},
                              {"ranks_per_node", run_.ranks_per_node},
                              {"checkpoint", run_.checkpoint},
                              {"threads", threads_},
                              {"batch", one_.batch},
                              {"network", one_.network},
                              {"plan", one_.shared + one_.plan},
                              {"images_of_a_rank", one_.images},
                              {"engine", one_.engine},
                              {"host_peak", one_.host_peak()},
                              {"rank", range_json(all_.rank)},
                              {"first_node", range_json(all_.first_node)},
                              {"node", range_json(all_.node)},
                              {"device", nullptr}};
  if (one_.device == Device::cuda) json["device"] = range_json(all_.device);
  return json;
}

}  // namespace spdnn::cli
