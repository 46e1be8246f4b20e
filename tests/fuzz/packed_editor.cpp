#include "fuzz/packed_editor.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "packed_seal.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace spdnn::fuzz {

using packed::Header;
using packed::Kind;
using packed::SectionEntry;

namespace {

constexpr std::size_t kMostSections = 64;

std::uint32_t below(std::mt19937& random, std::size_t limit) { return static_cast<std::uint32_t>(random() % limit); }

template <class T>
T number_at(std::span<const std::byte> bytes, std::size_t at) {
  T number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

}  // namespace

std::optional<PackedEditor> PackedEditor::open(std::span<const std::byte> file) {
  if (file.size() < sizeof(Header)) return {};
  PackedEditor editor;
  editor.header_ = number_at<Header>(file, 0);
  if (editor.header_.sections > kMostSections ||
      editor.header_.sections * sizeof(SectionEntry) > file.size() - sizeof(Header))
    return {};
  for (std::size_t i = 0; i < editor.header_.sections; ++i) {
    const auto entry = number_at<SectionEntry>(file, sizeof(Header) + i * sizeof(SectionEntry));
    if (entry.offset > file.size() || entry.bytes > file.size() - entry.offset) return {};
    const auto bytes = file.subspan(entry.offset, entry.bytes);
    editor.sections_.push_back({entry.kind, {bytes.begin(), bytes.end()}});
  }
  return editor;
}

std::vector<std::byte> PackedEditor::file() const {
  Header header = header_;
  header.sections = static_cast<std::uint32_t>(sections_.size());
  std::vector<std::byte> table(sections_.size() * sizeof(SectionEntry));
  std::vector<std::byte> file(sizeof(Header) + table.size());
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    const Section& section = sections_[i];
    SectionEntry entry{.offset = packed::aligned(file.size()), .bytes = section.bytes.size(), .kind = section.kind};
    std::memcpy(table.data() + i * sizeof entry, &entry, sizeof entry);
    file.resize(entry.offset);
    file.insert(file.end(), section.bytes.begin(), section.bytes.end());
  }
  std::memcpy(file.data(), &header, sizeof header);
  std::copy(table.begin(), table.end(), file.begin() + sizeof header);
  packed::seal(file);
  return file;
}

void PackedEditor::change(std::mt19937& random) {
  const std::uint32_t what = below(random, 16);
  if (sections_.empty() || what == 0) return change_header(random);
  if (what == 1) return change_list(random);
  // Records are few, and are chosen as often as all arrays together.
  std::vector<Section*> choice;
  const bool records = what % 2 == 0;
  for (Section& section : sections_)
    if ((section.kind != Kind::data) == records) choice.push_back(&section);
  if (choice.empty()) return change_header(random);
  Section& section = *choice[below(random, choice.size())];
  if (what < 4) return change_length(section, random);
  if (what < 7) return change_bytes(section);
  change_number(section, random);
}

void PackedEditor::change_bytes(Section& section) {
  constexpr std::size_t kRoom = 64;
  std::vector<std::uint8_t> bytes(section.bytes.size() + kRoom);
  if (!section.bytes.empty()) std::memcpy(bytes.data(), section.bytes.data(), section.bytes.size());
  bytes.resize(LLVMFuzzerMutate(bytes.data(), section.bytes.size(), bytes.size()));
  section.bytes.resize(bytes.size());
  if (!bytes.empty()) std::memcpy(section.bytes.data(), bytes.data(), bytes.size());
}

/// Numbers at which checks change their result: 0, 1, limits of types, sizes of this file, and neighbours of the
/// present number.
std::uint64_t PackedEditor::telling_number(std::uint64_t before, std::mt19937& random) const {
  constexpr std::array<std::uint64_t, 12> kTelling{0,     1,     2,          255,        256,        65535,
                                                   65536, 65537, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF};
  switch (below(random, 6)) {
    case 0:
      return kTelling[below(random, kTelling.size())];
    case 1:
      return before + 1;
    case 2:
      return before - 1;
    case 3:
      return below(random, sections_.size() + 1);
    case 4:
      return before ^ std::uint64_t{1} << below(random, 64);
    default:
      return below(random, 70);
  }
}

void PackedEditor::change_number(Section& section, std::mt19937& random) {
  const std::size_t width = std::size_t{section.kind == Kind::data ? 1U : 4U} << below(random, 2);
  if (section.bytes.size() < width) return;
  std::byte* const at = section.bytes.data() + below(random, section.bytes.size() / width) * width;
  std::uint64_t number = 0;
  std::memcpy(&number, at, width);
  number = telling_number(number, random);
  std::memcpy(at, &number, width);
}

void PackedEditor::change_length(Section& section, std::mt19937& random) {
  constexpr std::array<std::size_t, 6> kSteps{1, 2, 4, 8, sizeof(packed::LayerRecord), 24};
  const std::size_t step = kSteps[below(random, kSteps.size())];
  const bool longer = below(random, 2) == 0;
  section.bytes.resize(longer ? section.bytes.size() + step
                              : section.bytes.size() - std::min(step, section.bytes.size()));
}

void PackedEditor::change_header(std::mt19937& random) {
  switch (below(random, 5)) {
    case 0:
      header_.contents = below(random, 64);
      break;
    case 1:
      header_.edges = telling_number(header_.edges, random);
      break;
    case 2:
      header_.layers = static_cast<std::uint32_t>(telling_number(header_.layers, random));
      break;
    case 3:
      header_.network_digest ^= 1;
      break;
    default:
      header_.version = below(random, 8);
  }
}

void PackedEditor::change_list(std::mt19937& random) {
  const std::size_t place = below(random, sections_.size());
  const auto at = sections_.begin() + static_cast<std::ptrdiff_t>(place);
  switch (below(random, 4)) {
    case 0:
      at->kind = static_cast<Kind>(below(random, 9));
      break;
    case 1:
      sections_.erase(at);
      break;
    case 2:
      if (sections_.size() < kMostSections) sections_.push_back(Section(sections_[place]));
      break;
    default:
      std::swap(*at, sections_[below(random, sections_.size())]);
  }
}

std::shared_ptr<std::byte> packed_input(const std::uint8_t* bytes, std::size_t size) {
  std::shared_ptr<std::byte> copy = allocate_bytes(size);
  if (size > 0) std::memcpy(copy.get(), bytes, size);
  return copy;
}

}  // namespace spdnn::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  using spdnn::fuzz::below;
  std::mt19937 random(seed);
  auto editor = spdnn::fuzz::PackedEditor::open({reinterpret_cast<const std::byte*>(data), size});
  if (!editor || below(random, 32) == 0) return LLVMFuzzerMutate(data, size, max_size);  // not sealed
  const std::uint32_t changes = 1 + below(random, 3);
  for (std::uint32_t i = 0; i < changes; ++i) editor->change(random);
  const std::vector<std::byte> file = editor->file();
  if (file.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, file.data(), file.size());
  return file.size();
}
