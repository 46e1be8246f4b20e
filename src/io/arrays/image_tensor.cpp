#include "io/arrays/image_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/text/lower_case.hpp"
#include "core/threads/parallel.hpp"
#include "core/types/shape.hpp"
#include "io/arrays/idx.hpp"
#include "io/arrays/image_file.hpp"
#include "io/arrays/npz.hpp"
#include "io/files/path_kind.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

namespace fs = std::filesystem;

/// Pixels before preprocessing.
struct Source {
  Shape shape;  ///< images, and the axes of one
  Array<float> values;
  Extent available = 0;  ///< images in the files, which may be more than were read
  bool whole = false;    ///< pixels are whole numbers
  std::vector<std::string> files = {};
  std::vector<std::string> notes = {};
};

/// The number of channels that the model takes; a flat vector has one.
Index channels_of(const Shape& image) { return image.size() > 1 ? narrow<Index>(image[0]) : 1; }

void require_fit(const std::string& name, const Shape& found, const Shape& wanted, const std::string& hint = {}) {
  const bool flat = wanted.size() == 1 && elements(found) == elements(wanted);
  if (!flat && without_ones(found) != without_ones(wanted))
    throw DataError(fmt::format("{}: images of {}, expected {}, as the model takes them{}", name, shape_text(found),
                                shape_text(wanted), hint));
}

/// Suggests why an array's shape does not match.
std::string shape_hint(const Shape& array, const Shape& wanted, ImageLayout layout) {
  if (array.size() == wanted.size() + 1 && wanted.size() > 1) {
    Shape moved = of_image(array);
    std::rotate(moved.begin(), moved.end() - 1, moved.end());
    if (layout == ImageLayout::channels_first && moved == wanted)
      return "; its channels are last, which is layout nhwc";
    if (layout == ImageLayout::channels_last && of_image(array) == wanted)
      return "; its channels are first, which is layout nchw";
  }
  if (without_ones(array) == without_ones(wanted))
    return "; the axis of images, of length 1 for one image, is missing in front";
  return {};
}

Array<float> as_floats(const Array<std::uint8_t>& bytes) {
  const auto values = allocate<float>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), values.get());
  return {values, bytes.size()};
}

/// Moves the last axis of each image to the front.
Array<float> channels_first(const Array<float>& values, std::size_t images, std::size_t channels) {
  const auto moved = allocate<float>(values.size());
  const std::size_t pixels = values.empty() ? 0 : values.size() / images / channels;
  parallel_for(images, [&](std::size_t image) {
    const std::size_t begin = image * channels * pixels;
    for (std::size_t p = 0; p < pixels; ++p)
      for (std::size_t c = 0; c < channels; ++c)
        moved[static_cast<std::ptrdiff_t>(begin + c * pixels + p)] = values[begin + p * channels + c];
  });
  return {moved, values.size()};
}

void require_bytes(const fs::path& path, const Array<float>& values) {
  const auto* const found =
      std::find_if(values.begin(), values.end(), [](float value) { return value < 0 || value > 255; });
  if (found != values.end())
    throw DataError(fmt::format("{}: number {} is {}, expected 0 to 255: mean and deviation are those of bytes / 255",
                                path.string(), found - values.begin() + 1, *found));
}

Source from_tensor(const std::string& name, const Tensor& tensor, const ImageRequest& request) {
  require_finite(name, tensor.values.span());
  if (tensor.shape.empty()) throw DataError(name + ": a single number, expected an array of images");
  const Shape wanted = of_image(request.shape);
  Source source{tensor.shape, tensor.values, tensor.shape[0]};
  Shape& shape = source.shape;
  const std::string hint = shape_hint(shape, wanted, request.layout);
  if (request.layout == ImageLayout::channels_last && wanted.size() > 1 && shape.size() == request.shape.size()) {
    source.values =
        channels_first(source.values, static_cast<std::size_t>(shape[0]), static_cast<std::size_t>(shape.back()));
    std::rotate(shape.begin() + 1, shape.end() - 1, shape.end());
  }
  require_fit(name, of_image(shape), wanted, hint);
  return source;
}

Source from_array(const fs::path& path, const ImageRequest& request) {
  const FirstRows rows = read_array_rows(path, request.images);
  Source source = from_tensor(path.string(), rows.tensor, request);
  source.available = rows.available;
  source.whole = is_whole(rows.type);
  if (request.preprocessing.bytes_to_unit && source.whole) require_bytes(path, rows.tensor.values);
  if (rows.type == NumberType::f64) source.notes.push_back(rounded_note(path.string()));
  return source;
}

Source from_idx(const fs::path& path, const ImageRequest& request) {
  IdxFile file(path, IdxFile::Kind::images);
  const Shape shape{file.extents()[0], file.extents()[1], file.extents()[2]};
  require_fit(path.string(), of_image(shape), of_image(request.shape));
  const Index most = request.images.value_or(file.extents()[0]);
  return {.shape = {std::min<Extent>(shape[0], most), shape[1], shape[2]},
          .values = as_floats(file.read(most)),
          .available = shape[0],
          .whole = true};
}

/// The files of a directory of images; hidden files are skipped.
std::vector<fs::path> image_files(const fs::path& directory) {
  std::vector<fs::path> files;
  for (const fs::path& path : list_directory(directory)) {
    const std::string ending = lower_case(path.extension().string());
    if (path.filename().string().starts_with('.')) continue;
    if (ending != ".png" && ending != ".jpg" && ending != ".jpeg")
      throw DataError(path.string() + ": expected only .png, .jpg and .jpeg files in a directory of images");
    files.push_back(path);
  }
  if (files.empty()) throw DataError(directory.string() + ": holds no .png, .jpg or .jpeg file");
  return files;
}

/// `name` stands for all of them in messages.
Source from_pictures(const std::string& name, std::vector<fs::path> files, const ImageRequest& request) {
  const auto available = static_cast<Extent>(files.size());
  if (request.images) files.resize(std::min<std::size_t>(files.size(), std::max<Index>(1, *request.images)));
  const Shape wanted = of_image(request.shape);
  const Index channels = channels_of(wanted);
  if (wanted.size() != 3 || (channels != 1 && channels != 3))
    throw DataError(fmt::format("{}: images of 1 or 3 channels, but the model takes {}", name, shape_text(wanted)));
  const auto height = narrow<Index>(wanted[1]);
  const auto width = narrow<Index>(wanted[2]);
  const std::size_t pixels = std::size_t{height} * width;
  // The first file is read before memory for all is allocated.
  read_image_file(InputFile(files.front()), height, width);
  const std::size_t size = files.size() * channels * pixels;
  const auto values = allocate<float>(size);
  parallel_for(files.size(), [&](std::size_t i) {
    const Pixels image = read_image_file(InputFile(files[i]), height, width);
    if (image.channels > channels)
      throw DataError(files[i].string() + ": an image in colour, expected a grey one, as the model takes one channel");
    float* const to = values.get() + i * channels * pixels;
    for (std::size_t c = 0; c < channels; ++c)  // a grey image is repeated in all channels
      for (std::size_t p = 0; p < pixels; ++p)
        to[c * pixels + p] = image.values[p * image.channels + (image.channels == 1 ? 0 : c)];
  });
  Shape shape = request.shape;
  shape[0] = static_cast<Extent>(files.size());
  return {.shape = shape,
          .values = Array<float>(values, size),
          .available = available,
          .whole = true,
          .files = {files.begin(), files.end()}};
}

Source from_tokens(const fs::path& path, const ImageRequest& request) {
  const FirstRows typed = read_array_rows(request.table);
  const Tensor& table = typed.tensor;
  require_finite(request.table.string(), table.values.span());
  if (table.shape.size() != 2)
    throw DataError(
        fmt::format("{}: a table of {}, expected tokens x channels", request.table.string(), shape_text(table.shape)));
  const IntegerTensor tokens = read_integer_array(path);
  if (tokens.shape.size() != 2)
    throw DataError(fmt::format("{}: tokens of {}, expected images x length", path.string(), shape_text(tokens.shape)));
  const auto rows = table.shape[0];
  const auto channels = static_cast<std::size_t>(table.shape[1]);
  const auto length = static_cast<std::size_t>(tokens.shape[1]);
  const Shape shape{tokens.shape[0], table.shape[1], tokens.shape[1]};
  require_fit(path.string(), of_image(shape), of_image(request.shape));
  const auto outside = [&](std::int64_t token) { return token < 0 || token >= rows; };
  const auto* const found = std::find_if(tokens.values.begin(), tokens.values.end(), outside);
  if (found != tokens.values.end())
    throw DataError(fmt::format("{}: token {} is {}, expected 0 to {}, the rows of {}", path.string(),
                                found - tokens.values.begin() + 1, *found, rows - 1, request.table.string()));
  const auto images =
      static_cast<std::size_t>(std::min<Extent>(shape[0], request.images ? Extent{*request.images} : shape[0]));
  const std::size_t size = images * channels * length;
  const auto values = allocate<float>(size);
  parallel_for(images, [&](std::size_t image) {
    for (std::size_t t = 0; t < length; ++t) {
      const auto row = static_cast<std::size_t>(tokens.values[image * length + t]) * channels;
      for (std::size_t c = 0; c < channels; ++c)
        values[static_cast<std::ptrdiff_t>((image * channels + c) * length + t)] = table.values[row + c];
    }
  });
  Source source{.shape = {static_cast<Extent>(images), shape[1], shape[2]},
                .values = Array<float>(values, size),
                .available = tokens.shape[0]};
  if (typed.type == NumberType::f64) source.notes.push_back(rounded_note(request.table.string()));
  return source;
}

void check(const Preprocessing& how, Index channels) {
  const auto check_list = [&](const char* name, const std::vector<float>& values) {
    if (values.size() > 1 && values.size() != channels)
      throw UsageError(
          name, fmt::format("{} numbers, expected one, or one for each of {} channels", values.size(), channels));
    if (!std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); }))
      throw UsageError(name, "expected finite numbers");
  };
  const char* const divisor = how.bytes_to_unit ? "std" : "divide";
  check_list(how.bytes_to_unit ? "mean" : "subtract", how.subtract);
  check_list(divisor, how.divide);
  if (std::count(how.divide.begin(), how.divide.end(), 0.0F) > 0) throw UsageError(divisor, "expected no zero");
}

/// Pixels are finite before preprocessing, but differences and quotients may overflow.
void require_finite_images(const std::string& name, const Source& source, const Array<float>& scaled) {
  const auto* const found =
      std::find_if(scaled.begin(), scaled.end(), [](float value) { return !std::isfinite(value); });
  if (found == scaled.end()) return;
  const auto place = static_cast<std::size_t>(found - scaled.begin());
  const std::size_t each = scaled.size() / static_cast<std::size_t>(source.shape[0]);
  throw DataError(
      fmt::format("{}: image {}: number {} is {} and becomes {} when it is scaled, expected a finite fp32 number", name,
                  place / each + 1, place % each + 1, source.values[place], *found));
}

/// The compiler flags here forbid replacing x / d by x * (1 / d), so the results are those of IEEE arithmetic.
Array<float> preprocessed(const std::string& name, const Source& source, const Preprocessing& how,
                          std::size_t channels) {
  const bool to_unit = how.bytes_to_unit && source.whole;
  if (how.subtract.empty() && how.divide.empty() && !to_unit) return source.values;
  const auto values = allocate<float>(source.values.size());
  const auto images = static_cast<std::size_t>(source.shape[0]);
  const std::size_t plane = images == 0 ? 0 : source.values.size() / images / channels;
  const auto of_channel = [](const std::vector<float>& list, std::size_t c) {
    return list.size() == 1 ? list[0] : list[c];
  };
  parallel_for(images * channels, [&](std::size_t i) {
    const std::span<const float> from = source.values.span().subspan(i * plane, plane);
    float* const to = values.get() + i * plane;
    std::copy(from.begin(), from.end(), to);
    const auto each = [&](auto step) { std::transform(to, to + plane, to, step); };
    if (to_unit) each([](float x) { return x / 255.0F; });
    if (!how.subtract.empty()) each([s = of_channel(how.subtract, i % channels)](float x) { return x - s; });
    if (!how.divide.empty()) each([d = of_channel(how.divide, i % channels)](float x) { return x / d; });
  });
  Array<float> scaled(values, source.values.size());
  require_finite_images(name, source, scaled);
  return scaled;
}

Source read(const fs::path& path, const ImageRequest& request) {
  if (!request.table.empty()) return from_tokens(path, request);
  if (names_array(path)) return from_array(path, request);
  if (path_kind(path) == PathKind::directory) return from_pictures(path.string(), image_files(path), request);
  if (holds_picture(path)) return from_pictures(path.string(), {path}, request);
  return from_idx(path, request);
}

/// The first `count` values; shares their memory.
Array<float> first(const Array<float>& values, std::size_t count) {
  const auto owner = std::make_shared<const Array<float>>(values);
  return {std::shared_ptr<const float[]>(owner, owner->data()), count};
}

/// Networks usually expect scaled pixels; images of zeros and ones are not reported.
bool looks_unscaled(const Source& source, const Preprocessing& how) {
  const bool scaled = how.bytes_to_unit || !how.subtract.empty() || !how.divide.empty();
  return source.whole && !scaled &&
         std::any_of(source.values.begin(), source.values.end(), [](float value) { return value > 1; });
}

/// The images of `name` that were requested, in the form that the model takes.
ImageTensor taken(const std::string& name, Source source, const ImageRequest& request) {
  if (source.available == 0) throw DataError(name + ": holds no images");
  const Extent images = request.images ? Extent{*request.images} : source.available;
  if (source.available > Extent{kMaxIndex} || images < 1 || images > source.available)
    throw DataError(fmt::format("{}: {} images, expected {} to {}", name, source.available, std::max<Extent>(1, images),
                                kMaxIndex));
  const std::size_t each = source.values.size() / static_cast<std::size_t>(source.shape[0]);
  source.shape[0] = images;
  source.values = first(source.values, each * static_cast<std::size_t>(images));
  if (looks_unscaled(source, request.preprocessing))
    source.notes.push_back(name +
                           ": pixels go in as they are stored, unscaled; models trained on scaled pixels need divide "
                           "255, or the mean and std of their training");
  Shape shape = request.shape;
  shape[0] = images;
  const Index channels = channels_of(of_image(request.shape));
  return {{shape, preprocessed(name, source, request.preprocessing, channels)},
          static_cast<Index>(source.available),
          std::move(source.files),
          std::move(source.notes)};
}

}  // namespace

ImageTensor read_image_tensor(const fs::path& path, const ImageRequest& request) {
  check(request.preprocessing, channels_of(of_image(request.shape)));
  return taken(path.string(), read(path, request), request);
}

ImageTensor read_pictures(const std::vector<fs::path>& files, const ImageRequest& request) {
  check(request.preprocessing, channels_of(of_image(request.shape)));
  for (const fs::path& file : files)
    if (path_kind(file) == PathKind::directory || !holds_picture(file))
      throw DataError(file.string() + ": expected a PNG or JPEG image, as several files are given");
  return taken(files.front().string(), from_pictures(files.front().string(), files, request), request);
}

std::string rounded_note(const std::string& name) { return name + ": float64 numbers are rounded to float32"; }

ImageTensor image_tensor(const std::string& name, const Tensor& images, const Shape& shape) {
  if (images.values.size() != elements(images.shape))
    throw DataError(fmt::format("{}: {} numbers for {}", name, images.values.size(), shape_text(images.shape)));
  ImageRequest request;
  request.shape = shape;
  return taken(name, from_tensor(name, images, request), request);
}

}  // namespace spdnn
