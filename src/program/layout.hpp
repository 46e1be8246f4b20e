#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "spdnn/tensor.hpp"

namespace spdnn::program {

/// The order of a tensor's elements in memory, the first letter being the outermost axis. A sequence N, C, W is an
/// image of H = 1.
enum class Order : std::uint8_t {
  rows,      ///< row-major, for tensors of any shape; of images: N, C, H, W
  nhwc,      ///< channels innermost
  nchw8c,    ///< blocks of 8 channels, innermost; the last block is filled up with zeros
  nchw16c,   ///< likewise of 16
  images32,  ///< blocks of 32 images, innermost, around an image's elements in row-major order; the last block is
             ///< filled up with images whose numbers nobody reads
  images64,  ///< likewise of 64
};

/// u8, s8: integers of a quantised value, which its ByteForm explains.
enum class ElementType : std::uint8_t { fp32, bf16, fp16, u8, s8 };
inline bool is_bytes(ElementType type) { return type == ElementType::u8 || type == ElementType::s8; }
enum class Place : std::uint8_t { host, device };

/// How a tensor lies in memory; with its shape that is where each element is.
struct Layout {
  Order order = Order::rows;
  ElementType type = ElementType::fp32;
  Place place = Place::host;

  friend bool operator==(const Layout&, const Layout&) = default;
};

inline constexpr Layout kRows{};
inline constexpr Layout kDeviceRows{Order::rows, ElementType::fp32, Place::device};
inline constexpr Layout kImages32{Order::images32, ElementType::fp32, Place::device};
/// Images of a block of images32.
inline constexpr Extent kImagesTogether = 32;
/// Images of a block: 32, 64, or 1 in other orders.
constexpr Extent images_together(Order order) {
  return order == Order::images32 ? kImagesTogether : order == Order::images64 ? 2 * kImagesTogether : 1;
}

/// Whether a tensor in that layout is in a device's memory.
inline bool on_device(const Layout& layout) { return layout.place == Place::device; }

/// Which of a value's layouts it is changed from, if `wanted` is none of them: the first in the same memory, otherwise
/// the first.
const Layout& source_of_change(const std::vector<Layout>& layouts, const Layout& wanted);

/// Whether a tensor of that shape can have the order: `rows` are of any shape, blocks of images of one with an
/// axis, the others of images and sequences.
bool fits(Order order, const Shape& shape);

/// How many channels lie side by side: 1 in `rows`, all in `nhwc`, otherwise those of a block.
Extent channels_together(Order order, const Shape& shape);

/// Elements, those that fill up the last block included.
std::size_t elements_of(const Layout& layout, const Shape& shape);
std::size_t bytes_of(const Layout& layout, const Shape& shape);

/// The place of an element of an image in the tensor, counted in elements.
std::size_t place_of(Order order, const Shape& shape, Extent image, Extent channel, Extent row, Extent column);

/// The axes in the order in which they lie in memory, of orders without blocks.
Shape shape_in_memory(Order order, const Shape& shape);

/// The layout of a value that has the same elements in the same order as one of shape `from` made in that layout.
Layout layout_of_view(const Layout& made, const Shape& from, const Shape& to);

/// For people, and in stored programs: `nchw16c`, `rows bf16`, `device nhwc fp16`; blocks of images are always on a
/// device.
std::string text(const Layout& layout);

}  // namespace spdnn::program
