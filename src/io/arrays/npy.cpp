#include "io/arrays/npy.hpp"

#include <fmt/format.h>

#include <span>
#include <vector>

#include "io/arrays/npy_header.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

/// Converts numbers from column-major to row-major order: walks the output in order and tracks the input index.
template <class T>
Array<T> by_rows(const Shape& shape, const Array<T>& by_columns) {
  std::vector<std::size_t> strides(shape.size(), 1);
  for (std::size_t axis = 1; axis < shape.size(); ++axis)
    strides[axis] = strides[axis - 1] * static_cast<std::size_t>(shape[axis - 1]);
  const auto values = allocate<T>(by_columns.size());
  std::vector<Extent> at(shape.size(), 0);
  std::size_t from = 0;
  for (std::size_t to = 0; to < by_columns.size(); ++to) {
    values[static_cast<std::ptrdiff_t>(to)] = by_columns[from];
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      from += strides[axis];
      if (++at[axis] < shape[axis]) break;
      from -= strides[axis] * static_cast<std::size_t>(shape[axis]);
      at[axis] = 0;
    }
  }
  return {values, by_columns.size()};
}

template <class Result, class T>
Result in_order(const InputFile& file, const NpyHeader& header, const Array<T>& values) {
  file.check_unchanged();
  return {header.shape, header.by_columns && header.shape.size() > 1 ? by_rows(header.shape, values) : values};
}

template <class Stored>
void write(AtomicFile& file, const std::string& type, const Stored& tensor) {
  file.write(npy_header(type, tensor.shape));
  file.write(std::as_bytes(tensor.values.span()));
}

template <class Stored>
void write_whole(const std::filesystem::path& path, const Stored& tensor) {
  AtomicFile file(path);
  write_npy(file, tensor);
  file.commit();
}

}  // namespace

FirstRows read_npy_rows(const InputFile& file, std::optional<Index> most) {
  NpyHeader header = read_npy_header(file);
  const Extent available = header.shape.empty() ? 0 : header.shape[0];
  const bool by_rows_in_file = !header.by_columns || header.shape.size() == 1;
  if (most && by_rows_in_file && available > Extent{*most}) {
    header.numbers.count = header.numbers.count / static_cast<std::size_t>(available) * *most;
    header.shape[0] = Extent{*most};
  }
  return {in_order<Tensor>(file, header, read_floats(file, header.numbers)), available, header.numbers.type};
}

IntegerTensor read_npy_integers(const InputFile& file) {
  const NpyHeader header = read_npy_header(file);
  if (!is_whole(header.numbers.type))
    throw DataError(
        fmt::format("{}: numbers of type {}, expected integers", file.name(), name_of(header.numbers.type)));
  return in_order<IntegerTensor>(file, header, read_integers(file, header.numbers));
}

void write_npy(AtomicFile& file, const Tensor& tensor) { write(file, "<f4", tensor); }

void write_npy(AtomicFile& file, const IntegerTensor& tensor) { write(file, "<i8", tensor); }

void write_npy(const std::filesystem::path& path, const Tensor& tensor) { write_whole(path, tensor); }

void write_npy(const std::filesystem::path& path, const IntegerTensor& tensor) { write_whole(path, tensor); }

}  // namespace spdnn
