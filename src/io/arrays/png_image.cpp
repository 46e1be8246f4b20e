// Reads PNG by libpng. A library error ends with longjmp into the function that called it, which skips destructors:
// functions called this way have none.

#include <fmt/format.h>
#include <png.h>

#include <array>
#include <csetjmp>
#include <cstring>

#include "core/system/shared_library.hpp"
#include "io/arrays/image_file.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

/// The functions used of libpng.
struct Libpng {
  SharedLibrary library{{fmt::format("libpng{0}.so.{0}", PNG_LIBPNG_VER_SONUM)}, "it is needed to read .png images"};
// NOLINTNEXTLINE(bugprone-macro-parentheses): the name of a member
#define SPDNN_PNG(name) decltype(&::png_##name) name = library.function<decltype(::png_##name)>("png_" #name)
  SPDNN_PNG(create_read_struct);
  SPDNN_PNG(create_info_struct);
  SPDNN_PNG(destroy_read_struct);
  SPDNN_PNG(get_error_ptr);
  SPDNN_PNG(get_io_ptr);
  SPDNN_PNG(set_read_fn);
  SPDNN_PNG(read_info);
  SPDNN_PNG(get_IHDR);
  SPDNN_PNG(get_valid);
  SPDNN_PNG(set_expand);
  SPDNN_PNG(set_interlace_handling);
  SPDNN_PNG(read_update_info);
  SPDNN_PNG(read_image);
  SPDNN_PNG(read_end);
#undef SPDNN_PNG
};

const Libpng& libpng() {
  static const Libpng functions;
  return functions;
}

class PngDecoder {
 public:
  PngDecoder(const std::string& place, std::span<const std::byte> bytes) : place_(place), rest_(bytes) {
    png_ = libpng().create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, [](png_structp, png_const_charp) {});
    if (png_ != nullptr) info_ = libpng().create_info_struct(png_);
    if (info_ == nullptr) {
      libpng().destroy_read_struct(&png_, &info_, nullptr);
      throw std::bad_alloc();
    }
    libpng().set_read_fn(png_, this, on_read);
  }
  ~PngDecoder() { libpng().destroy_read_struct(&png_, &info_, nullptr); }
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;

  Pixels decode(Index height, Index width) {
    if (!read_header()) fail();
    check_image_size(place_, height_, width_, height, width);
    if (depth_ > 8) throw DataError(fmt::format("{}: {} bits per sample, expected at most 8", place_, depth_));
    if ((colour_ & PNG_COLOR_MASK_ALPHA) != 0 || transparent_)
      throw DataError(place_ + ": has transparency, expected an image without");
    Pixels pixels;
    pixels.channels = (colour_ & PNG_COLOR_MASK_COLOR) != 0 ? 3 : 1;
    const std::size_t row = std::size_t{width} * pixels.channels;
    pixels.values.resize(height * row);
    std::vector<png_bytep> rows(height);
    for (std::size_t i = 0; i < height; ++i) rows[i] = pixels.values.data() + i * row;
    if (!read_rows(rows.data())) fail();
    return pixels;
  }

 private:
  [[noreturn]] void fail() const { throw DataError(fmt::format("{}: damaged: {}", place_, reason_.data())); }

  bool read_header() {
    if (setjmp(jump_) != 0) return false;
    libpng().read_info(png_, info_);
    libpng().get_IHDR(png_, info_, &width_, &height_, &depth_, &colour_, nullptr, nullptr, nullptr);
    transparent_ = libpng().get_valid(png_, info_, PNG_INFO_tRNS) != 0;
    return true;
  }
  bool read_rows(png_bytepp rows) {
    if (setjmp(jump_) != 0) return false;
    libpng().set_expand(png_);  // converts palettes to colours, and fewer bits per sample to eight
    libpng().set_interlace_handling(png_);
    libpng().read_update_info(png_, info_);
    libpng().read_image(png_, rows);
    libpng().read_end(png_, nullptr);
    return true;
  }

  static void on_error(png_structp png, png_const_charp reason) {
    auto* const self = static_cast<PngDecoder*>(libpng().get_error_ptr(png));
    std::strncpy(self->reason_.data(), reason, self->reason_.size() - 1);
    std::longjmp(self->jump_, 1);
  }
  static void on_read(png_structp png, png_bytep to, std::size_t size) {
    auto* const self = static_cast<PngDecoder*>(libpng().get_io_ptr(png));
    if (size > self->rest_.size()) on_error(png, "it is cut off");
    std::memcpy(to, self->rest_.data(), size);
    self->rest_ = self->rest_.subspan(size);
  }

  const std::string& place_;
  std::span<const std::byte> rest_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::jmp_buf jump_;
  std::array<char, 120> reason_{};
  png_uint_32 width_ = 0;
  png_uint_32 height_ = 0;
  int depth_ = 0;
  int colour_ = 0;
  bool transparent_ = false;
};

}  // namespace

Pixels decode_png(const std::string& place, std::span<const std::byte> bytes, Index height, Index width) {
  return PngDecoder(place, bytes).decode(height, width);
}

}  // namespace spdnn
