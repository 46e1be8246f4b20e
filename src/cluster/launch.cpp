#include "cluster/launch.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace spdnn {

namespace {

/// A launcher's variables for the rank, the number of ranks and the number of ranks on this node; null if it sets none.
struct Variables {
  const char* rank;
  const char* ranks;
  const char* on_node;
};

constexpr Variables kOpenMpi{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"};

constexpr Variables kLaunchersOfMpich[] = {
    // Hydra, that of Intel MPI included; flux run -o pmi=simple
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"},
    // mpirun_rsh of MVAPICH2
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE"},
    // and of MVAPICH 3
    {"MVP_COMM_WORLD_RANK", "MVP_COMM_WORLD_SIZE", "MVP_COMM_WORLD_LOCAL_SIZE"},
    // HPE Cray: mpiexec of PALS, srun --mpi=cray_shasta, flux run -o pmi=cray-pals
    {"PALS_RANKID", nullptr, nullptr},
};

}  // namespace

Launch launch_of(const std::function<const char*(const char*)>& get) {
  const auto number = [&](const char* name) -> std::optional<int> {
    const char* const text = name == nullptr ? nullptr : get(name);
    if (text == nullptr) return std::nullopt;
    int value = 0;
    const auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
    return error == std::errc() && *end == '\0' && value >= 0 ? std::optional(value) : std::nullopt;
  };
  const std::optional<int> in_step = number("SLURM_STEP_NUM_TASKS");
  const int step_rank = number("SLURM_PROCID").value_or(0);
  const bool step_on_one_node = in_step && number("SLURM_STEP_NUM_NODES") == 1;
  const std::optional<int> in_flux = number("FLUX_JOB_SIZE");
  const std::optional<int> in_job = in_step ? in_step : in_flux;
  const auto launch_by = [&](Launch::By by, const Variables& names) -> std::optional<Launch> {
    const auto rank = number(names.rank);
    if (!rank) return std::nullopt;
    const auto ranks = number(names.ranks);
    const auto on_node = number(names.on_node);
    return Launch{by, *rank, names.ranks == nullptr ? in_job : ranks, ranks && on_node == ranks};
  };
  if (const auto launch = launch_by(Launch::By::open_mpi, kOpenMpi)) return *launch;
  if (const auto rank = number("PMIX_RANK")) return {Launch::By::open_mpi, *rank, in_job, step_on_one_node};
  for (const Variables& names : kLaunchersOfMpich)
    if (const auto launch = launch_by(Launch::By::mpich, names)) return *launch;
  if (get("PMI_FD") != nullptr) return {Launch::By::mpich, step_rank, in_step, step_on_one_node};
  if (in_step.value_or(1) > 1) return {Launch::By::srun_no_pmi, step_rank, in_step};
  if (in_flux.value_or(1) > 1) return {Launch::By::flux_no_pmi, number("FLUX_TASK_RANK").value_or(0), in_flux};
  return {};
}

const Launch& this_launch() {
  static const Launch launch = launch_of([](const char* name) { return std::getenv(name); });
  return launch;
}

}  // namespace spdnn
