// Ranks that join with other programs or other command lines: all of them fail, and the first that differs from rank 0
// names the difference.

#include "cluster/agreement.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cluster/together.hpp"
#include "spdnn/error.hpp"
#include "support/thread_ranks.hpp"

namespace spdnn {
namespace {

const RunRequest usual_request{"spdnn 1.0 (commit abc)", {{"network", "n.spdnn"}, {"trials", "3"}, {"compare", ""}}};

/// The end of each rank: nothing, `another` if another rank failed, or the text of its own error.
std::vector<std::string> ends_of(const std::vector<RunRequest>& requests) {
  std::vector<std::string> ends(requests.size());
  const auto work = [&](Communicator& ranks) {
    std::string& end = ends[static_cast<std::size_t>(ranks.place().rank)];
    try {
      require_agreement(ranks, requests[static_cast<std::size_t>(ranks.place().rank)]);
    } catch (const RanksFailed& failed) {
      end = "another";
      try {
        if (failed.own) std::rethrow_exception(failed.own);
      } catch (const UsageError& error) {
        end = std::string("usage: ") + error.what();
      } catch (const DeviceError& error) {
        end = std::string("device: ") + error.what();
      }
    }
  };
  for (const auto& thrown : testing::on_ranks(static_cast<int>(requests.size()), work)) EXPECT_EQ(thrown, nullptr);
  return ends;
}

/// The end of the third of four ranks, if it has this request and the others the usual one.
std::string end_of_third(const RunRequest& third) {
  std::vector<std::string> ends = ends_of({usual_request, usual_request, third, usual_request});
  const std::string end = std::exchange(ends[2], "another");
  EXPECT_EQ(ends, std::vector<std::string>(4, "another"));
  return end;
}

RunRequest with(const std::string& option, const std::string& value) {
  RunRequest request = usual_request;
  request.options[option] = value;
  return request;
}

TEST(Agreement, RanksThatAskForTheSameGoOn) {
  for (const std::size_t ranks : {1U, 2U, 3U, 8U})
    EXPECT_EQ(ends_of(std::vector<RunRequest>(ranks, usual_request)), std::vector<std::string>(ranks));
}

TEST(Agreement, AnotherValueIsNamed) {
  EXPECT_EQ(end_of_third(with("trials", "4")),
            "usage: --trials: '4' here, but '3' on the first rank; expected the same options on all ranks");
}

TEST(Agreement, AnOptionThatOnlySomeRanksHaveIsNamed) {
  EXPECT_EQ(end_of_third(with("checkpoint", "c")),
            "usage: --checkpoint: 'c' here, but not given on the first rank; expected the same options on all ranks");
  RunRequest without = usual_request;
  without.options.erase("compare");
  EXPECT_EQ(end_of_third(without),
            "usage: --compare: not given here, but given on the first rank; expected the same options on all ranks");
}

TEST(Agreement, TextThatMovesFromOneOptionToTheNextIsNoticed) {
  const RunRequest one{"spdnn", {{"a", "x"}, {"b", "yz"}}};
  const RunRequest two{"spdnn", {{"a", "xy"}, {"b", "z"}}};
  EXPECT_EQ(ends_of({one, two})[1],
            "usage: --a: 'xy' here, but 'x' on the first rank; expected the same options on all ranks");
}

TEST(Agreement, AnotherProgramIsNamedBeforeAnyOption) {
  RunRequest other = with("trials", "4");
  other.program = "spdnn 1.0 (commit def)";
  EXPECT_EQ(end_of_third(other),
            "device: this is spdnn 1.0 (commit def), but the first rank runs spdnn 1.0 (commit abc); expected the same "
            "program on all ranks");
}

TEST(Agreement, OfSeveralRanksThatDifferTheFirstSaysSo) {
  for (std::size_t first = 1; first < 7; ++first) {
    std::vector<RunRequest> requests(7, with("trials", "5"));
    std::fill_n(requests.begin(), first, usual_request);
    const std::vector<std::string> ends = ends_of(requests);
    for (std::size_t rank = 0; rank < ends.size(); ++rank)
      EXPECT_EQ(ends[rank] != "another", rank == first) << rank << " of those from " << first << ": " << ends[rank];
  }
}

}  // namespace
}  // namespace spdnn
