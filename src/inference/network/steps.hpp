#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "inference/checkpoint/checkpoint.hpp"
#include "inference/checkpoint/keeper.hpp"
#include "inference/network/input_images.hpp"
#include "inference/network/streaming.hpp"
#include "inference/network/verify.hpp"
#include "inference/ranks/inference_steps.hpp"
#include "inference/ranks/run_images.hpp"
#include "inference/ranks/run_on_ranks.hpp"
#include "inference/run/run.hpp"
#include "spdnn/inference.hpp"

namespace spdnn {

/// One run, from the specification to the report. Its members are defined in inference.cpp, those that read in
/// reading.cpp, those of a run that may be stopped in run_in_parts.cpp, and those that look at the result again in
/// second_runs.cpp.
class Inference::Steps : public InferenceSteps<InferenceSpec, Report> {
 public:
  Steps(const InferenceSpec& spec, std::unique_ptr<Communicator> own, Communicator* ranks);

  void load();
  void load(Network network, ImageSet images);
  void load(const PlannedNetwork& planned, ImageSet images);
  void plan();
  void run();
  void verify();

 private:
  /// Takes the images for a network that is in memory already.
  void take_images(ImageSet images, Index inputs);

  /// On all ranks, each its part: those that are `given` on the root, or else those specified. The root's `neurons`
  /// count.
  void read_images(Index neurons, std::optional<ImageSet> given = {});

  /// Images are read before the plan is made, while the device starts.
  void read();

  /// Reads the network as a whole, or opens it to be streamed, or both; nothing where a stored plan is all that is
  /// needed.
  void read_network(std::size_t budget);
  void read_whole_network(std::size_t budget);

  /// Whether the stream, which could be in memory, suffices for all that the network is needed for.
  bool streams_all() const;

  /// Notes of the report on the files that were read.
  void note(const std::vector<std::string>& notes);

  bool continues() const;
  /// A run that is continued goes on with the plan that it began with.
  void use_checkpoint_passes();

  /// Processes that share the machine's memory if none has a limit of its own.
  int sharers() const;

  /// The network as given, planned for some passes.
  Plan plan_given(const Passes& passes) const;

  void make();
  /// Of the stream; or else the network is in memory.
  void plan_as_read();

  bool needs_network() const;

  RunOptions options(Precision precision, const Plan& plan, std::size_t image_bytes) const;

  /// By this rank.
  std::uint64_t bytes_read() const;

  void report_streaming(std::uint64_t read_before);

  /// On this rank's device.
  EngineRequest request() const;
  EngineChoice choose(const Plan& plan) const;

  /// Sets the orders of all ranks and their part of the report.
  void prepare();

  /// Refuses, before the first run, a verification that could not run after it.
  void check_second_runs(const EngineChoice& choice);

  /// Each rank's pieces of work.
  RankedResult run_work(const std::vector<RunOrder>& orders, const std::vector<Work>& mine,
                        const Keeping* keeping = nullptr);

  void run_at_once();

  /// Why the ranks of a node are not to take batches from a counter, though nothing was asked for; otherwise empty.
  std::string why_fixed() const;
  /// Into the report.
  void note_fixed(const std::string& why);
  /// The images that this rank runs, or may take from its node's.
  Work shared_work();

  /// From a checkpoint, or to one, or both.
  void run_in_parts();

  /// On all ranks, once the plan is shared.
  const Plan& plan_that_runs() const;
  /// This rank's part of the work that the root's checkpoint leaves.
  std::vector<Work> left_of(const Checkpoint& begin);
  /// How each piece of work runs; on all ranks.
  std::vector<RunOrder> orders_of(const std::vector<Work>& work);
  /// `facts` are those of all ranks' images. An engine that was asked for may be one that takes images, but not
  /// activations.
  RunOrder order_of_piece(const Work& piece, const ImageFacts& facts) const;

  /// `begin` with the results of this part of the run added.
  Checkpoint checkpoint_of(Checkpoint begin, const std::vector<RunOrder>& orders, RankedResult all,
                           const LeftWork& left) const;
  /// Adds notes on failures that did not end the run to the report.
  void add_notes(const CheckpointKeeper& keeper, const CheckpointClock& clock);
  /// On all ranks; the root has `keeper`.
  [[noreturn]] void stop(CheckpointKeeper* keeper, const Checkpoint& now, LeftWork& left, const CheckpointClock& clock);

  void conclude(RankedResult result);

  void judge_by_truth();

  /// The images that the root verifies: on several ranks read from the input again.
  SomeImages images_to_verify() const;

  /// Whether network and images are the challenge's own, by the digests of their contents; empty if they are, otherwise
  /// the reason. If a stored plan runs, its file's digest stands for the network, which is not read unless it is
  /// verified.
  std::string why_unofficial() const;

  void compare_with_dead(const std::vector<Work>& mine);

  /// Compares the categories of a run below fp32 with those of the same run in fp32.
  void compare_with_fp32(const std::vector<Work>& mine);

  Plan plan_;  ///< the root's until it is shared
  RunOrder order_;
  RunImages images_;
  // On the root only:
  Truth truth_;
  SomeImages input_images_;  ///< of several ranks, if any are to be recomputed
  std::optional<Network> network_;
  std::optional<GivenStream> stream_;  ///< the same network, where `network_` does not fit or is not kept
  Plan dead_;                          ///< with `compare`: the plan of the second run
  RunOrder dead_order_;
  std::vector<std::string> reader_notes_;
  bool official_network_ = false;  ///< by its digest, or that of the stored plan's file
  bool plan_is_there_ = false;     ///< before plan()
  bool plan_was_stored_ = false;   ///< with the network
  bool planned_on_cuda_ = false;
};

}  // namespace spdnn
