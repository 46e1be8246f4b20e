#include "cluster/launch.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace spdnn {

Launch launch_of(const std::function<const char*(const char*)>& get) {
  const auto number = [&](const char* name) -> std::optional<int> {
    const char* const text = get(name);
    if (text == nullptr) return std::nullopt;
    int value = 0;
    const auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
    return error == std::errc() && *end == '\0' && value >= 0 ? std::optional(value) : std::nullopt;
  };
  const std::optional<int> in_step = number("SLURM_STEP_NUM_TASKS");
  const int step_rank = number("SLURM_PROCID").value_or(0);
  if (const auto rank = number("OMPI_COMM_WORLD_RANK"))
    return {Launch::By::open_mpi, *rank, number("OMPI_COMM_WORLD_SIZE")};
  if (const auto rank = number("PMIX_RANK")) return {Launch::By::open_mpi, *rank, in_step};
  if (const auto rank = number("PMI_RANK")) return {Launch::By::mpich, *rank, number("PMI_SIZE")};
  if (get("PMI_FD") != nullptr) return {Launch::By::mpich, step_rank, in_step};
  if (in_step.value_or(1) > 1) return {Launch::By::no_pmi, step_rank, in_step};
  return {};
}

const Launch& this_launch() {
  static const Launch launch = launch_of([](const char* name) { return std::getenv(name); });
  return launch;
}

}  // namespace spdnn
