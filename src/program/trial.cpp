#include "program/trial.hpp"

#include <chrono>
#include <cstring>

#include "program/bound_program.hpp"

namespace spdnn::program {

namespace {

std::vector<Shape> trial_shapes(const Request& request, const Offer& offer) {
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < offer.inputs.size(); ++i) shapes.push_back(request.inputs[i].shape);
  return shapes;
}

/// Programs take a change's layouts from the change itself.
Offer with_layouts_of(const Change& change, Offer offer) {
  offer.inputs = {change.from};
  offer.output = change.to;
  return offer;
}

}  // namespace

Trial::Trial(const Request& request, const Offer& offer, const Fill& fill, Target* target)
    : Trial(trial_shapes(request, offer), request.output_shape(), offer, fill, target) {}

Trial::Trial(const Change& change, const Offer& offer, const Fill& fill, Target* target)
    : Trial({change.shape}, change.shape, with_layouts_of(change, offer), fill, target) {}

Trial::Trial(const std::vector<Shape>& inputs, const Shape& output, const Offer& offer, const Fill& fill,
             Target* target)
    : target_(target) {
  if (target_ != nullptr) target_->use();
  bound_ = offer.bind();
  Operands at;
  for (std::size_t i = 0; i < offer.inputs.size(); ++i)
    at.inputs.push_back(new_memory(bytes_of(offer.inputs[i], inputs[i]), on_device(offer.inputs[i])));
  output_bytes_ = bytes_of(offer.output, output);
  at.output = new_memory(output_bytes_, on_device(offer.output));
  output_ = at.output;
  if (offer.scratch > 0) at.scratch = new_memory(offer.scratch, offer.scratch_on_device);
  for (const Constant& constant : offer.constants) {
    at.constants.push_back(new_memory(constant.bytes, constant.on_device));
    write(memory_.back().get(), constant.bytes, constant.on_device, constant.fill);
  }
  bound_->place(at);
  const Prepared prepared = bound_->prepare();
  remark_ = prepared.remark.empty() ? text({prepared}) : prepared.remark;
  for (std::size_t i = 0; i < offer.inputs.size(); ++i) {
    const Layout& layout = offer.inputs[i];
    const Shape& shape = inputs[i];
    write(memory_[i].get(), bytes_of(layout, shape), on_device(layout),
          [&](std::byte* to) { fill(to, layout, shape); });
  }
}

std::vector<double> Trial::seconds(Index runs) {
  if (target_ != nullptr) {
    target_->use();
    return target_->seconds(runs, [&] { bound_->run(); });
  }
  using Clock = std::chrono::steady_clock;
  std::vector<double> seconds(runs);
  for (double& one : seconds) {
    const Clock::time_point begin = Clock::now();
    bound_->run();
    one = std::chrono::duration<double>(Clock::now() - begin).count();
  }
  return seconds;
}

void Trial::read_output(std::size_t first, std::size_t bytes, std::byte* to) const {
  if (target_ != nullptr)
    target_->download(to, output_ + first, bytes);
  else
    std::memcpy(to, output_ + first, bytes);
}

HostMemory<std::byte> Trial::output() const {
  HostMemory<std::byte> copy(output_bytes_);
  read_output(0, output_bytes_, copy.data());
  return copy;
}

std::byte* Trial::new_memory(std::size_t bytes, bool on_device) {
  memory_.push_back(on_device ? target_->allocate(bytes) : host_memory(bytes));
  return memory_.back().get();
}

/// Memory of a device is filled in the host's, and copied.
void Trial::write(std::byte* to, std::size_t bytes, bool on_device, const std::function<void(std::byte*)>& fill) {
  if (!on_device) return fill(to);
  const std::shared_ptr<std::byte> copy = host_memory(bytes);
  fill(copy.get());
  target_->upload(to, copy.get(), bytes);
}

}  // namespace spdnn::program
