#include "io/arrays/npz.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zip.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/system/shared_library.hpp"
#include "io/arrays/npy_header.hpp"
#include "io/files/path_kind.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

constexpr std::string_view kArrayEnding = ".npy";

/// The functions used of libzip.
struct Zip {
  SharedLibrary library{{"libzip.so.5", "libzip.so.4"}, "it is needed to read and write .npz files"};
// NOLINTNEXTLINE(bugprone-macro-parentheses): the name of a member
#define SPDNN_ZIP(name) decltype(&::zip_##name) name = library.function<decltype(::zip_##name)>("zip_" #name)
  SPDNN_ZIP(source_buffer_create);
  SPDNN_ZIP(source_free);
  SPDNN_ZIP(source_keep);
  SPDNN_ZIP(source_open);
  SPDNN_ZIP(source_stat);
  SPDNN_ZIP(source_read);
  SPDNN_ZIP(source_close);
  SPDNN_ZIP(file_add);
  SPDNN_ZIP(set_file_compression);
  SPDNN_ZIP(file_set_dostime);
  SPDNN_ZIP(close);
  SPDNN_ZIP(open_from_source);
  SPDNN_ZIP(discard);
  SPDNN_ZIP(get_num_entries);
  SPDNN_ZIP(stat_index);
  SPDNN_ZIP(fopen_index);
  SPDNN_ZIP(fread);
  SPDNN_ZIP(file_strerror);
  SPDNN_ZIP(fclose);
  SPDNN_ZIP(strerror);
  SPDNN_ZIP(error_init);
  SPDNN_ZIP(error_strerror);
  SPDNN_ZIP(error_fini);
#undef SPDNN_ZIP
};

const Zip& zip() {
  static const Zip functions;
  return functions;
}

}  // namespace

struct NpzFile::Archive {
  std::vector<std::byte> bytes;
  zip_t* handle = nullptr;

  Archive(const InputFile& file) : bytes(file.size()) {  // NOLINT(google-explicit-constructor)
    file.read(0, bytes);
    file.check_unchanged();
    zip_error_t error;
    zip().error_init(&error);
    zip_source_t* const source = zip().source_buffer_create(bytes.data(), bytes.size(), 0, &error);
    if (source != nullptr) handle = zip().open_from_source(source, ZIP_RDONLY, &error);
    const std::string reason = handle == nullptr ? zip().error_strerror(&error) : "";
    zip().error_fini(&error);
    if (handle != nullptr) return;
    if (source != nullptr) zip().source_free(source);
    throw DataError(fmt::format("{}: not a zip archive: {}; expected an .npz file", file.name(), reason));
  }
  ~Archive() { zip().discard(handle); }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;
};

NpzFile::NpzFile(const InputFile& file) : file_(file.name()), archive_(std::make_unique<Archive>(file)) {
  const zip_int64_t count = zip().get_num_entries(archive_->handle, 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_stat_t found{};
    if (zip().stat_index(archive_->handle, static_cast<zip_uint64_t>(i), 0, &found) != 0 || found.name == nullptr)
      throw DataError(fmt::format("{}: entry {}: {}", file_, i + 1, zip().strerror(archive_->handle)));
    std::string name = found.name;
    if (name.ends_with(kArrayEnding)) name.resize(name.size() - kArrayEnding.size());
    if (std::find(names_.begin(), names_.end(), name) != names_.end())
      throw DataError(fmt::format("{}: has two arrays called '{}'", file_, name));
    names_.push_back(std::move(name));
  }
}

NpzFile::~NpzFile() = default;

NpzFile::Member NpzFile::member(const std::string& name) const {
  const auto at = std::find(names_.begin(), names_.end(), name);
  if (at == names_.end())
    throw DataError(fmt::format("{}: has no array '{}', but {}", file_, name, fmt::join(names_, ", ")));
  const auto index = static_cast<zip_uint64_t>(at - names_.begin());
  const std::string place = fmt::format("{}/{}", file_, name);
  zip_stat_t found{};
  zip().stat_index(archive_->handle, index, 0, &found);
  constexpr zip_uint64_t kNeeded =
      ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  if ((found.valid & kNeeded) != kNeeded || found.encryption_method != ZIP_EM_NONE ||
      (found.comp_method != ZIP_CM_STORE && found.comp_method != ZIP_CM_DEFLATE))
    throw DataError(place + ": compressed by an unsupported method, expected an array that is stored or deflated");
  // Deflate codes at most 258 bytes in two bits.
  constexpr zip_uint64_t kMostEach = zip_uint64_t{4} * 258;
  if (found.comp_size > archive_->bytes.size() || found.size / kMostEach > found.comp_size)
    throw DataError(
        fmt::format("{}: claims {} bytes, compressed to {}, which is impossible", place, found.size, found.comp_size));

  const std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> open(zip().fopen_index(archive_->handle, index, 0),
                                                               zip().fclose);
  if (!open) throw DataError(fmt::format("{}: {}", place, zip().strerror(archive_->handle)));
  const auto bytes = allocate<std::byte>(found.size);
  zip_uint64_t got = 0;
  // Reading on reaches the end, where libzip compares the checksum.
  for (bool ended = false; !ended;) {
    std::byte beyond{};
    std::byte* const to = got < found.size ? bytes.get() + got : &beyond;
    const zip_int64_t more = zip().fread(open.get(), to, got < found.size ? found.size - got : 1);
    if (more < 0) throw DataError(fmt::format("{}: damaged: {}", place, zip().file_strerror(open.get())));
    got += static_cast<zip_uint64_t>(more);
    ended = more == 0 || got > found.size;
  }
  if (got != found.size)
    throw DataError(fmt::format("{}: does not have the {} bytes that the archive states", place, found.size));
  return {place, Array<std::byte>(bytes, found.size)};
}

namespace {

/// An archive that is written to memory.
class NewArchive {
 public:
  NewArchive() {
    zip_error_t error;
    zip().error_init(&error);
    buffer_ = zip().source_buffer_create(nullptr, 0, 0, &error);
    if (buffer_ != nullptr) handle_ = zip().open_from_source(buffer_, ZIP_TRUNCATE, &error);
    const std::string reason = handle_ == nullptr ? zip().error_strerror(&error) : "";
    zip().error_fini(&error);
    if (handle_ == nullptr) {
      if (buffer_ != nullptr) zip().source_free(buffer_);
      throw DeviceError("an .npz file cannot be made: " + reason);
    }
    zip().source_keep(buffer_);  // beyond close()
  }
  ~NewArchive() {
    if (handle_ != nullptr) zip().discard(handle_);
    zip().source_free(buffer_);
  }
  NewArchive(const NewArchive&) = delete;
  NewArchive& operator=(const NewArchive&) = delete;

  /// `bytes` must live until bytes() is called.
  void add(const std::string& name, std::span<const std::byte> bytes) {
    zip_error_t error;
    zip().error_init(&error);
    zip_source_t* const source = zip().source_buffer_create(bytes.data(), bytes.size(), 0, &error);
    zip().error_fini(&error);
    const zip_int64_t index = source == nullptr ? -1 : zip().file_add(handle_, name.c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
      if (source != nullptr) zip().source_free(source);
      fail();
    }
    const auto entry = static_cast<zip_uint64_t>(index);
    // The timestamp is constant, so that equal arrays give equal files in every time zone: NumPy also writes the
    // format's earliest time.
    constexpr zip_uint16_t kFirstOf1980 = (1 << 5) + 1;  // month and day; years count from 1980
    if (zip().set_file_compression(handle_, entry, ZIP_CM_STORE, 0) != 0 ||
        zip().file_set_dostime(handle_, entry, 0, kFirstOf1980, 0) != 0)
      fail();
  }

  std::vector<std::byte> bytes() {
    if (zip().close(handle_) != 0) fail();
    handle_ = nullptr;
    zip_stat_t size{};
    if (zip().source_stat(buffer_, &size) != 0 || zip().source_open(buffer_) != 0)
      throw DeviceError("an .npz file cannot be made: the written data cannot be read back");
    std::vector<std::byte> all(size.size);
    const zip_int64_t got = zip().source_read(buffer_, all.data(), all.size());
    zip().source_close(buffer_);
    if (got != static_cast<zip_int64_t>(all.size()))
      throw DeviceError("an .npz file cannot be made: the written data end early");
    return all;
  }

 private:
  [[noreturn]] void fail() const {
    throw DeviceError(std::string("an .npz file cannot be made: ") + zip().strerror(handle_));
  }

  zip_source_t* buffer_ = nullptr;
  zip_t* handle_ = nullptr;
};

}  // namespace

std::vector<std::byte> npz_archive(const std::vector<NpzMember>& members) {
  std::vector<std::vector<std::byte>> files;  // as libzip reads them when the archive is closed
  NewArchive archive;
  for (const NpzMember& member : members) {
    const auto header = std::as_bytes(std::span(member.header));
    std::vector<std::byte>& file = files.emplace_back(header.begin(), header.end());
    file.insert(file.end(), member.numbers.begin(), member.numbers.end());
  }
  for (std::size_t i = 0; i < members.size(); ++i) archive.add(members[i].name + std::string(kArrayEnding), files[i]);
  return archive.bytes();
}

void write_npz(AtomicFile& file, const std::vector<NamedTensor>& tensors) {
  std::vector<NpzMember> members;
  members.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors)
    members.push_back({name, npy_header("<f4", tensor.shape), std::as_bytes(tensor.values.span())});
  file.write(npz_archive(members));
}

namespace {

/// The archive and the array's name, if the path names an array in an archive.
std::optional<std::pair<std::filesystem::path, std::string>> in_archive(const std::filesystem::path& path) {
  if (path.extension() == ".npz") return std::pair(path, std::string());
  for (auto folder = path.parent_path(); folder.has_relative_path(); folder = folder.parent_path())
    if (folder.extension() == ".npz" && path_kind(folder) == PathKind::file)
      return std::pair(folder, path.lexically_relative(folder).string());
  return std::nullopt;
}

/// read(file) of the .npy file that the path names.
template <class Read>
auto read_named(const std::filesystem::path& path, Read read) {
  const auto place = in_archive(path);
  if (!place) return read(InputFile(path));
  const auto& [archive, name] = *place;
  const NpzFile npz{InputFile(archive)};
  if (npz.names().empty()) throw DataError(archive.string() + ": holds no arrays");
  if (name.empty() && npz.names().size() != 1)
    throw DataError(fmt::format("{}: has {} arrays ({}), expected {}/NAME", archive.string(), npz.names().size(),
                                fmt::join(npz.names(), ", "), archive.string()));
  const NpzFile::Member member = npz.member(name.empty() ? npz.names().front() : name);
  return read(member.file());
}

}  // namespace

FirstRows read_array_rows(const std::filesystem::path& path, std::optional<Index> most) {
  return read_named(path, [&](const InputFile& file) { return read_npy_rows(file, most); });
}

IntegerTensor read_integer_array(const std::filesystem::path& path) { return read_named(path, read_npy_integers); }

std::unique_ptr<NpzFile> npz_file(const std::filesystem::path& path) {
  return path.extension() == ".npz" ? std::make_unique<NpzFile>(InputFile(path)) : nullptr;
}

bool names_array(const std::filesystem::path& path) { return path.extension() == kArrayEnding || in_archive(path); }

}  // namespace spdnn
