#include <stdexcept>

#include "engines/cuda/cascade/filter.cuh"
#include "engines/cuda/cascade/front.cuh"
#include "engines/cuda/cascade/front.hpp"

namespace spdnn::cuda::cascade {

namespace {

template <Index kLog>
FrontLaunches launches_of() {
  using Shape = FrontShape<kLog>;
  return {.filter = {.kernel = filter_kernel<kLog>,
                     .blocks = FilterSize<Shape>::kBlocks,
                     .threads = FilterSize<Shape>::kThreads,
                     .shared_bytes = sizeof(FilterBlock)},
          .front = {.kernel = front_kernel<kLog>,
                    .blocks = 1,
                    .threads = Shape::kThreads,
                    .shared_bytes = sizeof(FrontBlock<Shape>)},
          .teams = Shape::kTeams};
}

}  // namespace

FrontLaunches front_launches(Index neurons) {
  switch (neurons) {
    case 64:
      return launches_of<6>();
    case 128:
      return launches_of<7>();
    case 256:
      return launches_of<8>();
    case 512:
      return launches_of<9>();
    case 1024:
      return launches_of<10>();
    case 2048:
      return launches_of<11>();
    case 4096:
      return launches_of<12>();
    default:
      throw std::logic_error("front_launches: a front of another width than find_front() takes");
  }
}

}  // namespace spdnn::cuda::cascade
