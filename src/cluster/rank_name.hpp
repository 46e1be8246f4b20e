#pragma once

namespace spdnn {

/// `rank 2 of 4 on HOST: `, for messages of one of several processes that a launcher has started; empty for a single
/// process. Ranks count from 0. Allocates nothing.
const char* rank_name() noexcept;
/// Sets the numbers once MPI is initialised.
void name_rank(int rank, int ranks) noexcept;

/// Whether this rank reports errors immediately. Before report_errors_at_once(), to be called when the ranks have
/// joined and the command line is valid, all ranks usually have the same errors, and rank 0 reports them.
bool reports_errors_at_once() noexcept;
void report_errors_at_once() noexcept;

}  // namespace spdnn
