#include "engines/cpu/onednn/forms.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <stdexcept>

namespace spdnn::onednn {

using program::ElementType;
using program::Layout;
using program::Order;

dnnl::memory::data_type type_of(ElementType type) {
  switch (type) {
    case ElementType::bf16:
      return dnnl::memory::data_type::bf16;
    case ElementType::u8:
      return dnnl::memory::data_type::u8;
    case ElementType::s8:
      return dnnl::memory::data_type::s8;
    default:
      return dnnl::memory::data_type::f32;
  }
}

ElementType element_type_of(const Desc& desc) {
  for (const ElementType type : {ElementType::bf16, ElementType::u8, ElementType::s8})
    if (desc.data_type() == type_of(type)) return type;
  return ElementType::fp32;
}

Dims dims_of(const Shape& shape) {
  Dims dims(shape.begin(), shape.end());
  if (dims.empty()) dims.push_back(1);
  if (dims.size() == 3) dims.insert(dims.begin() + 2, 1);
  return dims;
}

Dims dims_of_rows(const Shape& shape) {
  const Extent columns = shape.empty() ? 1 : shape.back();
  Extent rows = 1;
  for (std::size_t axis = 0; axis + 1 < shape.size(); ++axis) rows *= shape[axis];
  return {rows, columns};
}

Dims dims_of(const std::array<Index, 2>& of_axes, Index less) {
  return {Extent{of_axes[0]} - less, Extent{of_axes[1]} - less};
}

Desc plain_desc(const Dims& dims, dnnl::memory::data_type type) {
  Dims strides(dims.size());
  dnnl::memory::dim stride = 1;
  for (std::size_t axis = dims.size(); axis-- > 0; stride *= std::max<dnnl::memory::dim>(dims[axis], 1))
    strides[axis] = stride;
  return {dims, type, strides};
}

Desc any_desc(const Dims& dims, dnnl::memory::data_type type) { return {dims, type, dnnl::memory::format_tag::any}; }

Desc desc_of(const Shape& shape, const Layout& layout) {
  using Tag = dnnl::memory::format_tag;
  const Dims dims = dims_of(shape);
  const dnnl::memory::data_type type = type_of(layout.type);
  switch (layout.order) {
    case Order::rows:
      break;
    case Order::nhwc:
      return {dims, type, Tag::nhwc};
    case Order::nchw8c:
      return {dims, type, Tag::nChw8c};
    case Order::nchw16c:
      return {dims, type, Tag::nChw16c};
    case Order::images32:
    case Order::images64:
      throw std::logic_error("oneDNN has no layout of device memory");
  }
  return plain_desc(dims, type);
}

std::optional<Layout> layout_of(const Shape& shape, const Desc& desc) {
  for (const ElementType type : {ElementType::fp32, ElementType::bf16, ElementType::u8, ElementType::s8})
    for (const Order order : {Order::rows, Order::nhwc, Order::nchw16c, Order::nchw8c})
      if (program::fits(order, shape) && desc == desc_of(shape, {order, type})) return Layout{order, type};
  return std::nullopt;
}

std::string form_text(const Desc& desc) {
  const dnnl_memory_desc_t& data = desc.data;
  const auto axes = static_cast<std::size_t>(data.ndims);
  const dnnl_blocking_desc_t& blocking = data.format_desc.blocking;
  const auto blocks = static_cast<std::size_t>(blocking.inner_nblks);
  return fmt::format("onednn {} {} {} {} {} {} {}", static_cast<int>(data.data_type),
                     static_cast<int>(data.format_kind), fmt::join(std::span(data.padded_dims, axes), "x"),
                     fmt::join(std::span(blocking.strides, axes), ","),
                     fmt::join(std::span(blocking.inner_blks, blocks), "x"),
                     fmt::join(std::span(blocking.inner_idxs, blocks), ","), data.extra.flags);
}

}  // namespace spdnn::onednn
