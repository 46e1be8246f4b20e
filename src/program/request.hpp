#pragma once

#include <map>
#include <optional>
#include <vector>

#include "program/compile.hpp"
#include "program/kernel.hpp"

namespace spdnn::program {

/// The layouts in which each value exists; the first is the one in which it was made.
using LayoutsOfValues = std::map<ValueId, std::vector<Layout>>;

/// The layouts in which a value exists; constants of the model exist row-major from the beginning.
inline std::vector<Layout>& layouts_of(LayoutsOfValues& there, ValueId value) {
  std::vector<Layout>& layouts = there[value];
  if (layouts.empty()) layouts.push_back(kRows);
  return layouts;
}

/// The layouts in which the model's input is given: rows of the host, and those copied to the device.
inline std::vector<Layout> layouts_of_images(const CompileOptions& options) {
  return options.target == nullptr ? std::vector<Layout>{kRows} : std::vector<Layout>{kRows, kDeviceRows};
}

/// By value: the 8-bit form in which it may lie, if it is quantised; a view has that of what it shows.
using ByteForms = std::vector<std::optional<ByteForm>>;
ByteForms byte_forms_of(const Model& model);

/// Requests to kernels for a step.
Request request_for(const Model& model, const Step& step, Extent images, const CompileOptions& options,
                    const ByteForms& forms, LayoutsOfValues& there);

}  // namespace spdnn::program
