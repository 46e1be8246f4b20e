// Images in text form, read by ranks: each reader parses a part of the file and passes the entries on to the ranks
// whose images they are.

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>

#include "cluster/exchange.hpp"
#include "inference/ranks/move_images.hpp"
#include "inference/ranks/read_on_ranks.hpp"
#include "io/files/claimed_size.hpp"
#include "io/networks/text/image_builder.hpp"
#include "io/networks/text/matrix_market.hpp"
#include "io/networks/text/source.hpp"
#include "io/networks/text/tsv_reader.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"

namespace spdnn {

namespace {

using Group = Communicator::Group;

/// While the number of images is unknown, blocks of images are dealt round robin.
class Blocks {
 public:
  explicit Blocks(int ranks) : ranks_(static_cast<Index>(ranks)) {}

  int owner(Index image) const { return static_cast<int>(image / kImages % ranks_); }
  /// The place of an image among its owner's.
  Index row(Index image) const { return image / kImages / ranks_ * kImages + image % kImages; }
  Owners owners(Index images) const {
    Owners owners(images);
    for (Index image = 0; image < images; ++image) owners[image] = owner(image);
    return owners;
  }

 private:
  static constexpr Index kImages = 32;
  Index ranks_;
};

/// An entry on its way.
struct Entry {
  Index row;
  Index neuron;
  float value;
};

bool all_equal(const float* values, std::size_t count) {
  return count == 0 || std::memcmp(values, values + 1, (count - 1) * sizeof(float)) == 0;
}

/// Sends entries to the ranks that own their images, in rounds of all ranks.
class Distributor {
 public:
  Distributor(Communicator& ranks, Index neurons, std::size_t text_bytes)
      : ranks_(ranks), blocks_(ranks.place().ranks), builder_(neurons, text_bytes) {}

  enum class Next { round, end, failure };
  /// The next step of all ranks: one more round, unless all have reached their ends, or one has failed.
  Next agree(bool at_end, bool failed) {
    if (!ranks_.all(!failed, Group::job)) return Next::failure;
    return ranks_.all(at_end, Group::job) ? Next::end : Next::round;
  }
  void round(std::span<const Entries> mine) {
    std::vector<std::size_t> sizes(static_cast<std::size_t>(ranks_.place().ranks), 0);
    std::vector<Entry> out = sorted(mine, sizes);
    const std::vector<std::size_t> in_sizes = ranks_.exchange_sizes(sizes);
    std::vector<Entry> in(std::reduce(in_sizes.begin(), in_sizes.end()) / sizeof(Entry));
    ranks_.exchange(std::as_bytes(std::span(out)), sizes, std::as_writable_bytes(std::span(in)), in_sizes);
    build(in);
  }
  /// This rank's images, given the total number; empty if one of them has a neuron twice.
  std::optional<ImageSet> finish(Index images) {
    const Owners owners = blocks_.owners(images);
    const auto own = std::count(owners.begin(), owners.end(), ranks_.place().rank);
    ImageSet mine = builder_.finish(static_cast<Index>(own));
    if (!builder_.repeated().empty()) return std::nullopt;
    return mine;
  }
  Owners owners(Index images) const { return blocks_.owners(images); }
  /// One more than the largest id in this rank's part of the text.
  Index largest() const { return largest_; }

 private:
  std::vector<Entry> sorted(std::span<const Entries> mine, std::vector<std::size_t>& sizes) {
    std::vector<std::size_t> at(sizes.size() + 1, 0);
    const auto for_entries = [&](const auto& work) {
      for (const Entries& piece : mine)
        for (std::size_t k = 0; k < piece.count; ++k)
          work(static_cast<std::size_t>(blocks_.owner(piece.first[k])), piece, k);
    };
    for_entries([&](std::size_t owner, const Entries&, std::size_t) { ++at[owner + 1]; });
    for (std::size_t owner = 0; owner < sizes.size(); ++owner) sizes[owner] = at[owner + 1] * sizeof(Entry);
    std::partial_sum(at.begin(), at.end(), at.begin());
    std::vector<Entry> out(at.back());
    for_entries([&](std::size_t owner, const Entries& piece, std::size_t k) {
      out[at[owner]++] = {blocks_.row(piece.first[k]), piece.second[k], piece.values[k]};
      largest_ = std::max(largest_, piece.first[k] + 1);
    });
    return out;
  }
  void build(const std::vector<Entry>& in) {
    if (in.empty()) return;
    received_.reserve(in.size());
    received_.count = received_.given = in.size();
    received_.largest_first = 0;
    for (std::size_t k = 0; k < in.size(); ++k) {
      received_.first[k] = in[k].row;
      received_.second[k] = in[k].neuron;
      received_.values[k] = in[k].value;
      received_.largest_first = std::max(received_.largest_first, in[k].row);
    }
    received_.uniform = all_equal(received_.values.get(), in.size());
    builder_.add({&received_, 1});
  }

  Communicator& ranks_;
  Blocks blocks_;
  ImageBuilder builder_;
  Entries received_;
  Index largest_ = 0;
};

/// A text, or a part of it, and the form of its lines.
struct OpenText {
  TextSource source;
  EntryList list{};
  bool whole;

  OpenText(const std::string& path, TextSource::Part part) : source(path, part), whole(part.of == 1) {}
};

/// Parses this rank's part of the text; false, on all ranks, where one of them has failed.
bool parse(Distributor& to, OpenText* text) {
  using Next = Distributor::Next;
  Next next = Next::round;
  bool failed = false;
  Offset entries = 0;
  try {
    const auto absorb = [&](std::span<const Entries> round) {
      for (const Entries& piece : round) {
        entries += piece.given;
        failed = failed || piece.problem;
      }
      next = to.agree(false, failed);
      if (next == Next::round) to.round(round);
      return next == Next::round;
    };
    if (text != nullptr) {
      read_entries(text->source, text->list.columns, text->list.lines_before, absorb);
      const bool empty = text->whole && text->source.empty();
      failed = failed || empty || entries != text->list.entries.value_or(entries);
    }
  } catch (const DataError&) {
    failed = true;
  }
  while (next == Next::round && (next = to.agree(true, failed)) == Next::round) to.round({});
  return next == Next::end;
}

/// This rank's part of the text, if it is a reader; `images` is set from a header.
std::unique_ptr<OpenText> open_part(Communicator& ranks, const std::string& path, const std::vector<int>& readers,
                                    Index neurons, std::optional<Index>& images) {
  const auto reader = std::find(readers.begin(), readers.end(), ranks.place().rank);
  if (reader == readers.end()) return nullptr;
  const TextSource::Part part{static_cast<std::size_t>(reader - readers.begin()), readers.size()};
  auto text = std::make_unique<OpenText>(path, part);
  if (form_of(path) != Form::matrix_market) return text;
  text->list = list_of_images(text->source, neurons, images);
  images = text->list.columns.first_limit;
  return text;
}

}  // namespace

bool has_one_reader(const std::string& path) { return form_of(path) == Form::matrix_market || path.ends_with(".gz"); }

std::optional<TextImages> read_text_on_ranks(Communicator& ranks, const std::string& path,
                                             const std::vector<int>& readers, Index neurons,
                                             std::optional<Index> images) {
  std::unique_ptr<OpenText> text;
  bool good = true;
  try {
    text = open_part(ranks, path, readers, neurons, images);
  } catch (const DataError&) {
    good = false;
  }
  if (!ranks.all(good, Group::job)) return std::nullopt;
  images = broadcast(ranks, images);
  std::size_t bytes = 0;
  for (const std::size_t part : gather_on_all(ranks, text ? text->source.expected_bytes() : 0)) bytes += part;
  if (text && form_of(path) != Form::matrix_market)
    text->list.columns = {"image", images.value_or(believed_size(bytes)), "neuron", neurons, "value"};
  Distributor to(ranks, neurons, bytes / static_cast<std::size_t>(ranks.place().ranks));
  if (!parse(to, text.get())) return std::nullopt;

  const std::vector<Index> largest = gather_on_all(ranks, to.largest());
  const Index all = images.value_or(*std::max_element(largest.begin(), largest.end()));
  std::optional<ImageSet> mine = to.finish(all);
  if (!ranks.all(mine.has_value(), Group::job)) return std::nullopt;
  const bool cut = !ranks.all(!text || !text->source.ends_within_line(), Group::job);
  mine = in_common_form(ranks, *std::move(mine));
  return TextImages{move_images(ranks, *mine, to.owners(all), dealt_owners(all, ranks.place().ranks)), cut};
}

}  // namespace spdnn
