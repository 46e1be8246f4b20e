#pragma once

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

/// The images of the specification in the shape of the model's input. DataError if they do not fit the model,
/// DeviceError if the machine lacks the memory for the requested number.
LoadedImages load_model_images(const ModelInputs& inputs, const Model& model);

/// The number of classes in the model's first output: its elements per image, if only one axis besides axis 0 is longer
/// than 1; otherwise 0.
Index classes_of(const Model& model);

/// The expected outputs of the model, from a file or from memory, of the first images or of all, each with as many
/// elements as the model's. Rows beyond the images are left out, with a note; surprising properties of the file are
/// noted, too. DataError if they do not fit.
std::vector<Tensor> load_expected(const ModelTruth& truth, const Model& model, Index images,
                                  std::vector<std::string>& notes);

}  // namespace spdnn
