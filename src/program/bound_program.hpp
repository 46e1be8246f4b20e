#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/system/host_memory.hpp"
#include "program/program.hpp"
#include "program/target.hpp"

namespace spdnn::program {

/// Memory of the host.
std::shared_ptr<std::byte> host_memory(std::size_t bytes);

/// The constants of an engine's programs: weights and others, each in the forms that kernels request.
class Constants {
 public:
  /// `target`: where those on a device are; may be null if there are none.
  explicit Constants(Target* target = nullptr) : target_(target) {}
  const std::byte* get(const Buffer& buffer);

 private:
  Target* target_;
  std::map<std::tuple<Index, int, std::string>, std::shared_ptr<std::byte>> made_;  ///< by node, part and form
};

/// Memory for arenas, in which programs lie as long as kernels are bound to it.
struct Arenas {
  std::shared_ptr<std::byte> host;
  std::shared_ptr<std::byte> device;
};

/// A program whose kernels are bound and whose operands are in memory.
class BoundProgram {
 public:
  /// `target`: the device, if the program has one; it outlives this.
  BoundProgram(const Program& program, Constants& constants, Arenas arenas, Target* target = nullptr);

  /// The images, which are read in place; `on_device`: their copy there, if there is a device.
  void set_input(const float* data, const std::byte* on_device = nullptr);
  /// See Bound.
  void follow_threads() {
    for (Ready& action : actions_) action.bound->follow_threads();
  }
  std::size_t actions() const { return actions_.size(); }
  Index node(std::size_t action) const { return actions_[action].node; }
  Index place(std::size_t action) const { return actions_[action].place; }
  void run(std::size_t action) const { actions_[action].bound->run(); }
  /// Runs the action and those that are run together with it, if their places are below `until`. Returns the next.
  std::size_t run(std::size_t action, Index until);
  const float* output(std::size_t number) const;
  /// See ModelEngine::overflow(); for images within the assumed bounds.
  std::optional<Index> overflow() const;
  /// Of the kernels, on how they were prepared.
  const std::vector<std::string>& remarks() const { return remarks_; }
  /// The code that its kernels consist of.
  std::vector<StoredCode> code() const;

 private:
  struct Ready {
    Index node = 0;
    Index place = 0;
    std::unique_ptr<Bound> bound;
    Operands operands;
    /// Inputs that are the model's, and whether they are read on the device.
    std::vector<std::pair<std::size_t, bool>> from_images;
  };
  struct Output {
    const std::byte* data = nullptr;
    bool is_images = false;
  };
  /// Actions that follow one another on the device without the host, so that they can be recorded: in the second run,
  /// as some kernels do more in their first.
  struct Chain {
    std::size_t end = 0;
    bool has_run = false;
    bool can_be_recorded = true;
    std::map<const std::byte*, std::function<void()>> recorded{};  ///< by the place of the images
  };
  void find_chains(const Program& program);

  Arenas arenas_;
  Target* target_;
  std::map<std::size_t, Chain> chains_;  ///< by their first actions
  const std::byte* images_ = nullptr;
  const std::byte* device_images_ = nullptr;
  std::vector<Ready> actions_;
  std::vector<Output> outputs_;
  std::vector<std::pair<Index, const float*>> watched_;  ///< nodes, and their recorded values
  std::optional<Index> unproven_;
  std::vector<std::string> remarks_;
};

}  // namespace spdnn::program
