#pragma once

namespace spdnn {

/// `rank 2 of 4 on HOST: `, for messages of one of several processes that a launcher has started; empty for a single
/// process. Ranks count from 0. Allocates nothing.
const char* rank_name() noexcept;
/// Sets the numbers once MPI is initialised.
void name_rank(int rank, int ranks) noexcept;

/// Whether this rank reports an error at once. Until report_errors_at_once(), which is to be called when the ranks have
/// joined and the command line is found to be in order, all of them meet the same errors as a rule, and rank 0 reports
/// them.
bool reports_errors_at_once() noexcept;
void report_errors_at_once() noexcept;

}  // namespace spdnn
