// Launchers recognised by the environment, the images of a rank, and the report on all ranks.

#include "cluster/launch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "cluster/partition.hpp"
#include "inference/ranks/run_on_ranks.hpp"

namespace spdnn {
namespace {

using By = Launch::By;

Launch launch_in(const std::map<std::string, std::string>& environment) {
  return launch_of([&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

struct LaunchCase {
  const char* what;
  std::map<std::string, std::string> environment;
  By by;
  int rank;
  std::optional<int> ranks;
  bool maybe_several;
};

class LaunchOf : public ::testing::TestWithParam<LaunchCase> {};

TEST_P(LaunchOf, ReadsTheEnvironment) {
  const LaunchCase& expected = GetParam();
  const Launch launch = launch_in(expected.environment);
  EXPECT_EQ(launch.by, expected.by);
  EXPECT_EQ(launch.rank, expected.rank);
  EXPECT_EQ(launch.ranks, expected.ranks);
  EXPECT_EQ(launch.maybe_several(), expected.maybe_several);
}

std::vector<LaunchCase> environments() {
  return {
      {"Nothing", {}, By::nobody, 0, std::nullopt, false},
      {"OpenMpi", {{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}}, By::open_mpi, 2, 4, true},
      {"OpenMpiAlone", {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}}, By::open_mpi, 0, 1, false},
      {"OpenMpiWithoutSize", {{"OMPI_COMM_WORLD_RANK", "0"}}, By::open_mpi, 0, std::nullopt, true},
      {"OpenMpiInASlurmStep",
       {{"OMPI_COMM_WORLD_RANK", "3"},
        {"OMPI_COMM_WORLD_SIZE", "4"},
        {"PMIX_RANK", "3"},
        {"SLURM_STEP_NUM_TASKS", "2"},
        {"SLURM_PROCID", "0"}},
       By::open_mpi,
       3,
       4,
       true},
      {"SrunWithPmix", {{"PMIX_RANK", "1"}, {"SLURM_STEP_NUM_TASKS", "8"}}, By::open_mpi, 1, 8, true},
      {"SrunWithPmixOneTask", {{"PMIX_RANK", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}, By::open_mpi, 0, 1, false},
      {"PmixElsewhere", {{"PMIX_RANK", "1"}}, By::open_mpi, 1, std::nullopt, true},
      {"Mpich", {{"PMI_RANK", "5"}, {"PMI_SIZE", "7"}, {"PMI_FD", "9"}}, By::mpich, 5, 7, true},
      {"MpichAlone", {{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}, By::mpich, 0, 1, false},
      {"SrunWithPmi2", {{"PMI_FD", "9"}, {"SLURM_STEP_NUM_TASKS", "3"}, {"SLURM_PROCID", "2"}}, By::mpich, 2, 3, true},
      {"SrunWithoutPmi", {{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "1"}}, By::srun_no_pmi, 1, 2, true},
      {"IntelMpi", {{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "1"}}, By::mpich, 1, 4, true},
      {"Mvapich2", {{"MV2_COMM_WORLD_RANK", "3"}, {"MV2_COMM_WORLD_SIZE", "6"}}, By::mpich, 3, 6, true},
      {"Mvapich3", {{"MVP_COMM_WORLD_RANK", "2"}, {"MVP_COMM_WORLD_SIZE", "3"}}, By::mpich, 2, 3, true},
      {"MvapichAlone", {{"MV2_COMM_WORLD_RANK", "0"}, {"MV2_COMM_WORLD_SIZE", "1"}}, By::mpich, 0, 1, false},
      {"CrayPals", {{"PALS_RANKID", "5"}, {"PALS_NODEID", "1"}}, By::mpich, 5, std::nullopt, true},
      {"SrunWithCrayShasta",
       {{"PALS_RANKID", "1"}, {"PALS_NODEID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "1"}},
       By::mpich,
       1,
       2,
       true},
      {"SrunWithCrayShastaOneTask",
       {{"PALS_RANKID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}},
       By::mpich,
       0,
       1,
       false},
      {"CrayPalsWithPmix", {{"PALS_RANKID", "1"}, {"PMIX_RANK", "1"}}, By::open_mpi, 1, std::nullopt, true},
      {"FluxWithPmiOfMpich",
       {{"FLUX_TASK_RANK", "2"}, {"FLUX_JOB_SIZE", "4"}, {"PMI_RANK", "2"}, {"PMI_SIZE", "4"}},
       By::mpich,
       2,
       4,
       true},
      {"FluxWithPmix", {{"FLUX_TASK_RANK", "1"}, {"FLUX_JOB_SIZE", "4"}, {"PMIX_RANK", "1"}}, By::open_mpi, 1, 4, true},
      {"FluxWithCrayPals",
       {{"FLUX_TASK_RANK", "1"}, {"FLUX_JOB_SIZE", "3"}, {"PALS_RANKID", "1"}},
       By::mpich,
       1,
       3,
       true},
      {"FluxWithoutPmi", {{"FLUX_TASK_RANK", "1"}, {"FLUX_JOB_SIZE", "4"}}, By::flux_no_pmi, 1, 4, true},
      {"FluxOfOneTask", {{"FLUX_TASK_RANK", "0"}, {"FLUX_JOB_SIZE", "1"}}, By::nobody, 0, std::nullopt, false},
      {"SrunOfOneTask", {{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}}, By::nobody, 0, std::nullopt, false},
      {"BatchScript", {{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}}, By::nobody, 0, std::nullopt, false},
      {"NoNumbers",
       {{"OMPI_COMM_WORLD_RANK", "x"}, {"PMI_RANK", "-1"}, {"PMIX_RANK", "1a"}},
       By::nobody,
       0,
       std::nullopt,
       false},
  };
}

TEST(LaunchOfOneNode, AllRanksAreOnOneNodeOnlyWhereTheLauncherSaysSo) {
  using Environment = std::map<std::string, std::string>;
  const Environment open_mpi{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "4"}};
  const Environment hydra{{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}};
  const Environment mvapich{{"MV2_COMM_WORLD_RANK", "0"}, {"MV2_COMM_WORLD_SIZE", "4"}};
  const Environment pmix{{"PMIX_RANK", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}};
  const Environment pmi2{{"PMI_FD", "9"}, {"SLURM_STEP_NUM_TASKS", "4"}};
  const auto one_node = [](Environment environment, const char* name, const char* value) {
    environment[name] = value;
    return launch_in(environment).one_node;
  };
  for (const auto& [environment, name, one, two] :
       {std::tuple{open_mpi, "OMPI_COMM_WORLD_LOCAL_SIZE", "4", "2"}, std::tuple{hydra, "MPI_LOCALNRANKS", "4", "2"},
        std::tuple{mvapich, "MV2_COMM_WORLD_LOCAL_SIZE", "4", "2"}, std::tuple{pmix, "SLURM_STEP_NUM_NODES", "1", "2"},
        std::tuple{pmi2, "SLURM_STEP_NUM_NODES", "1", "2"}}) {
    EXPECT_FALSE(launch_in(environment).one_node) << name;
    EXPECT_TRUE(one_node(environment, name, one)) << name;
    EXPECT_FALSE(one_node(environment, name, two)) << name;
  }
  // mpirun's daemons are a step of one task on each node but the first, but the ranks that they start have its
  // variables.
  Environment within_step = open_mpi;
  within_step["SLURM_STEP_NUM_TASKS"] = within_step["SLURM_STEP_NUM_NODES"] = "1";
  EXPECT_FALSE(one_node(within_step, "OMPI_COMM_WORLD_LOCAL_SIZE", "2"));
  EXPECT_FALSE(one_node({{"OMPI_COMM_WORLD_RANK", "0"}}, "OMPI_COMM_WORLD_LOCAL_SIZE", "2"));
  EXPECT_FALSE(launch_in({{"PALS_RANKID", "0"}}).one_node) << "neither number is known";
}

INSTANTIATE_TEST_SUITE_P(Environments, LaunchOf, ::testing::ValuesIn(environments()),
                         [](const auto& tested) { return tested.param.what; });

TEST(ImagesOfRank, AreAllImagesInOrderAndBalanced) {
  for (const Index images : {0U, 1U, 2U, 7U, 50U, 60000U})
    for (const int ranks : {1, 2, 3, 7, 64}) {
      Index next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const ImageRange range = images_of_rank(images, rank, ranks);
        EXPECT_EQ(range.first, next);
        const Index least = images / static_cast<Index>(ranks);
        EXPECT_GE(range.count, least);
        EXPECT_LE(range.count, least + (images % static_cast<Index>(ranks) == 0 ? 0 : 1));
        next += range.count;
      }
      EXPECT_EQ(next, images);
    }
}

TEST(ImagesOfRank, CountsBeyond32BitsAreNotCutOff) {
  constexpr Index kImages = 4'000'000'000;
  const ImageRange last = images_of_rank(kImages, 999, 1000);
  EXPECT_EQ(last.first, 3'996'000'000U);
  EXPECT_EQ(last.count, 4'000'000U);
}

TEST(ImagesDealtTo, AreAllImagesOnceAscendingAndBalanced) {
  for (const Index images : {0U, 1U, 2U, 7U, 50U, 1000U, 60000U})
    for (const int ranks : {1, 2, 3, 7, 64}) {
      std::vector<int> seen(images, 0);
      for (int rank = 0; rank < ranks; ++rank) {
        const std::vector<Index> ids = images_dealt_to(images, rank, ranks);
        EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
        const Index least = images / static_cast<Index>(ranks);
        EXPECT_GE(ids.size(), least);
        EXPECT_LE(ids.size(), least + (images % static_cast<Index>(ranks) == 0 ? 0 : 1));
        for (const Index id : ids) ++seen.at(id);
      }
      EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), std::int64_t{images}) << images << " on " << ranks;
    }
}

TEST(ImagesDealtTo, ImagesThatLieTogetherFallOnAllRanks) {
  constexpr Index kAlive = 1812;
  for (const int ranks : {2, 7, 64})
    for (int rank = 0; rank < ranks; ++rank) {
      const std::vector<Index> ids = images_dealt_to(60000, rank, ranks);
      const auto alive = std::count_if(ids.begin(), ids.end(), [](Index id) { return id < kAlive; });
      EXPECT_NEAR(static_cast<double>(alive), static_cast<double>(kAlive) / ranks, 32.0) << rank << " of " << ranks;
    }
}

TEST(ImagesDealtTo, BlocksAreSmallerWhereThereAreFewImages) {
  EXPECT_EQ(images_dealt_to(10, 1, 3), (std::vector<Index>{1, 4, 7}));
  const std::vector<Index> some = images_dealt_to(200, 0, 2);  // blocks of six, and four images in each rank's rest
  EXPECT_EQ((std::vector<Index>(some.begin(), some.begin() + 8)), (std::vector<Index>{0, 1, 2, 3, 4, 5, 12, 13}));
  const std::vector<Index> many = images_dealt_to(60000, 1, 2);
  EXPECT_EQ(many[0], 32U);
  EXPECT_EQ(many[32], 96U);
}

TEST(SpreadsOf, AreThoseOfEachMemberOverTheRanks) {
  const RankSpreads spreads = spreads_of({{"a", 4, 0.5, 8}, {"b", 6, 0.25, 16}, {"a", 5, 1, 4}});
  EXPECT_EQ(spreads.ranks, 3);
  EXPECT_EQ(spreads.hosts, 2);
  const auto expect = [](const Spread& found, double min, double median, double max) {
    EXPECT_EQ(found.min, min);
    EXPECT_EQ(found.median, median);
    EXPECT_EQ(found.max, max);
  };
  expect(spreads.images, 4, 5, 6);
  expect(spreads.upload, 0.25, 0.5, 1);
  expect(spreads.infer, 4, 8, 16);
  EXPECT_EQ(spreads.slowest, 1);
  EXPECT_EQ(spreads.slowest_host, "b");
  EXPECT_EQ(spreads.slowest_over_median(), 2);
}

TEST(NoteOnSlowest, NamesRankAndHostWhereItIsFarAboveTheMedian) {
  const auto note = [](double first, double second, double third) {
    return note_on_slowest(spreads_of({{"a", 4, 0, first}, {"b", 6, 0, second}, {"a", 5, 0, third}})).value_or("");
  };
  EXPECT_EQ(note(1, 2, 1), "rank 1 on b took 2.00 times the median of the ranks' infer, 2.000 s");
  EXPECT_EQ(note(1.31, 1, 1), "rank 0 on a took 1.31 times the median of the ranks' infer, 1.310 s");
  EXPECT_EQ(note(1.3, 1, 1), "");
  EXPECT_EQ(note(0.1, 0.19, 0.1), "") << "so short a run says nothing";
  EXPECT_EQ(note(0, 0, 3), "") << "most ranks have no images";
}

}  // namespace
}  // namespace spdnn
