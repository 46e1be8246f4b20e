// Changes of layout, and of the type of elements with them.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "engines/cpu/plain/kernels.hpp"
#include "engines/cpu/plain/quantise.hpp"
#include "model/operations/geometry.hpp"
#include "program/predict.hpp"

namespace spdnn::plain {

namespace {

/// Numbers of one type in memory: fp32, the upper halves of fp32, or bytes.
template <class Number>
struct Numbers {
  ByteForm form{};  ///< of bytes

  float load(const Number* from) const {
    if constexpr (std::is_same_v<Number, float>)
      return *from;
    else if constexpr (sizeof(Number) == 1)
      return value_of(form, *from);
    else
      return std::bit_cast<float>(std::uint32_t{*from} << 16U);
  }
  void store(float x, Number* to) const {
    if constexpr (std::is_same_v<Number, float>)
      *to = x;
    else if constexpr (sizeof(Number) == 1)
      *to = static_cast<Number>(byte_of(form, x));
    else
      *to = upper_half(x);
  }

 private:
  /// To the nearest, to even among equals; NaN stays NaN.
  static std::uint16_t upper_half(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const bool is_nan = (bits & 0x7fffffffU) > 0x7f800000U;
    const std::uint32_t rounded = is_nan ? bits | 0x400000U : bits + 0x7fffU + ((bits >> 16U) & 1U);
    return static_cast<std::uint16_t>(rounded >> 16U);
  }
};

/// The addresses of an image's elements: row(n, h) + channels[c] + w * column.
struct Places {
  Places(Order order, const ImageExtents& image) : image_(image) {
    together_ = order == Order::nhwc ? image.channels : order == Order::rows ? 1 : order == Order::nchw8c ? 8 : 16;
    blocks_ = (image.channels + together_ - 1) / together_;
    column = together_;
    for (Extent c = 0; c < blocks_ * together_; ++c)
      channels.push_back(c / together_ * image.pixels() * together_ + c % together_);
  }
  Extent row(Extent n, Extent h) const { return (n * blocks_ * image_.pixels() + h * image_.width) * together_; }

  std::vector<Extent> channels;  ///< those that fill up the last block included
  Extent column = 1;

 private:
  ImageExtents image_;
  Extent together_ = 1;
  Extent blocks_ = 1;
};

template <class From, class To>
void change_images(const ImageExtents& image, const Change& change, const From* source, To* destination) {
  constexpr Extent kTogether = 16;  // channels, so that both sides stay within a few cache lines
  const Places read(change.from.order, image);
  const Places written(change.to.order, image);
  const Numbers<From> given{change.bytes.value_or(ByteForm())};
  const Numbers<To> made{change.bytes.value_or(ByteForm())};
#pragma omp parallel for collapse(2) schedule(static)
  for (Extent n = 0; n < image.images; ++n)
    for (Extent h = 0; h < image.height; ++h) {
      const From* const from_row = source + read.row(n, h);
      To* const to_row = destination + written.row(n, h);
      for (Extent first = 0; first < image.channels; first += kTogether)
        for (Extent w = 0; w < image.width; ++w)
          for (Extent c = first; c < std::min(first + kTogether, image.channels); ++c)
            made.store(given.load(from_row + read.channels[static_cast<std::size_t>(c)] + w * read.column),
                       to_row + written.channels[static_cast<std::size_t>(c)] + w * written.column);
      for (auto c = static_cast<std::size_t>(image.channels); c < written.channels.size(); ++c)
        for (Extent w = 0; w < image.width; ++w) made.store(0, to_row + written.channels[c] + w * written.column);
    }
}

template <class From, class To>
void change_elements(Extent count, const ByteForm& form, const From* source, To* destination) {
#pragma omp parallel for schedule(static)
  for (Extent i = 0; i < count; ++i) Numbers<To>{form}.store(Numbers<From>{form}.load(source + i), destination + i);
}

template <class From, class To>
void change_of(const Change& change, const Operands& at) {
  const auto* const source = reinterpret_cast<const From*>(at.inputs[0]);
  auto* const destination = reinterpret_cast<To*>(at.output);
  if (change.from.order == change.to.order)
    change_elements(static_cast<Extent>(program::elements_of(change.from, change.shape)),
                    change.bytes.value_or(ByteForm()), source, destination);
  else
    change_images(image_extents(change.shape), change, source, destination);
}

/// work(number), a number of the type that elements have in memory; not fp16.
template <class Work>
auto with_number(ElementType type, const Work& work) {
  switch (type) {
    case ElementType::fp32:
      return work(float{});
    case ElementType::bf16:
      return work(std::uint16_t{});
    case ElementType::u8:
      return work(std::uint8_t{});
    case ElementType::s8:
      return work(std::int8_t{});
    case ElementType::fp16:
      break;
  }
  throw std::logic_error("fp16 on the host");
}

}  // namespace

Offer change(const Change& change) {
  if (change.from.type == ElementType::fp16 || change.to.type == ElementType::fp16)
    return {.why_not = "only devices have fp16"};
  Offer offer{.inputs = {change.from}, .output = change.to};
  const std::size_t bytes = program::bytes_of(change.from, change.shape) + program::bytes_of(change.to, change.shape);
  offer.seconds = 2 * program::pass_seconds(bytes, change.threads);
  const auto run = with_number(change.from.type, [&](auto from) {
    return with_number(change.to.type, [](auto to) { return &change_of<decltype(from), decltype(to)>; });
  });
  offer.bind = [run, change] { return program::bound([=](const Operands& at) { run(change, at); }); };
  return offer;
}

}  // namespace spdnn::plain
