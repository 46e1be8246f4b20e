#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "program/kernel.hpp"

namespace spdnn::program {

/// A tensor in rows of the device or in images32, and a limit for its elements.
struct Watch {
  Shape shape;
  Layout layout;
  float most = 0;
};

/// A device that a program's kernels run on, as an engine needs it. For the thread that runs the program.
class Target {
 public:
  virtual ~Target() = default;
  Target() = default;
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  /// For people, and in stored programs.
  virtual std::string name() = 0;
  /// Makes it the one on which this thread's work is done: before any other call, and before kernels run.
  virtual void use() = 0;
  /// Memory of the device, aligned for any kernel. OutOfDeviceMemory if there is not enough.
  virtual std::shared_ptr<std::byte> allocate(std::size_t bytes) = 0;
  /// After what was given to the device before; returns when it is done.
  virtual void upload(std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  virtual void download(std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  /// Calls `work`, which runs kernels, at least `runs` times, and returns the device's seconds of `runs` calls.
  virtual std::vector<double> seconds(Index runs, const std::function<void()>& work) = 0;
  /// Records the kernels that `work` runs, instead of running them. The function that is returned runs them all; it is
  /// empty if they cannot be recorded.
  virtual std::function<void()> recorded(const std::function<void()>& work) = 0;
  /// Waits for all that was given to the device.
  virtual void wait() = 0;
  /// Bytes that a program may take at most.
  virtual std::size_t memory_budget() = 0;
  /// Binds a kernel that reads tensors and writes a number for each: 0 if all its elements are numbers of a magnitude
  /// up to `most`, otherwise 1.
  virtual std::function<std::unique_ptr<Bound>()> watch(const std::vector<Watch>& tensors) = 0;
};

}  // namespace spdnn::program
