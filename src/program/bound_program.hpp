#pragma once

#include <cstddef>
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
  BoundProgram(const Program& program, Constants& constants, Arenas arenas);

  /// The images, which are read in place.
  void set_input(const float* data);
  std::size_t actions() const { return actions_.size(); }
  Index node(std::size_t action) const { return actions_[action].node; }
  Index place(std::size_t action) const { return actions_[action].place; }
  void run(std::size_t action) const { actions_[action].bound->run(); }
  const float* output(std::size_t number) const;
  /// See ModelEngine::overflow(); for images within the assumed bounds.
  std::optional<Index> overflow() const;
  /// Of the kernels, on how they were prepared.
  const std::vector<std::string>& remarks() const { return remarks_; }

 private:
  struct Ready {
    Index node = 0;
    Index place = 0;
    std::unique_ptr<Bound> bound;
    Operands operands;
    std::vector<std::size_t> from_images;  ///< inputs that are the model's
  };
  struct Output {
    const std::byte* data = nullptr;
    bool is_images = false;
  };
  Arenas arenas_;
  const std::byte* images_ = nullptr;
  std::vector<Ready> actions_;
  std::vector<Output> outputs_;
  std::vector<std::pair<Index, const float*>> watched_;  ///< nodes, and their recorded values
  std::optional<Index> unproven_;
  std::vector<std::string> remarks_;
};

}  // namespace spdnn::program
