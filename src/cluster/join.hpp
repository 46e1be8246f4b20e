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

/// The MPI libraries that this program supports, by the names of its plug-ins: `mpich openmpi`; empty if there is none.
std::string mpi_libraries();

/// Whether the MPI library is starting: some end the program if they fail to start.
bool is_joining() noexcept;

/// Ends all ranks with this exit code by the MPI library or, before this process has joined, by the launcher; returns
/// if they cannot. The caller then ends, which ends the job. Call once, after printing the message.
void end_job(int code) noexcept;

}  // namespace spdnn
