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

BoundProgram::BoundProgram(const Program& program, Constants& constants, Arenas arenas, Target* target)
    : arenas_(std::move(arenas)), target_(target), unproven_(program.unproven) {
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
  std::size_t last_output = 0;  // a buffer
  for (const Action& action : program.actions) {
    Ready ready{.node = action.node, .place = action.place, .bound = action.bind(), .operands = {}, .from_images = {}};
    for (const Operand& input : action.inputs) {
      if (is_images(input.buffer))
        ready.from_images.emplace_back(ready.operands.inputs.size(), program.buffers[input.buffer].on_device);
      ready.operands.inputs.push_back(data(input.buffer));
    }
    for (const std::size_t constant : action.constants) ready.operands.constants.push_back(data(constant));
    if (action.scratch) ready.operands.scratch = in_arena(*action.scratch);
    ready.operands.output = in_arena(action.output.buffer);
    ready.operands.first_input_is_older =
        !actions_.empty() && !action.inputs.empty() && action.inputs[0].buffer != last_output;
    last_output = action.output.buffer;
    if (ready.from_images.empty()) ready.bound->place(ready.operands);
    actions_.push_back(std::move(ready));
  }
  for (const Operand& output : program.outputs) outputs_.push_back({data(output.buffer), is_images(output.buffer)});
  for (const Watched& watched : program.watched)
    watched_.emplace_back(watched.node,
                          reinterpret_cast<const float*>(in_arena(watched.beyond.buffer)) + watched.number);
  std::vector<Prepared> prepared;
  for (const Ready& action : actions_) {
    prepared.push_back(action.bound->prepare());
    if (!prepared.back().remark.empty()) remarks_.push_back(prepared.back().remark);
  }
  if (std::string code = text(prepared); !code.empty()) remarks_.push_back(std::move(code));
  if (target_ != nullptr) find_chains(program);
}

void BoundProgram::find_chains(const Program& program) {
  // A kernel on the device has constants of its own there, and does not read the model's.
  const auto is_constant = [&](const Action& action, const Operand& input) {
    return action.kind == Action::Kind::step && program.buffers[input.buffer].kind == Buffer::Kind::constant;
  };
  const auto is_on_device = [&](const Action& action) {
    const auto on_device = [&](std::size_t buffer) { return program.buffers[buffer].on_device; };
    return on_device(action.output.buffer) && (!action.scratch || on_device(*action.scratch)) &&
           std::all_of(action.inputs.begin(), action.inputs.end(),
                       [&](const Operand& input) { return on_device(input.buffer) || is_constant(action, input); });
  };
  for (std::size_t begin = 0; begin < actions_.size();) {
    std::size_t end = begin;
    while (end < actions_.size() && is_on_device(program.actions[end]) && actions_[end].bound->can_be_recorded()) ++end;
    if (end - begin > 1) chains_[begin].end = end;
    begin = std::max(begin + 1, end);
  }
}

std::size_t BoundProgram::run(std::size_t action, Index until) {
  const auto found = chains_.find(action);
  if (found == chains_.end() || place(found->second.end - 1) >= until) {
    run(action);
    return action + 1;
  }
  Chain& chain = found->second;
  const auto run_all = [this, action, end = chain.end] {
    for (std::size_t i = action; i < end; ++i) run(i);
  };
  const bool first = !std::exchange(chain.has_run, true);
  if (first || !chain.can_be_recorded) {
    run_all();
    return chain.end;
  }
  std::function<void()>& recorded = chain.recorded[device_images_];
  if (!recorded) recorded = target_->recorded(run_all);
  chain.can_be_recorded = recorded != nullptr;
  recorded ? recorded() : run_all();
  return chain.end;
}

void BoundProgram::set_input(const float* data, const std::byte* on_device) {
  device_images_ = on_device;
  images_ = reinterpret_cast<const std::byte*>(data);
  for (Ready& action : actions_) {
    if (action.from_images.empty()) continue;
    for (const auto& [input, is_on_device] : action.from_images)
      action.operands.inputs[input] = is_on_device ? on_device : images_;
    action.bound->place(action.operands);
  }
}

std::vector<StoredCode> BoundProgram::code() const {
  std::vector<StoredCode> all;
  for (const Ready& action : actions_)
    if (std::optional<StoredCode> one = action.bound->code()) all.push_back(std::move(*one));
  return all;
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
