#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spdnn/model.hpp"
#include "spdnn/model_inference.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn {

struct LoadedImages {
  Tensor images;
  Index available = 0;                  ///< in the files
  std::vector<std::string> files = {};  ///< of pictures, by image; otherwise empty
  std::vector<std::string> notes = {};
};

/// The images of the specification, as the model takes them. DataError where they do not fit it, DeviceError where the
/// machine has no memory for as many as are asked for.
LoadedImages load_model_images(const ModelInputs& inputs, const Model& model);

/// The number of classes that the model's first output tells apart: elements of an image's output, if it has one axis
/// beside axis 0 that is longer than 1; otherwise 0.
Index classes_of(const Model& model);

/// The expected logits, of a file or in memory: of the first images, at least one, each with as many elements as the
/// model's output. What users may not expect of the file is added to `notes`. DataError where they do not fit.
Tensor load_expected(const ModelTruth& truth, const Model& model, Index images, std::vector<std::string>& notes);

}  // namespace spdnn
