#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "spdnn/model.hpp"
#include "spdnn/model_report.hpp"
#include "spdnn/rewrites.hpp"
#include "spdnn/run_settings.hpp"

namespace spdnn {

/// The images of a model's run, and their preprocessing in fp32: (pixel - subtract) / divide, or
/// (pixel / 255 - mean) / deviation for pixels of one byte. Each list is empty (no such step), or has one number for
/// all channels, or one for each.
struct ModelInputs {
  std::string path;                   ///< IDX (plain or .gz), .npy, .npz, a PNG or JPEG file, or a directory of these
  std::vector<std::string> pictures;  ///< PNG and JPEG files, in this order, in place of `path`
  /// An .npy file of tokens x channels: `path` then holds tokens, each of which becomes its row. Empty: none.
  std::string table;
  bool channels_last = false;   ///< the axes of arrays are N, H, W, C
  std::optional<Index> images;  ///< only the first `images`
  std::vector<float> subtract;
  std::vector<float> divide;
  std::vector<float> mean;
  std::vector<float> deviation;
};

/// The truth for the logits.
struct ModelTruth {
  std::string labels;                                   ///< a file of the classes, one for each image; empty: none
  std::optional<std::vector<std::int64_t>> label_list;  ///< the same in memory, from 0, in place of a file
  std::optional<double> min_accuracy;                   ///< above 0, up to 1: a lower accuracy fails
  /// A file of the outputs (.npz, by name; of a single output also .npy), of the first images or of all; empty: none.
  std::string expected;
  std::vector<NamedTensor> expected_outputs;  ///< the same in memory, in place of a file; a single one needs no name
  Index sample = 0;                           ///< number of images that the reference recomputes
  bool everything = false;                    ///< recompute all images

  bool has_labels() const { return label_list || !labels.empty(); }
  bool has_expected() const { return !expected_outputs.empty() || !expected.empty(); }
};

/// The work of a run and its settings. Every field has the default of the command line.
struct ModelSpec : RunSettings {
  std::string path;            ///< for read_model(); the name in messages for a model in memory
  std::optional<Shape> shape;  ///< of the input, in place of the file's; kBatchExtent on axis 0: any number of images
  ModelInputs inputs;
  std::vector<std::string> outputs;  ///< names of those to compute, in this order; empty: all
  std::string names;                 ///< a file of the classes' names, one per line, for reports; empty: none
  ModelTruth truth;
  Rewrites rewrites = kAllRewrites;  ///< made before running; the reference runs the model as given
  bool profile = false;              ///< time each node
};

/// One inference of a model, step by step, as Inference is for networks:
///
///   ModelInference inference(spec);
///   inference.load();
///   inference.plan();
///   inference.run();
///   inference.verify();  // optional: without it the verdict stays UNVERIFIED
///   use(inference.report());
///
/// Each step needs the previous ones (std::logic_error otherwise). Steps throw UsageError for a contradictory
/// specification, DataError for an invalid file, DeviceError if the machine lacks a resource.
class ModelInference {
 public:
  explicit ModelInference(const ModelSpec& spec);
  ModelInference(const ModelInference&) = delete;
  ModelInference& operator=(const ModelInference&) = delete;
  ~ModelInference();

  /// Reads the files of the specification: model, images, labels, expected logits.
  void load();
  /// Takes a model and images in memory instead of those of the specification. The images have the shape of the model's
  /// input; axes of length 1 may be left out. std::invalid_argument if the model is invalid, DataError if the images do
  /// not fit or a number is not finite.
  void load(Model model, const Tensor& images);
  /// Applies the rewrites.
  void plan();
  /// Chooses the engine, makes the model resident and runs it on all images, `trials` times.
  void run();
  /// Compares the logits with every available truth, and a run below fp32 with one in fp32. If it throws, report()
  /// still has the results of run().
  void verify();

  const ModelReport& report() const;

 protected:
  class Steps;
  explicit ModelInference(std::unique_ptr<Steps> steps);

 private:
  std::unique_ptr<Steps> steps_;
};

}  // namespace spdnn
