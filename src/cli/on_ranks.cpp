#include "cli/on_ranks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "cli/ending.hpp"
#include "cli/signals.hpp"
#include "cluster/agreement.hpp"
#include "cluster/exchange.hpp"
#include "cluster/join.hpp"
#include "cluster/rank_name.hpp"
#include "cluster/together.hpp"
#include "core/system/build_info.hpp"
#include "core/threads/deadline.hpp"

namespace spdnn::cli {

namespace {

RunRequest request_of(const po::variables_map& values) {
  const BuildInfo& build = build_info();
  RunRequest request;
  request.program = fmt::format("spdnn {} (commit {}{})", build.version, build.commit, build.dirty ? ", modified" : "");
  for (const auto& [name, value] : values)
    if (!value.defaulted()) request.options[name] = fmt::format("{}", fmt::join(texts_of(values, name), " "));
  return request;
}

std::unique_ptr<Communicator> join_without_signals() {
  const auto held = hold_signals();
  return join();
}

/// The text of an error; empty without one.
std::string error_text(const std::exception_ptr& error) {
  if (!error) return {};
  try {
    std::rethrow_exception(error);
  } catch (const Error& known) {
    return message_of(known);
  } catch (const std::exception& other) {
    return other.what();
  } catch (...) {
    return "unknown";
  }
}

/// Whether no lower rank has the same text. Waits for all ranks.
bool is_first_with(Communicator& ranks, const std::string& text) {
  const std::vector<std::string> all = gather_on_all(ranks, text);
  return std::find(all.begin(), all.end(), text) - all.begin() == ranks.place().rank;
}

}  // namespace

std::unique_ptr<Communicator> join_ranks(const po::variables_map& values) {
  const int seconds = static_cast<int>(parse_count("join-timeout", values["join-timeout"].as<std::string>()));
  if (!this_launch().maybe_several()) return alone();
  const Deadline deadline(std::chrono::seconds(seconds), [seconds] { end_without_others(seconds); });
  std::unique_ptr<Communicator> ranks = join_without_signals();
  const auto agree = [&] {
    require_agreement(*ranks, request_of(values));
    return 0;
  };
  try {
    end_together(*ranks, agree);
  } catch (...) {
    report_errors_at_once();
    throw;
  }
  return ranks;
}

int end_together(Communicator& ranks, const std::function<int()>& work) {
  try {
    return work();
  } catch (const RanksFailed& failed) {
    const bool first = is_first_with(ranks, error_text(failed.own));  // the first rank has also written its outputs
    if (failed.own && first) std::rethrow_exception(failed.own);
    std::this_thread::sleep_for(std::chrono::seconds(5));  // the rank that reports the error ends the job
    throw;
  }
}

}  // namespace spdnn::cli
