#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "spdnn/tensor.hpp"
#include "spdnn/types.hpp"

namespace spdnn {

/// What becomes of a pixel before the network sees it, each step in fp32: (pixel - subtract) / divide. Each list is
/// empty (the step is left out), or has one number for all channels, or one for each.
struct Preprocessing {
  std::vector<float> subtract;
  std::vector<float> divide;
  /// Pixels that are bytes are divided by 255 first: mean and deviation are usually stated for pixels from 0 to 1.
  bool bytes_to_unit = false;
};

/// The order of an array's axes.
enum class ImageLayout {
  channels_first,  ///< N, C, H, W; of sequences N, C, W
  channels_last,   ///< N, H, W, C; of sequences N, W, C
};

struct ImageRequest {
  Shape shape;  ///< of the model's input; axis 0 is not looked at
  Preprocessing preprocessing;
  ImageLayout layout = ImageLayout::channels_first;  ///< of arrays
  /// An array of tokens x channels: the inputs are then an array of tokens, images x length, and each token becomes its
  /// row of the table. Empty: no table.
  std::filesystem::path table;
  std::optional<Index> images;  ///< only the first so many
};

struct ImageTensor {
  Tensor tensor;                        ///< images, and the axes of the model's input after axis 0
  Index available = 0;                  ///< images in the files, of which a request may take fewer
  std::vector<std::string> files = {};  ///< of pictures, by image; otherwise empty
  std::vector<std::string> notes = {};  ///< what users may not expect: numbers that were rounded, pixels not scaled
};

/// Reads images and brings them into the form that a model takes: an .npy file, an array of an .npz file (npz.hpp), a
/// PNG or JPEG file, a directory of these in the order of their names, or an IDX file, plain or .gz. Axes of length 1
/// may be left out, and a model that takes a flat vector takes images of as many pixels. DataError where files are not
/// sound, or do not fit the model or the request; UsageError where the preprocessing does not fit the model.
ImageTensor read_image_tensor(const std::filesystem::path& path, const ImageRequest& request);
/// Of these PNG and JPEG files, in this order.
ImageTensor read_pictures(const std::vector<std::filesystem::path>& files, const ImageRequest& request);
/// Says that numbers of fp64, which `name` stands for, are rounded.
std::string rounded_note(const std::string& name);
/// Of an array in memory, which messages call `name`, the same where nothing but the shape of the model's input is
/// asked for. Shares storage.
ImageTensor image_tensor(const std::string& name, const Tensor& images, const Shape& shape);

}  // namespace spdnn
