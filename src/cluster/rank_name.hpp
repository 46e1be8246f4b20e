#pragma once

namespace spdnn {

/// `rank 2 of 4 on HOST: `, for messages of a process that a launcher has started beside others; empty for one that
/// runs by itself. Ranks count from 0. Allocates nothing.
const char* rank_name() noexcept;
/// Once MPI has told.
void name_rank(int rank, int ranks) noexcept;

/// Whether an error that every rank meets, such as one in the command line, is to be told by this one.
bool tells_shared_errors() noexcept;

}  // namespace spdnn
