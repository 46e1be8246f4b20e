#pragma once

#include <cstddef>
#include <optional>

#include "program/kernel.hpp"
#include "program/program.hpp"

namespace spdnn::program {

/// Collects a program's buffers and actions, one action after another, and which of these needs each buffer.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(Extent images) { program_.images = images; }

  Program& program() { return program_; }
  /// The program, with its arenas laid out.
  Program finished();

  Operand new_operand(const Layout& layout, const Shape& shape);
  std::optional<std::size_t> new_scratch(const Offer& offer);
  std::size_t new_constant(Index node, Constant constant);

  /// The step that actions are of.
  void begin(const Step& step) { current_ = step; }
  const Step& current() const { return current_; }
  void add(Action action);
  /// To the end of the program.
  void keep(const Operand& operand) { program_.buffers[operand.buffer].lifetime.last = program_.actions.size(); }

 private:
  std::size_t new_buffer(std::size_t bytes);
  void lay_out_arena(bool on_device, ArenaLayout& arena, std::size_t& constant_bytes) const;

  Program program_;
  Step current_;
};

}  // namespace spdnn::program
