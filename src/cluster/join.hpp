#pragma once

#include <memory>
#include <string>

#include "cluster/communicator.hpp"
#include "cluster/launch.hpp"

namespace spdnn {

/// The communicator of all ranks that the launcher has started: it opens the shared object of the launcher's MPI
/// library and starts MPI up, once per process. For a single process: alone(), without looking for MPI.
/// DeviceError if several processes were started that cannot find one another. The destructor ends MPI unless something
/// has failed: a rank that ends without it ends the job.
std::unique_ptr<Communicator> join(const Launch& launch = this_launch());

/// The MPI libraries that this program can use, by the names of its shared objects for them: `mpich openmpi`; empty
/// where there is none.
std::string mpi_libraries();

/// Whether the MPI library is starting: some end the program where they cannot.
bool is_joining() noexcept;

/// Ends all ranks with this exit code, as far as the MPI library can, or before this process has joined it, the
/// launcher; returns where they cannot. The caller then ends itself, which ends the job. To be called once, after the
/// message is printed.
void end_job(int code) noexcept;

}  // namespace spdnn
