#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spdnn {

/// A zip archive of these files (name and content), stored or deflated, as NumPy writes .npz files.
inline std::string zip_archive(const std::vector<std::pair<std::string, std::string>>& files, bool deflated) {
  const auto number = [](std::uint64_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xffU);
    return text;
  };
  const auto packed = [&](std::string_view text) {
    if (!deflated) return std::string(text);
    z_stream stream{};
    deflateInit2(&stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
    std::string to(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(to.data());
    stream.avail_out = static_cast<uInt>(to.size());
    deflate(&stream, Z_FINISH);
    to.resize(stream.total_out);
    deflateEnd(&stream);
    return to;
  };
  std::string archive;
  std::string directory;
  for (const auto& [name, content] : files) {
    const std::string data = packed(content);
    const auto checksum = ::crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
    const std::string facts = number(20, 2) + number(0, 2) + number(deflated ? 8 : 0, 2) + number(0, 2) +
                              number(0x21, 2) + number(checksum, 4) + number(data.size(), 4) +
                              number(content.size(), 4) + number(name.size(), 2) + number(0, 2);
    directory.append("PK\1\2" + number(20, 2))
        .append(facts)
        .append(10, '\0')
        .append(number(archive.size(), 4))
        .append(name);
    archive.append("PK\3\4").append(facts).append(name).append(data);
  }
  const std::string end = "PK\5\6" + number(0, 4) + number(files.size(), 2) + number(files.size(), 2) +
                          number(directory.size(), 4) + number(archive.size(), 4) + number(0, 2);
  return archive + directory + end;
}

}  // namespace spdnn
