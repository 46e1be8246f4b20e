#include <fmt/format.h>

#include <bit>

#include "core/text/amounts.hpp"
#include "data/generate.hpp"
#include "data/official/problems.hpp"
#include "data/official/trig_upsample.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

ImageSet generate_official_images(const MnistImages& mnist, Index neurons, const ProgressCallback& progress) {
  if (!official_problem(neurons))
    throw UsageError(
        fmt::format("there are no official images of {} neurons; expected 1024, 4096, 16384 or 65536", neurons));
  if (mnist.count != kOfficialImages)
    throw DataError(fmt::format("{}: holds {}; the official ones are made from all {} training images of MNIST",
                                mnist.source, counted(mnist.count, "image", "images"), kOfficialImages));
  const Index side = Index{1} << static_cast<unsigned>(std::countr_zero(neurons)) / 2U;
  return {enlarge_and_threshold(mnist.pixels, mnist.count, side, progress)};
}

}  // namespace spdnn
