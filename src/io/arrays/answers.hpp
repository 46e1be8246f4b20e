#pragma once

#include <span>
#include <string>

#include "io/files/atomic_file.hpp"
#include "io/files/output_form.hpp"
#include "spdnn/tensor.hpp"
#include "spdnn/types.hpp"

namespace spdnn {

/// Names for .csv files; each list is empty or complete.
struct AnswerNames {
  std::span<const std::string> images;   ///< if empty, images are numbered from 1
  std::span<const std::string> classes;  ///< if empty, classes are shown as numbers from 0
};

/// Writes the class of each image, from 0; the caller commits. npy: int64. txt: one per line. csv: `image,class`, and
/// `name` if classes have names. read_labels() reads all of them.
void write_predictions(AtomicFile& file, std::span<const Index> classes, const AnswerNames& names, OutputForm form);

/// Writes a model's output, one row per image; the caller commits. npy: float32 in the output's shape. txt: numbers
/// separated by blanks. csv: `image`, then one column per number, headed by its index from 0 or its class's name. Text
/// has the shortest decimals that convert back to the same fp32 number.
void write_logits(AtomicFile& file, const Tensor& logits, const AnswerNames& names, OutputForm form);

}  // namespace spdnn
