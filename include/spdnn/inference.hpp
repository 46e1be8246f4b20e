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
#include "spdnn/report.hpp"
#include "spdnn/run_settings.hpp"

namespace spdnn {

/// The upper bound of activations, if there is one.
struct Cap {
  std::optional<double> value;
};

/// Which network is run.
struct NetworkSpec {
  /// A directory of nN-lK.tsv[.gz] or .mtx layers, one such file, or a packed file. Empty: the official network of
  /// `neurons` and `layers` is made.
  std::string path;
  std::vector<Index> neurons;   ///< of each layer: one number, or inputs of layer 1, outputs of each; empty: detect
  std::optional<Index> layers;  ///< only the first `layers`
  std::optional<double> bias;   ///< of every neuron, for files without biases; empty: the official one
  std::optional<BiasRule> bias_rule;   ///< empty: the file's, or the challenge's
  std::optional<Cap> cap;              ///< empty: the file's, or the challenge's
  bool allow_missing_newline = false;  ///< accept text layers and biases whose last line has no newline
};

/// The images of a run, from exactly one of the files.
struct ImageSpec {
  std::string path;             ///< sparse-images-N.tsv[.gz], .mtx or a packed file
  std::string mnist;            ///< MNIST's training images (IDX, plain or .gz), from which official images are made
  std::optional<Index> images;  ///< number of images in `path`; empty: its largest id
};

/// The truth for the categories, besides the official list of an official problem.
struct TruthSpec {
  std::string path;                ///< a file of the true categories; empty: none
  std::optional<Categories> list;  ///< the true categories, in place of a file
  Index sample = 0;                ///< number of images that the reference engine recomputes
  bool everything = false;         ///< recompute all images
};

/// How the images of a network are assigned to ranks. `fixed`: each rank has a fixed share. `counter`: the ranks of a
/// node take images from a shared counter, so that fast ranks take over work from slow ones; shares of nodes are
/// fixed. `automatic`: a counter if it can be used and saves time; otherwise the report gives the reason.
enum class Deal { automatic, fixed, counter };

/// The work of a run and its settings. A packed or generated network that exceeds the settings' host memory is
/// streamed: its layers are read while others are computed.
struct InferenceSpec : RunSettings {
  NetworkSpec network;
  ImageSpec images;
  TruthSpec truth;

  Passes passes = kExactPasses;
  std::optional<Device> plan_device;  ///< searches for twins; empty: the faster device
  std::size_t device_memory = 0;      ///< limit of an engine on its CUDA device in bytes; 0: all free memory
  Deal deal = Deal::automatic;        ///< on several ranks
  /// The file for checkpoints, written periodically and when the run is stopped. If it exists, the run continues from
  /// it. It stays until remove_checkpoint(). Empty: no checkpoints.
  std::string checkpoint;
  /// Seconds between periodic checkpoints, above 0; longer if writing one takes more than a twentieth of the interval.
  /// Empty: a checkpoint is written only at a stop.
  std::optional<double> checkpoint_every = 900;
  /// Time limit in seconds from the construction of the Inference, at least 0: an unfinished run() has then written its
  /// checkpoint and ended with Stopped. Needs `checkpoint`; empty: no limit.
  std::optional<double> max_time;
  /// Called between layers by each rank; true stops the run as soon as possible. Needs `checkpoint`; empty: never.
  std::function<bool()> stop;
  /// Called during the run for problems that do not end it; the report notes them too. May be empty.
  std::function<void(const std::string&)> warning;
  /// Keeps the activations after the last layer in Outcome::activations, bit-identical to those of the unreduced
  /// network. Excludes `merge` and checkpoints. Activations of an fp64 run are rounded to fp32.
  bool activations = false;
};

class PlannedNetwork;

/// One inference, step by step:
///
///   Inference inference(spec);
///   inference.load();    // or load(network, images)
///   inference.plan();
///   inference.run();
///   inference.verify();  // optional: without it the verdict stays UNVERIFIED
///   use(inference.report());
///
/// Each step needs the previous ones, and load() is called once (std::logic_error otherwise). Steps throw UsageError
/// for a contradictory specification, DataError for an invalid file, DeviceError if the machine lacks a resource. If
/// CUDA may be used, the constructor starts the device on a separate thread; the destructor waits for it. Not
/// thread-safe.
class Inference {
 public:
  explicit Inference(const InferenceSpec& spec);
  Inference(const Inference&) = delete;
  Inference& operator=(const Inference&) = delete;
  ~Inference();

  /// Reads the network and the images of the specification. A plan stored with a packed network is used if it was made
  /// for the same passes; the network itself is then read only for comparison or verification.
  void load();
  /// Takes a network and images in memory instead of those of the specification. std::invalid_argument if they are
  /// invalid.
  void load(Network network, ImageSet images);
  /// Takes a planned network; its passes apply instead of the specification's.
  void load(const PlannedNetwork& network, ImageSet images);
  /// Applies the exact passes to the network, unless its plan was loaded.
  void plan();
  /// Chooses the engine, makes plan and images resident and runs all layers, `trials` times. Throws Stopped on all
  /// ranks if the run was stopped or reached its time limit; its checkpoint is then written.
  void run();
  /// Compares the categories with every available truth, and with the second run that `compare`, fp16 or tf32 requires.
  /// If it throws, report() still has the results of run(). An impossible second run is refused by run() beforehand.
  void verify();

  /// The results so far: after run() the outcome and the times, after verify() the verdict.
  const Report& report() const;

 protected:
  class Steps;
  explicit Inference(std::unique_ptr<Steps> steps);

 private:
  std::unique_ptr<Steps> steps_;
};

/// Removes InferenceSpec::checkpoint, its activations and the remains of killed writers, if there are any: for a run
/// whose results are safe.
void remove_checkpoint(const std::string& path);

}  // namespace spdnn
