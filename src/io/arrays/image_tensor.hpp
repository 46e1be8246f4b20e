#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "spdnn/tensor.hpp"
#include "spdnn/types.hpp"

namespace spdnn {

/// Preprocessing of pixels, each step in fp32: (pixel - subtract) / divide. Each list is empty (the step is skipped),
/// or has one number for all channels, or one per channel.
struct Preprocessing {
  std::vector<float> subtract;
  std::vector<float> divide;
  /// 8-bit pixels are divided by 255 first: mean and deviation are usually stated for pixels from 0 to 1.
  bool bytes_to_unit = false;
};

/// The order of an array's axes.
enum class ImageLayout {
  channels_first,  ///< N, C, H, W; of sequences N, C, W
  channels_last,   ///< N, H, W, C; of sequences N, W, C
};

struct ImageRequest {
  Shape shape;  ///< of the model's input; axis 0 is ignored
  Preprocessing preprocessing;
  ImageLayout layout = ImageLayout::channels_first;  ///< of arrays
  /// A table of tokens x channels: the inputs are then an array of tokens, images x length, and each token is replaced
  /// by its row of the table. Empty: no table.
  std::filesystem::path table;
  std::optional<Index> images;  ///< take only the first `images` images
};

struct ImageTensor {
  Tensor tensor;                        ///< images, and the axes of the model's input after axis 0
  Index available = 0;                  ///< number of images in the files, of which a request may take fewer
  std::vector<std::string> files = {};  ///< file names of pictures, by image; otherwise empty
  std::vector<std::string> notes = {};  ///< warnings for users: rounded numbers, unscaled pixels
};

/// Reads images into the form that a model takes, from an .npy file, an array of an .npz file (npz.hpp), a PNG or JPEG
/// file, a directory of these in the order of their names, or an IDX file, plain or .gz. Axes of length 1 may be
/// missing, and a model that takes a flat vector accepts images with the same number of pixels. DataError if files are
/// invalid or do not fit the model or the request; UsageError if the preprocessing does not fit the model.
ImageTensor read_image_tensor(const std::filesystem::path& path, const ImageRequest& request);
/// The same for a list of PNG and JPEG files, in this order.
ImageTensor read_pictures(const std::vector<std::filesystem::path>& files, const ImageRequest& request);
/// The warning that fp64 numbers of `name` are rounded.
std::string rounded_note(const std::string& name);
/// The same for an array in memory, called `name` in messages, when only the shape of the model's input is given.
/// Shares storage.
ImageTensor image_tensor(const std::string& name, const Tensor& images, const Shape& shape);

}  // namespace spdnn
