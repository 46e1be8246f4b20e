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

namespace spdnn::program {

/// The constants of an engine's programs: weights and others, each in the forms that kernels request.
class Constants {
 public:
  const std::byte* get(const Buffer& buffer);

 private:
  std::map<std::tuple<Index, int, std::string>, HostMemory<std::byte>> made_;  ///< by node, part and form
};

/// A program whose kernels are bound and whose operands are in memory. The arena lives as long as the kernels bound to
/// it.
class BoundProgram {
 public:
  BoundProgram(const Program& program, Constants& constants, std::shared_ptr<HostMemory<std::byte>> arena);

  /// The images, which are read in place.
  void set_input(const float* data);
  std::size_t actions() const { return actions_.size(); }
  Index node(std::size_t action) const { return actions_[action].node; }
  Index place(std::size_t action) const { return actions_[action].place; }
  void run(std::size_t action) const { actions_[action].bound->run(); }
  const float* output(std::size_t number) const;
  /// See ModelEngine::overflow(); for images within the assumed bounds.
  std::optional<Index> overflow() const;

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
  std::shared_ptr<HostMemory<std::byte>> arena_;
  const std::byte* images_ = nullptr;
  std::vector<Ready> actions_;
  std::vector<Output> outputs_;
  std::vector<std::pair<Index, const float*>> watched_;  ///< nodes, and their recorded values
  std::optional<Index> unproven_;
};

}  // namespace spdnn::program
