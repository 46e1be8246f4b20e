#include "cluster/launch.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace spdnn {

namespace {

/// The variables with the rank and the number of ranks; null where the launcher does not say how many there are.
constexpr std::pair<const char*, const char*> kLaunchersOfMpich[] = {
    {"PMI_RANK", "PMI_SIZE"},                        // Hydra, that of Intel MPI included; flux run -o pmi=simple
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},  // mpirun_rsh of MVAPICH2
    {"MVP_COMM_WORLD_RANK", "MVP_COMM_WORLD_SIZE"},  // and of MVAPICH 3
    {"PALS_RANKID", nullptr},  // HPE Cray: mpiexec of PALS, srun --mpi=cray_shasta, flux run -o pmi=cray-pals
};

}  // namespace

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
  const std::optional<int> in_flux = number("FLUX_JOB_SIZE");
  const std::optional<int> in_job = in_step ? in_step : in_flux;
  if (const auto rank = number("OMPI_COMM_WORLD_RANK"))
    return {Launch::By::open_mpi, *rank, number("OMPI_COMM_WORLD_SIZE")};
  if (const auto rank = number("PMIX_RANK")) return {Launch::By::open_mpi, *rank, in_job};
  for (const auto& [rank_name, size_name] : kLaunchersOfMpich)
    if (const auto rank = number(rank_name)) return {Launch::By::mpich, *rank, size_name ? number(size_name) : in_job};
  if (get("PMI_FD") != nullptr) return {Launch::By::mpich, step_rank, in_step};
  if (in_step.value_or(1) > 1) return {Launch::By::srun_no_pmi, step_rank, in_step};
  if (in_flux.value_or(1) > 1) return {Launch::By::flux_no_pmi, number("FLUX_TASK_RANK").value_or(0), in_flux};
  return {};
}

const Launch& this_launch() {
  static const Launch launch = launch_of([](const char* name) { return std::getenv(name); });
  return launch;
}

}  // namespace spdnn
