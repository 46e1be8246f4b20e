// A GPU as the target of programs.

#include "engines/cuda/conv_direct/target.hpp"

#include <algorithm>

#include "engines/cuda/conv_direct/copies.hpp"
#include "engines/cuda/conv_direct/images32.hpp"
#include "engines/cuda/conv_direct/kernels.hpp"
#include "engines/cuda/runtime/device.hpp"
#include "engines/cuda/runtime/device_info.hpp"
#include "engines/cuda/runtime/handle.hpp"
#include "engines/cuda/runtime/memory.hpp"
#include "engines/cuda/runtime/timing.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cuda {

namespace {

class CudaTarget final : public program::Target {
 public:
  explicit CudaTarget(int device) : options_{.device = device} {}

  std::string name() override { return device_properties(options_.device).name; }
  void use() override { use_device(options_); }
  std::shared_ptr<std::byte> allocate(std::size_t bytes) override {
    auto* const data =
        static_cast<std::byte*>(allocate_on_device(std::max(bytes, std::size_t{1}), cudaStreamPerThread));
    return {data, [](std::byte* memory) { cudaFreeAsync(memory, cudaStreamPerThread); }};
  }
  void upload(std::byte* to, const std::byte* from, std::size_t bytes) override {
    copy_to_device(to, from, bytes);
    wait();
  }
  void download(std::byte* to, const std::byte* from, std::size_t bytes) override { copy_to_host(to, from, bytes); }
  std::vector<double> seconds(Index runs, const std::function<void()>& work) override {
    return device_seconds(cudaStreamPerThread, runs, work);
  }
  std::function<void()> recorded(const std::function<void()>& work) override {
    Graph graph;
    check(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeThreadLocal));
    bool worked = true;
    try {
      work();
    } catch (const DeviceError&) {  // the caller meets it again when it runs the kernels
      worked = false;
    }
    worked = cudaStreamEndCapture(cudaStreamPerThread, graph.out()) == cudaSuccess && worked;
    const auto ready = std::make_shared<GraphExec>();
    if (!worked || cudaGraphInstantiate(ready->out(), graph, 0) != cudaSuccess) {
      cudaGetLastError();
      return {};
    }
    return [ready] { check(cudaGraphLaunch(*ready, cudaStreamPerThread)); };
  }
  void wait() override { check(cudaStreamSynchronize(cudaStreamPerThread)); }
  std::size_t memory_budget() override { return cuda::memory_budget(options_); }
  std::function<std::unique_ptr<program::Bound>()> watch(const std::vector<program::Watch>& tensors) override {
    std::vector<WatchedTensor> all;
    all.reserve(tensors.size());
    for (const auto& [shape, layout, most] : tensors)
      all.push_back({nullptr, static_cast<std::size_t>(shape.front()),
                     static_cast<std::size_t>(elements_of_image(shape)), images_together(layout), most});
    return [all] {
      return program::bound([all](const program::Operands& at) {
        std::vector<WatchedTensor> placed = all;
        for (std::size_t i = 0; i < placed.size(); ++i) placed[i].numbers = at.floats(i);
        watch_numbers(placed, at.results(), cudaStreamPerThread);
      });
    };
  }

 private:
  EngineOptions options_;
};

}  // namespace

std::shared_ptr<program::Target> target_of(int device) { return std::make_shared<CudaTarget>(device); }

}  // namespace spdnn::cuda
