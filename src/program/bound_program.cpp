#include "program/bound_program.hpp"

#include <algorithm>

#include "core/system/host_memory.hpp"

namespace spdnn::program {

std::shared_ptr<std::byte> host_memory(std::size_t bytes) {
  const auto memory = std::make_shared<HostMemory<std::byte>>(bytes);
  return {memory, memory->data()};
}

const std::byte* Constants::get(const Buffer& buffer) {
  const Constant& constant = buffer.constant;
  const auto [place, is_new] = made_.try_emplace({buffer.node, constant.part, constant.form});
  if (is_new) {
    place->second = host_memory(constant.bytes);
    constant.fill(place->second.get());
    if (constant.on_device) {
      const std::shared_ptr<std::byte> there = target_->allocate(constant.bytes);
      target_->upload(there.get(), place->second.get(), constant.bytes);
      place->second = there;
    }
  }
  return place->second.get();
}

BoundProgram::BoundProgram(const Program& program, Constants& constants, Arenas arenas)
    : arenas_(std::move(arenas)), unproven_(program.unproven) {
  const auto in_arena = [&](std::size_t buffer) {
    return program.buffers[buffer].on_device ? arenas_.device.get() + program.device_arena.offsets[buffer]
                                             : arenas_.host.get() + program.arena.offsets[buffer];
  };
  const auto is_images = [&](std::size_t buffer) { return program.buffers[buffer].kind == Buffer::Kind::input; };
  const auto data = [&](std::size_t buffer) -> const std::byte* {
    if (is_images(buffer)) return nullptr;
    const Buffer& one = program.buffers[buffer];
    return one.kind == Buffer::Kind::constant ? constants.get(one) : in_arena(buffer);
  };
  for (const Action& action : program.actions) {
    Ready ready{.node = action.node, .place = action.place, .bound = action.bind(), .operands = {}, .from_images = {}};
    for (const Operand& input : action.inputs) {
      if (is_images(input.buffer)) ready.from_images.push_back(ready.operands.inputs.size());
      ready.operands.inputs.push_back(data(input.buffer));
    }
    for (const std::size_t constant : action.constants) ready.operands.constants.push_back(data(constant));
    if (action.scratch) ready.operands.scratch = in_arena(*action.scratch);
    ready.operands.output = in_arena(action.output.buffer);
    if (ready.from_images.empty()) ready.bound->place(ready.operands);
    actions_.push_back(std::move(ready));
  }
  for (const Operand& output : program.outputs) outputs_.push_back({data(output.buffer), is_images(output.buffer)});
  for (const Watched& watched : program.watched)
    watched_.emplace_back(watched.node, reinterpret_cast<const float*>(in_arena(watched.beyond.buffer)));
  std::vector<Prepared> prepared;
  for (const Ready& action : actions_) {
    prepared.push_back(action.bound->prepare());
    if (!prepared.back().remark.empty()) remarks_.push_back(prepared.back().remark);
  }
  if (std::string code = text(prepared); !code.empty()) remarks_.push_back(std::move(code));
}

void BoundProgram::set_input(const float* data) {
  images_ = reinterpret_cast<const std::byte*>(data);
  for (Ready& action : actions_) {
    if (action.from_images.empty()) continue;
    for (const std::size_t input : action.from_images) action.operands.inputs[input] = images_;
    action.bound->place(action.operands);
  }
}

const float* BoundProgram::output(std::size_t number) const {
  const Output& output = outputs_[number];
  return reinterpret_cast<const float*>(output.is_images ? images_ : output.data);
}

std::optional<Index> BoundProgram::overflow() const {
  std::optional<Index> first = unproven_;
  for (const auto& [node, beyond] : watched_)
    if (*beyond != 0) first = std::min(first.value_or(node), node);
  return first;
}

}  // namespace spdnn::program
