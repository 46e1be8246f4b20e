#include "program/program_builder.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace spdnn::program {

Program ProgramBuilder::finished() {
  lay_out_arena(false, program_.arena, program_.constant_bytes);
  lay_out_arena(true, program_.device_arena, program_.device_constant_bytes);
  for (const Action& action : program_.actions)
    for (const Operand& operand : action.inputs) {
      const Buffer& buffer = program_.buffers[operand.buffer];
      if (buffer.kind == Buffer::Kind::input && buffer.on_device) program_.device_image_bytes = buffer.lifetime.bytes;
    }
  return std::move(program_);
}

void ProgramBuilder::lay_out_arena(bool on_device, ArenaLayout& arena, std::size_t& constant_bytes) const {
  std::vector<Lifetime> lifetimes;
  for (const Buffer& buffer : program_.buffers) {
    lifetimes.push_back(buffer.lifetime);
    const bool here = buffer.on_device == on_device;
    if (here && buffer.kind == Buffer::Kind::constant) constant_bytes += buffer.constant.bytes;
    if (!here || buffer.kind != Buffer::Kind::arena) lifetimes.back().bytes = 0;
  }
  arena = lay_out(lifetimes);
}

std::size_t ProgramBuilder::new_buffer(std::size_t bytes) {
  const std::size_t now = program_.actions.size();
  program_.buffers.push_back({.lifetime = {bytes, now, now}});
  return program_.buffers.size() - 1;
}

Operand ProgramBuilder::new_operand(const Layout& layout, const Shape& shape) {
  const Operand operand{new_buffer(bytes_of(layout, shape)), layout};
  program_.buffers[operand.buffer].on_device = on_device(layout);
  return operand;
}

std::optional<std::size_t> ProgramBuilder::new_scratch(const Offer& offer) {
  if (offer.scratch == 0) return std::nullopt;
  const std::size_t buffer = new_buffer(offer.scratch);
  program_.buffers[buffer].on_device = offer.scratch_on_device;
  return buffer;
}

std::size_t ProgramBuilder::new_constant(Index node, Constant constant) {
  const std::size_t buffer = new_buffer(constant.bytes);
  program_.buffers[buffer].kind = Buffer::Kind::constant;
  program_.buffers[buffer].node = node;
  program_.buffers[buffer].on_device = constant.on_device;
  program_.buffers[buffer].constant = std::move(constant);
  return buffer;
}

void ProgramBuilder::add(Action action) {
  const std::size_t number = program_.actions.size();
  action.node = current_.node;
  action.place = current_.last();
  const auto used = [&](std::size_t buffer) {
    Lifetime& lifetime = program_.buffers[buffer].lifetime;
    lifetime.last = std::max(lifetime.last, number);
  };
  for (const Operand& input : action.inputs) used(input.buffer);
  for (const std::size_t constant : action.constants) used(constant);
  program_.actions.push_back(std::move(action));
}

}  // namespace spdnn::program
