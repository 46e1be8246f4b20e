// Reads JPEG by libjpeg. A library error ends with longjmp into the function that called it, which skips destructors:
// functions called this way have none.

#include <fmt/format.h>
// jpeglib.h needs FILE and size_t from this header.
#include <jpeglib.h>

#include <array>
#include <csetjmp>
#include <cstdio>

#include "core/system/shared_library.hpp"
#include "io/arrays/image_file.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

/// The functions used of libjpeg. The library file is named after its interface version.
struct Library {
  SharedLibrary library{
      {fmt::format("libjpeg.so.{}", JPEG_LIB_VERSION == 62 ? JPEG_LIB_VERSION : JPEG_LIB_VERSION / 10)},
      "it is needed to read .jpg images"};
// NOLINTNEXTLINE(bugprone-macro-parentheses): the name of a member
#define SPDNN_JPEG(name) decltype(&::jpeg_##name) name = library.function<decltype(::jpeg_##name)>("jpeg_" #name)
  SPDNN_JPEG(std_error);
  SPDNN_JPEG(CreateDecompress);
  SPDNN_JPEG(destroy_decompress);
  SPDNN_JPEG(mem_src);
  SPDNN_JPEG(read_header);
  SPDNN_JPEG(start_decompress);
  SPDNN_JPEG(read_scanlines);
  SPDNN_JPEG(finish_decompress);
#undef SPDNN_JPEG
};

const Library& libjpeg() {
  static const Library functions;
  return functions;
}

class Decoder {
 public:
  Decoder(const std::string& place, std::span<const std::byte> bytes) : place_(place), bytes_(bytes) {
    state_.err = libjpeg().std_error(&errors_);
    state_.client_data = this;
    errors_.error_exit = [](j_common_ptr state) { self_of(state)->give_up(state); };
    // The library reports damage that it has concealed as a warning; here it is an error.
    errors_.emit_message = [](j_common_ptr state, int level) {
      if (level < 0) self_of(state)->give_up(state);
    };
    errors_.output_message = [](j_common_ptr) {};
  }
  ~Decoder() {
    if (setjmp(jump_) == 0) libjpeg().destroy_decompress(&state_);
  }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  Pixels decode(Index height, Index width) {
    if (!read_header()) fail();
    check_image_size(place_, state_.image_height, state_.image_width, height, width);
    const bool grey = state_.jpeg_color_space == JCS_GRAYSCALE;
    if (!grey && state_.jpeg_color_space != JCS_YCbCr && state_.jpeg_color_space != JCS_RGB)
      throw DataError(place_ + ": a CMYK image, expected a greyscale or RGB image");
    Pixels pixels;
    pixels.channels = grey ? 1 : 3;
    const std::size_t row = std::size_t{width} * pixels.channels;
    pixels.values.resize(height * row);
    if (!read_rows(pixels.values.data(), row, grey)) fail();
    return pixels;
  }

 private:
  static Decoder* self_of(j_common_ptr state) { return static_cast<Decoder*>(state->client_data); }

  [[noreturn]] void fail() const { throw DataError(fmt::format("{}: damaged: {}", place_, reason_.data())); }
  [[noreturn]] void give_up(j_common_ptr state) {
    state->err->format_message(state, reason_.data());
    std::longjmp(jump_, 1);
  }

  bool read_header() {
    if (setjmp(jump_) != 0) return false;
    libjpeg().CreateDecompress(&state_, JPEG_LIB_VERSION, sizeof state_);
    libjpeg().mem_src(&state_, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
    libjpeg().read_header(&state_, TRUE);
    return true;
  }
  bool read_rows(std::uint8_t* to, std::size_t row_bytes, bool grey) {
    if (setjmp(jump_) != 0) return false;
    state_.out_color_space = grey ? JCS_GRAYSCALE : JCS_RGB;
    libjpeg().start_decompress(&state_);
    while (state_.output_scanline < state_.output_height) {
      JSAMPROW row = to + state_.output_scanline * row_bytes;
      libjpeg().read_scanlines(&state_, &row, 1);
    }
    libjpeg().finish_decompress(&state_);
    return true;
  }

  const std::string& place_;
  std::span<const std::byte> bytes_;
  jpeg_error_mgr errors_{};
  jpeg_decompress_struct state_{};
  std::jmp_buf jump_;
  std::array<char, JMSG_LENGTH_MAX> reason_{};
};

}  // namespace

Pixels decode_jpeg(const std::string& place, std::span<const std::byte> bytes, Index height, Index width) {
  return Decoder(place, bytes).decode(height, width);
}

}  // namespace spdnn
