#include "inference/ranks/move_images.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "cluster/exchange.hpp"
#include "cluster/fields.hpp"
#include "cluster/partition.hpp"

namespace spdnn {

/// The form of the images that are moved, the same for all of them.
struct MovedForm {
  Index images = 0;  ///< that a rank has
  Index neurons = 0;
  bool bits = true;
  bool uniform = true;  ///< all entries have `value`
  float value = 1;
  std::size_t bytes = 0;
};

void fields(auto& archive, MaybeConst<MovedForm> auto& form) {
  archive(form.images, form.neurons, form.bits, form.uniform, form.value, form.bytes);
}

namespace {

MovedForm moved_form_of(const ImageSet& images) {
  MovedForm form{images.images(), images.neurons(), images.is_bits(), true, 1, images.bytes()};
  if (form.bits) return form;
  form.uniform = images.sparse().uniform();
  form.value = images.sparse().value;
  return form;
}

/// The form that holds the images of all ranks.
MovedForm common_form(Communicator& ranks, const ImageSet& mine) {
  MovedForm all;
  for (const MovedForm& one : gather_on_all(ranks, moved_form_of(mine))) {
    all.neurons = std::max(all.neurons, one.neurons);
    if (one.images == 0) continue;
    const bool first = all.images == 0;
    all.bits = all.bits && one.bits;
    all.uniform = all.uniform && one.uniform && (first || all.value == one.value);
    all.value = one.value;
    all.images += one.images;
    all.bytes = std::max(all.bytes, one.bytes);
  }
  return all;
}

/// Images one after another, each as a record: its words; or the number of its entries, their columns, and their values
/// unless all are the same.
class Records {
 public:
  Records(const MovedForm& form, const ImageSet& images) : form_(form), images_(images) {
    if (!form_.bits && images_.is_bits()) images_ = {images_.to_csr()};
  }

  std::size_t bytes(Index row) const {
    if (form_.bits) return images_.bits().words_per_row() * sizeof(std::uint64_t);
    return sizeof(Index) + images_.sparse().degree(row) * (sizeof(Index) + (form_.uniform ? 0 : sizeof(float)));
  }
  std::byte* write(Index row, std::byte* to) const {
    if (form_.bits) return put(to, images_.bits().row(row), bytes(row));
    const CsrMatrix& rows = images_.sparse();
    const auto degree = static_cast<Index>(rows.degree(row));
    to = put(to, &degree, sizeof degree);
    to = put(to, rows.row(row).data(), degree * sizeof(Index));
    if (form_.uniform) return to;
    for (Offset k = rows.offsets[row]; k < rows.offsets[std::size_t{row} + 1]; ++k) {
      const float value = rows.entry_value(k);
      to = put(to, &value, sizeof value);
    }
    return to;
  }

 private:
  static std::byte* put(std::byte* to, const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
    return to + bytes;
  }

  const MovedForm& form_;
  ImageSet images_;
};

/// Makes images of records.
class Collected {
 public:
  Collected(const MovedForm& form, Index images) : form_(form), images_(images) {
    if (form_.bits) words_ = allocate<std::uint64_t>(images * width());
  }

  /// Reads the next image; returns the end of its record.
  const std::byte* take(const std::byte* record) {
    if (form_.bits) {
      std::memcpy(words_.get() + taken_++ * width(), record, width() * sizeof(std::uint64_t));
      return record + width() * sizeof(std::uint64_t);
    }
    Index degree = 0;
    record = append(record, 1, &degree);
    const std::size_t entries = columns_.size();
    columns_.resize(entries + degree);
    record = append(record, degree, columns_.data() + entries);
    offsets_.push_back(columns_.size());
    if (form_.uniform) return record;
    values_.resize(entries + degree);
    return append(record, degree, values_.data() + entries);
  }
  ImageSet images() && {
    if (form_.bits) {
      BitMatrix bits{.rows = images_, .cols = form_.neurons, .words = Array<std::uint64_t>(words_, images_ * width())};
      return {bits};
    }
    CsrMatrix rows = make_csr(images_, form_.neurons, std::move(offsets_), std::move(columns_), std::move(values_));
    if (form_.uniform) rows.value = form_.value;
    return {rows};
  }

 private:
  std::size_t width() const { return (std::size_t{form_.neurons} + 63) / 64; }
  template <class T>
  static const std::byte* append(const std::byte* from, std::size_t count, T* to) {
    if (count > 0) std::memcpy(to, from, count * sizeof(T));
    return from + count * sizeof(T);
  }

  const MovedForm& form_;
  Index images_;
  std::size_t taken_ = 0;
  std::shared_ptr<std::uint64_t[]> words_;
  std::vector<Offset> offsets_{0};
  std::vector<Index> columns_;
  std::vector<float> values_;
};

/// The offset of each rank's bytes.
std::vector<std::size_t> begins_of(const std::vector<std::size_t>& sizes) {
  std::vector<std::size_t> begins(sizes.size(), 0);
  std::partial_sum(sizes.begin(), sizes.end() - 1, begins.begin() + 1);
  return begins;
}

/// Bytes for each rank, or from each, in the order of the ranks.
struct Bytes {
  explicit Bytes(std::vector<std::size_t> by_rank)
      : sizes(std::move(by_rank)),
        size(std::reduce(sizes.begin(), sizes.end())),
        memory(allocate_bytes(size)),
        at(begins_of(sizes)) {}

  std::span<std::byte> all() const { return {memory.get(), size}; }
  /// The offset of a rank's next record. `use` returns its end.
  void next(int rank, const auto& use) {
    std::size_t& begin = at[static_cast<std::size_t>(rank)];
    begin = static_cast<std::size_t>(use(memory.get() + begin) - memory.get());
  }

  std::vector<std::size_t> sizes;
  std::size_t size;
  std::shared_ptr<std::byte> memory;
  std::vector<std::size_t> at;
};

/// Moves the images of some ids at a time, in the order of the ids.
class Mover {
 public:
  Mover(Communicator& ranks, const Owners& before, const Owners& after, const Records& mine, Collected& to)
      : ranks_(ranks), before_(before), after_(after), mine_(mine), to_(to) {}

  void move(Index first, Index end) {
    Bytes out = packed(first, end);
    Bytes in(ranks_.exchange_sizes(out.sizes));
    ranks_.exchange(out.all(), out.sizes, in.all(), in.sizes);
    for (Index id = first; id < end; ++id)
      if (after_[id] == ranks_.place().rank)
        in.next(before_[id], [&](const std::byte* record) { return to_.take(record); });
  }

 private:
  Bytes packed(Index first, Index end) {
    std::vector<std::size_t> sizes(static_cast<std::size_t>(ranks_.place().ranks), 0);
    const auto for_mine = [&](const auto& work) {
      Index row = row_;
      for (Index id = first; id < end; ++id) {
        if (before_[id] != ranks_.place().rank) continue;
        if (after_[id] != kNobody) work(after_[id], row);
        ++row;
      }
      return row;
    };
    for_mine([&](int to, Index row) { sizes[static_cast<std::size_t>(to)] += mine_.bytes(row); });
    Bytes out(std::move(sizes));
    row_ =
        for_mine([&](int to, Index row) { out.next(to, [&](std::byte* record) { return mine_.write(row, record); }); });
    return out;
  }

  Communicator& ranks_;
  const Owners& before_;
  const Owners& after_;
  const Records& mine_;
  Collected& to_;
  Index row_ = 0;  ///< of this rank's images: the next
};

/// Bytes of images of zeros and ones in either form.
struct FormSizes {
  std::size_t bits = 0;
  std::size_t rows = 0;
  bool binary = true;
};

}  // namespace

void fields(auto& archive, MaybeConst<FormSizes> auto& sizes) { archive(sizes.bits, sizes.rows, sizes.binary); }

Owners owned_by_root(Index images) { return Owners(images, 0); }

Owners dealt_owners(Index images, int ranks) {
  Owners owners(images);
  for (int rank = 0; rank < ranks; ++rank)
    for (const Index id : images_dealt_to(images, rank, ranks)) owners[id] = rank;
  return owners;
}

std::vector<Index> ids_of(const Owners& owners, int rank) {
  std::vector<Index> ids;
  for (std::size_t id = 0; id < owners.size(); ++id)
    if (owners[id] == rank) ids.push_back(static_cast<Index>(id));
  return ids;
}

ImageSet move_images(Communicator& ranks, const ImageSet& mine, const Owners& before, const Owners& after,
                     std::size_t on_the_way) {
  if (before == after) return mine;
  const MovedForm form = common_form(ranks, mine);
  const auto wanted = static_cast<Index>(std::count(after.begin(), after.end(), ranks.place().rank));
  const Records records(form, mine);
  Collected collected(form, wanted);
  // As many rounds as keep each one of the rank with the most bytes small, if these are spread evenly.
  const std::size_t images = after.size();
  const std::size_t rounds = std::clamp<std::size_t>(form.bytes / on_the_way + 1, 1, std::max<std::size_t>(1, images));
  Mover mover(ranks, before, after, records, collected);
  for (std::size_t round = 0; round < rounds; ++round)
    mover.move(static_cast<Index>(images * round / rounds), static_cast<Index>(images * (round + 1) / rounds));
  return std::move(collected).images();
}

ImageSet in_common_form(Communicator& ranks, ImageSet mine) {
  const std::size_t bits = (std::size_t{mine.neurons()} + 63) / 64 * sizeof(std::uint64_t) * mine.images();
  const std::size_t rows = mine.nonzeros() * sizeof(Index) + mine.images() * sizeof(Offset);
  FormSizes all;
  for (const FormSizes& one : gather_on_all(ranks, FormSizes{bits, rows, mine.binary()})) {
    all.bits += one.bits;
    all.rows += one.rows;
    all.binary = all.binary && one.binary;
  }
  const bool as_bits = all.binary && all.bits < all.rows + sizeof(Offset);
  if (as_bits != mine.is_bits()) return as_bits ? ImageSet{mine.to_bits()} : ImageSet{mine.to_csr()};
  return mine;
}

}  // namespace spdnn
