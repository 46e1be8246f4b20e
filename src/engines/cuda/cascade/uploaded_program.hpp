#pragma once

#include <optional>
#include <type_traits>

#include "engines/cuda/cascade/setup.hpp"
#include "engines/cuda/runtime/buffer.hpp"
#include "engines/cuda/runtime/staging.hpp"

namespace spdnn::cuda::cascade {

/// A compiled plan on the device, and the kernels' arguments that depend on it.
class UploadedProgram {
 public:
  UploadedProgram(const CascadeProgram& from, const Plan& plan, const SharedLayout& layout, cudaStream_t stream)
      : view(view_of(from, plan, layout)), counting(counting_of(from.first, plan)) {
    Staging staging;
    const auto put = [&](auto& buffer, const auto& values, auto& pointer) {
      staging.upload(buffer, values, stream);
      pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(buffer.data());
    };
    put(input_starts_, from.first.inputs.starts, counting.input_starts);
    put(input_values_, from.first.inputs.values, counting.input_values);
    put(class_starts_, from.first.classes.starts, counting.class_starts);
    put(class_values_, from.first.classes.values, counting.class_values);
    put(words_, from.first.words, counting.words);
    put(runs_, from.first.runs, counting.runs);
    put(sums_, from.first.sums, view.sums);
    put(layers_, from.layers, view.layers);
    put(terms_, from.terms, view.terms);
    put(degrees_, from.degrees, view.degrees);
    put(biases_, from.biases, view.biases);
    if (!from.pair_table.empty()) put(pair_table_, from.pair_table, view.pair_table);
    front = find_front(from, plan);
    if (front) {
      front_view = view_of(*front, plan, view);
      put(activations_, front->activations, front_view.activations);
      filter = find_filter(*front, from, plan);
      if (filter) front_view.filter = view_of(*filter);
    }
    const std::optional<Tail> tail = find_tail(from, plan, front ? front->layers : second_launch_layer(from));
    if (tail) {
      tail_view = {
          .layers = nullptr, .terms = nullptr, .first = tail->first, .inputs = from.layers[tail->first].inputs};
      put(tail_layers_, tail->layers, tail_view->layers);
      put(tail_terms_, tail->terms, tail_view->terms);
    }
  }

  ProgramView view;
  CountingArgs counting;
  std::optional<Front> front;
  std::optional<FrontFilter> filter;
  FrontView front_view{};  ///< the engine fills in the bits and the images kept
  std::optional<TailView> tail_view;

 private:
  DeviceBuffer<Index> input_starts_, input_values_, class_starts_, class_values_, words_, runs_, degrees_;
  DeviceBuffer<float> sums_, biases_, pair_table_, activations_;
  DeviceBuffer<CascadeLayer> layers_;
  DeviceBuffer<TailLayer> tail_layers_;
  DeviceBuffer<std::uint8_t> tail_terms_;
  DeviceBuffer<std::uint32_t> terms_;
};

}  // namespace spdnn::cuda::cascade
