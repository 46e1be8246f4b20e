#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>

#include "program/layout.hpp"
#include "spdnn/model.hpp"

// Layouts as oneDNN has them: memory descriptors.

namespace spdnn::onednn {

using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;

dnnl::memory::data_type type_of(program::ElementType type);
/// Of fp32, bf16 or int8.
program::ElementType element_type_of(const Desc& desc);

/// Axes as oneDNN sees them: a sequence N, C, W has H = 1, a scalar one element.
Dims dims_of(const Shape& shape);
/// A value of any shape as a matrix whose columns are its last axis.
Dims dims_of_rows(const Shape& shape);
/// Two numbers of a window as oneDNN takes them, each with `less` taken off: dilation counts from 0 there.
Dims dims_of(const std::array<Index, 2>& of_axes, Index less = 0);

/// Row-major.
Desc plain_desc(const Dims& dims, dnnl::memory::data_type type = dnnl::memory::data_type::f32);
/// oneDNN chooses.
Desc any_desc(const Dims& dims, dnnl::memory::data_type type);

Desc desc_of(const Shape& shape, const program::Layout& layout);
/// Empty if the library's form is not one of ours.
std::optional<program::Layout> layout_of(const Shape& shape, const Desc& desc);

/// Identifies a form of constants: everything in which two descriptors can differ.
std::string form_text(const Desc& desc);

}  // namespace spdnn::onednn
