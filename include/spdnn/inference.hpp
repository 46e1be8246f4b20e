#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "spdnn/images.hpp"
#include "spdnn/network.hpp"
#include "spdnn/outcome.hpp"
#include "spdnn/passes.hpp"
#include "spdnn/progress.hpp"
#include "spdnn/report.hpp"
#include "spdnn/run_settings.hpp"

namespace spdnn {

/// The upper bound of activations, where there is one.
struct Cap {
  std::optional<double> value;
};

/// Which network is run.
struct NetworkSpec {
  /// A directory of nN-lK.tsv[.gz] or .mtx layers, one such file, or a packed file. Empty: the official network of
  /// `neurons` and `layers` is made.
  std::string path;
  std::vector<Index> neurons;   ///< of each layer: one number, or inputs of layer 1, outputs of each; empty: detect
  std::optional<Index> layers;  ///< only the first of them, so many
  std::optional<double> bias;   ///< of every neuron, for files that bring none; empty: the official one
  std::optional<BiasRule> bias_rule;   ///< empty: the file's, or the challenge's
  std::optional<Cap> cap;              ///< empty: the file's, or the challenge's
  bool allow_missing_newline = false;  ///< take layers and biases in text form whose last line has no newline
};

/// Which images the network is run on: those of exactly one of the files.
struct ImageSpec {
  std::string path;             ///< sparse-images-N.tsv[.gz], .mtx or a packed file
  std::string mnist;            ///< MNIST's training images (IDX, plain or .gz), of which official images are made
  std::optional<Index> images;  ///< how many `path` holds; empty: its largest id
};

/// What the categories are compared with, besides the official list where the problem is official.
struct TruthSpec {
  std::string path;                ///< a file of the true categories; empty: none
  std::optional<Categories> list;  ///< the true categories themselves, in place of a file
  Index sample = 0;                ///< so many images are recomputed by the reference engine
  bool everything = false;         ///< all of them are
};

/// Which rank runs which images of a network. `fixed`: the share that is dealt to it. `counter`: the ranks of a node
/// take batches from a counter, so that one that is done takes what a slower one has not begun; between nodes shares
/// are fixed. `automatic`: a counter where it can be used and pays; the report says why where it is not.
enum class Deal { automatic, fixed, counter };

/// What is to be run, and how. A packed or generated network that takes more than the settings' host memory is
/// streamed: its layers are read while others are computed.
struct InferenceSpec : RunSettings {
  NetworkSpec network;
  ImageSpec images;
  TruthSpec truth;

  Passes passes = kExactPasses;
  std::optional<Device> plan_device;  ///< where twins are looked for; empty: where that takes less time
  int cuda_device = 0;                ///< which of the visible ones, for a process by itself
  bool share_devices = false;         ///< ranks may share CUDA devices; otherwise DeviceError where they would
  std::size_t device_memory = 0;      ///< bytes that an engine may take on its CUDA device; 0: all that is free
  Deal deal = Deal::automatic;        ///< on several ranks
  /// Where a run leaves what it knows from time to time and when it is stopped, and where it goes on if that is there
  /// already; empty: nowhere. It stays until remove_checkpoint().
  std::string checkpoint;
  /// Seconds from one checkpoint to the next while the run goes on, above 0; more where writing one takes longer than a
  /// twentieth of them. Empty: none is written but at a stop.
  std::optional<double> checkpoint_every = 900;
  /// Seconds after the making of the Inference by which run() is to have ended with Stopped, its checkpoint written, if
  /// it is not done; at least 0. Needs `checkpoint`; empty: no limit.
  std::optional<double> max_time;
  /// Asked between layers by each rank; true ends the run at its next chance. Needs `checkpoint`; empty: never.
  std::function<bool()> stop;
  /// Told, while the run goes on, of what goes wrong without ending it; the report notes it, too. Empty: nobody is.
  std::function<void(const std::string&)> warning;
  /// Asks the CUDA device while the trials run for its clocks, temperature, power and energy.
  bool device_state = false;
  /// Keeps the activations after the last layer, bit for bit those of the network as given: Outcome::activations. Goes
  /// neither with `merge` nor with a checkpoint. Activations of a run in fp64 are rounded to fp32.
  bool activations = false;
  bool compare = false;  ///< time the passes `dead` as well and compare the categories
};

class PlannedNetwork;

/// One inference, step by step:
///
///   Inference inference(spec);
///   inference.load();    // or load(network, images)
///   inference.plan();
///   inference.run();
///   inference.verify();  // may be left out: the verdict then stays UNVERIFIED
///   use(inference.report());
///
/// Each step needs those before it, and load() is called once (std::logic_error otherwise). Steps throw UsageError
/// where the specification does not fit together, DataError where a file is wrong, DeviceError where the machine does
/// not give what it takes. Where CUDA may be used, a thread of its own starts the device up from the first moment on;
/// the destructor waits for it. Not for use by several threads at once.
class Inference {
 public:
  explicit Inference(InferenceSpec spec);
  Inference(const Inference&) = delete;
  Inference& operator=(const Inference&) = delete;
  ~Inference();

  /// Reads what the specification names. A packed network's plan is taken if it was made for the same passes; the
  /// network itself is then read only if it is to be compared with or verified.
  void load();
  /// Takes a network and images that are in memory already, in place of those that the specification names.
  /// std::invalid_argument where they are not valid.
  void load(Network network, ImageSet images);
  /// Takes a network that is planned already; its passes are run, whatever the specification says.
  void load(const PlannedNetwork& network, ImageSet images);
  /// Applies the exact passes to the network, unless its plan is there.
  void plan();
  /// Chooses the engine, makes plan and images resident and runs all layers, `trials` times. Stopped, on all ranks,
  /// where the run was stopped, or its time was up, and its checkpoint is written.
  void run();
  /// Compares the categories with all the truth there is, and with the second run that `compare`, fp16 or tf32 asks
  /// for. If it throws, report() still has what run() found; what cannot be run a second time is refused by run()
  /// already.
  void verify();

  /// What is known so far: after run() the outcome and the times, after verify() the verdict.
  const Report& report() const;

 protected:
  class Steps;
  explicit Inference(std::unique_ptr<Steps> steps);

 private:
  std::unique_ptr<Steps> steps_;
};

/// Removes InferenceSpec::checkpoint, with the activations beside it and what killed writers have left of them: for a
/// run whose results are safe. Nothing need be there.
void remove_checkpoint(const std::string& path);

}  // namespace spdnn
