#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "spdnn/rewrites.hpp"
#include "spdnn/run_record.hpp"
#include "spdnn/tensor.hpp"
#include "spdnn/types.hpp"
#include "spdnn/verdict.hpp"

namespace spdnn {

/// Multiply-adds of weights for one image. Pools, activations, additions and the like count nothing.
struct MultiplyAdds {
  double dense = 0;   ///< every weight of a filter at every position of its output, zeros included
  double sparse = 0;  ///< only those of non-zero weights
};

/// How often predictions equal labels.
struct Accuracy {
  Index images = 0;
  Index correct = 0;               ///< the largest logit is the label's
  Index classes = 0;               ///< k of top-k: 5, or 1 for at most 5 classes
  Index among = 0;                 ///< the label's logit is among the k largest
  std::optional<double> at_least;  ///< the required accuracy, 0 to 1

  double top_1() const { return images == 0 ? 0 : static_cast<double>(correct) / images; }
  double top_k() const { return images == 0 ? 0 : static_cast<double>(among) / images; }
};

/// An image whose prediction differs from the expected one although both logits are within their bounds of one another:
/// rounding decides which is larger.
struct NearTie {
  Index image = 0;  ///< 0-based, as the classes
  Index found = 0;
  Index expected = 0;
};

/// One output compared with another computation of it: within the proven bound of fp32's errors, and within a chosen
/// tolerance (docs/models.md).
struct OutputCheck {
  /// A share of the largest expected number. fp32 engines differ by some hundredths of it, even in deep models, whose
  /// bound may be as large as the numbers.
  static constexpr double kTolerance = 1e-4;
  /// For a probability, of a softmax or a sigmoid: at most kTolerance, and ten times that of itself, as any change of a
  /// number before the softmax changes it in proportion; and a unit in the last place of numbers up to 4, because
  /// libraries compute sigmoids near 1/2 and subtract.
  static double tolerance_of_probability(double expected) {
    return kTolerance * std::min(1.0, 10 * expected) + 0x1p-22;
  }

  /// An output that moves by `moved` if each value between nodes is rounded once to fp32 has at least the tolerance
  /// kRoundings x moved. Engines round the parts of sums as well: of correct ones 7 to 21 times `moved` was seen, and
  /// some hundredths of kTolerance where models are not sensitive.
  static constexpr double kRoundings = 32;
  static constexpr double kMostWidened = 100;  ///< to a hundredth of the largest number
  /// An output of a model with quantised values that moves by `moved` if each number that fp32's rounding may move by a
  /// step is decided in one of three ways (model/oracle/evaluate.hpp) has at least the tolerance kDecisions x moved,
  /// as engines decide each number on its own, and kMostWidened times the usual one.
  static constexpr double kDecisions = 2;
  /// To a tenth of the largest number. Right engines may be farther apart than a wider one: the output is `undecided`.
  static constexpr double kMostDecided = 1000;

  std::string name{};            ///< of the output
  double largest_ratio = 0;      ///< of |found - expected| / bound; more than 1 is wrong
  double largest_deviation = 0;  ///< |found - expected|, in units of the output
  double largest_bound = 0;      ///< likewise; infinite if the theorem gives no bound for a number
  double largest_expected = 0;   ///< |expected|, likewise
  double tolerance = 0;          ///< likewise, of a number that is no probability; or of the largest probability
  /// Factor by which `tolerance`, and that of probabilities, is above the usual one, as the model is sensitive to
  /// rounding.
  double widened = 1;
  bool undecided = false;     ///< right engines may be farther apart than `tolerance`, the widest
  double largest_excess = 0;  ///< of |found - expected| / tolerance; more than 1 is wrong, unless it is `undecided`

  /// Whether numbers within these bounds are proven right: no bound is above a hundredth of the largest number. In deep
  /// models bounds grow beyond that.
  bool conclusive() const { return largest_bound <= 0.01 * largest_expected; }
};

/// The outputs of a run compared with another computation of them.
struct LogitCheck {
  std::string against;                 ///< for people
  Index images = 0;                    ///< number of compared images, from the first
  std::vector<OutputCheck> outputs{};  ///< of the run, all of them
  Index outside = 0;                   ///< images with a number outside its bound
  Index beyond = 0;                    ///< other images, with a number beyond the tolerance
  Index undecided = 0;                 ///< of the rest, those with a number beyond that of an output that is undecided
  std::vector<Index> first_ids{};      ///< 1-based, at most ten: the first that are outside or beyond
  Index differing = 0;                 ///< images of another prediction
  std::vector<NearTie> near_ties{};

  bool right() const { return outside == 0 && beyond == 0; }
  bool conclusive() const;
  /// The output that is farthest from its bound or tolerance; of equal ones the first.
  const OutputCheck& worst() const;
};

/// Each node's output compared with the reference's result for the engine's own inputs to that node, the steps that
/// quantise a value together. Errors do not accumulate, so that these bounds are sharp in models of any depth.
struct NodeCheck {
  Index images = 0;          ///< number of compared images, from the first
  std::size_t nodes = 0;     ///< of the model that ran; a quantised value is one
  double largest_ratio = 0;  ///< to the bound; more than 1 is wrong
  std::string worst;         ///< the node of this ratio
  /// Between a number of an output and that of the reported run, whose nodes may have been fused and whose batches may
  /// have had another size.
  double largest_difference = 0;

  bool right() const { return largest_ratio <= 1; }
};

/// The time of a node in one trial, for all images.
struct NodeSeconds {
  std::string name;
  std::string operation;
  double seconds = 0;
};

/// A second run beside the one that is reported.
struct ModelDifference {
  std::string variant;
  Index differing = 0;            ///< predictions
  double largest_difference = 0;  ///< of two numbers of an output; infinite if one of them is not finite
};

/// The run without rewrites (`--compare`). ComparedRun, of networks, compares categories instead of outputs.
struct ComparedModelRun : ModelDifference {
  Spread infer;
};

/// An output of a model's run.
struct ModelOutput {
  std::string name;  ///< unique
  Shape shape;       ///< of the model; kBatchExtent on axis 0 if it takes any number of images
  Tensor values{};   ///< after the run, images on axis 0
};

/// One run of a model: all contents of the text report and the JSON line.
struct ModelReport : RunRecord {
  std::string model;                     ///< the file
  std::string name;                      ///< given by the file; may be empty
  Shape input;                           ///< of the model; kBatchExtent on axis 0 if it takes any number of images
  std::vector<ModelOutput> outputs;      ///< of the run; classes are those of the first
  std::size_t nodes = 0;                 ///< as given
  Rewrites rewrites;                     ///< as chosen
  std::size_t nodes_run = 0;             ///< after the rewrites
  Offset weights = 0;                    ///< of convolutions and linear nodes, zeros included
  Offset nonzeros = 0;                   ///< of these
  MultiplyAdds multiply_adds;            ///< of the model as given, per image
  MultiplyAdds multiply_adds_run;        ///< after the rewrites
  Index available = 0;                   ///< images in the inputs
  Index classes = 0;                     ///< 0: the output is not a list of classes
  std::vector<std::string> image_files;  ///< by image, the files of pictures; empty: images have only numbers
  std::vector<std::string> class_names;  ///< by class; empty: classes have only numbers
  std::string score;                     ///< kind of the first output's numbers: probability, sigmoid, logit, output
  std::vector<NodeSeconds> profile;      ///< the maximum over the ranks for each node
  std::vector<Index> predictions;        ///< the class of the largest logit of each image; empty without classes
  /// The first executed node whose numbers may have exceeded the precision; empty if there is none. Activations may
  /// hide the overflow from the logits, and another order of summation, just as right, may give other logits.
  std::string overflow;
  std::optional<Accuracy> accuracy;
  std::optional<LogitCheck> expected;      ///< against the outputs of a file
  std::optional<LogitCheck> recomputed;    ///< against the reference
  std::optional<NodeCheck> nodes_checked;  ///< of the same images as `recomputed`
  std::optional<ComparedModelRun> compared;
  std::optional<ModelDifference> against_fp32;  ///< of a run below fp32: the same run in fp32
  Judgement verdict;                            ///< of all outputs

  const Tensor& logits() const { return outputs.front().values; }  ///< the first output
  double images_per_second() const;                                ///< images / median of infer; 0 if nothing was timed
  /// 2 x multiply-adds x images / median of infer.
  double operations_per_second(double multiply_adds) const;
};

/// The report for people: an aligned table, closing with the verdict.
std::string to_text(const ModelReport& report);
/// One JSON line (schema "spdnn-model-1"), newline included.
std::string to_json(const ModelReport& report);

}  // namespace spdnn
