#pragma once

namespace spdnn {

/// `rank 2 of 4 on HOST: `, for messages of a process that a launcher has started beside others; empty for one that
/// runs by itself. Ranks count from 0. Allocates nothing.
const char* rank_name() noexcept;
/// Once MPI has told.
void name_rank(int rank, int ranks) noexcept;

/// Whether this rank tells at once of an error in what is asked for. Until speak_for_itself(), which is to be called
/// once the command line is found to be in order, every rank meets the same ones as a rule, and the first tells.
bool tells_usage_errors() noexcept;
void speak_for_itself() noexcept;

}  // namespace spdnn
