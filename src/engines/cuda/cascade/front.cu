#include <stdexcept>

#include "engines/cuda/cascade/front.cuh"
#include "engines/cuda/cascade/front.hpp"

namespace spdnn::cuda::cascade {

namespace {

template <Index kLog>
FrontLaunch launch_of() {
  using Shape = FrontShape<kLog>;
  return {.kernel = front_kernel<kLog>,
          .threads = Shape::kThreads,
          .teams = Shape::kTeams,
          .images = Shape::kImages,
          .shared_bytes = sizeof(FrontBlock<Shape>)};
}

}  // namespace

FrontLaunch front_launch(Index neurons) {
  switch (neurons) {
    case 64:
      return launch_of<6>();
    case 128:
      return launch_of<7>();
    case 256:
      return launch_of<8>();
    case 512:
      return launch_of<9>();
    case 1024:
      return launch_of<10>();
    case 2048:
      return launch_of<11>();
    case 4096:
      return launch_of<12>();
    default:
      throw std::logic_error("front_launch: a front of another width than find_front() takes");
  }
}

}  // namespace spdnn::cuda::cascade
