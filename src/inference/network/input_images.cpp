#include "inference/network/input_images.hpp"

#include <memory>

#include "io/networks/text/matrix_market.hpp"
#include "io/networks/text/some_images.hpp"
#include "io/packed/image_layout.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"
#include "spdnn/load.hpp"

namespace spdnn {

namespace {

SomeImages images_of_packed(const std::string& path) {
  const auto file = std::make_shared<const PackedFile>(path);
  return [file, layout = read_image_layout(*file)](std::span<const Index> ids) {
    try {
      return read_some_images(*file, layout, ids);
    } catch (const DataError& error) {
      file->fail(error.what());
    }
  };
}

SomeImages images_of_text(const std::string& path, Index neurons, Index images) {
  return [=, source = std::make_shared<TextSource>(path)](std::span<const Index> ids) {
    source->rewind();
    const EntryList list = form_of(path) == Form::matrix_market
                               ? list_of_images(*source, neurons, images)
                               : EntryList{.columns = {"image", images, "neuron", neurons, "value"}};
    return read_some_images(*source, list, ids);
  };
}

SomeImages official_images(const ImageSpec& spec, Index neurons) {
  return [=, all = std::make_shared<std::optional<ImageSet>>()](std::span<const Index> ids) {
    if (!*all) *all = load_images(spec, neurons, {});
    return (*all)->select(ids);
  };
}

}  // namespace

SomeImages images_of_input(const ImageSpec& spec, Index neurons, Index images) {
  if (spec.path.empty()) return official_images(spec, neurons);
  return form_of(spec.path) == Form::packed ? images_of_packed(spec.path) : images_of_text(spec.path, neurons, images);
}

}  // namespace spdnn
