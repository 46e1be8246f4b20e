#include "io/networks/text/tsv_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include "io/files/claimed_size.hpp"
#include "io/networks/text/csr_builder.hpp"
#include "io/networks/text/image_builder.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

/// Reads the list into a builder; `finish` builds the result. A line that repeats an entry is reported before a bad
/// line further down, where reading stopped.
template <class Builder, class Finish>
auto read_into(Builder& builder, TextSource& source, const EntryList& list, const Finish& finish) {
  Offset entries = 0;
  const auto problem = read_entries(source, list.columns, list.lines_before, [&](std::span<const Entries> round) {
    for (const Entries& piece : round) entries += piece.given;
    if constexpr (std::is_same_v<decltype(builder.add(round)), bool>) return builder.add(round);
    builder.add(round);
    return true;
  });
  auto result = finish();
  if (!builder.repeated().empty()) throw_repeated(source, list.columns, list.lines_before, builder.repeated());
  if (problem) throw *problem;
  if (list.entries && *list.entries != entries)
    throw DataError(fmt::format("{}:{}:1: the header states {} entries, but the file has {}", source.name(),
                                list.lines_before, *list.entries, entries));
  return result;
}

}  // namespace

CsrMatrix read_layer_entries(TextSource& source, const EntryList& list) {
  CsrBuilder builder(CsrBuilder::Row::second);
  return read_into(builder, source, list,
                   [&] { return builder.finish(list.columns.second_limit, list.columns.first_limit); });
}

ImageSet read_image_entries(TextSource& source, const EntryList& list, std::optional<Index> images) {
  ImageBuilder builder(list.columns.second_limit, source.expected_bytes());
  return read_into(builder, source, list, [&] { return builder.finish(images); });
}

CsrMatrix read_tsv_layer(TextSource& source, Index inputs, Index outputs) {
  return read_layer_entries(source, {.columns = {"input", inputs, "output", outputs, "weight"}});
}

ImageSet read_tsv_images(TextSource& source, Index neurons, std::optional<Index> images) {
  EntryColumns columns{"image", images.value_or(0), "neuron", neurons, "value"};
  if (!images) {
    columns.first_limit = believed_size(source.expected_bytes());
    columns.first_reason = claimed_size_reason(source.expected_bytes());
  }
  ImageSet set = read_image_entries(source, {.columns = columns}, images);
  // An empty file, which a failed copy leaves behind, must not pass for images.
  if (!images && source.empty())
    throw DataError(source.name() + ": the file is empty, expected lines of text, or an explicit number of images");
  return set;
}

std::optional<Index> neurons_in_name(const std::filesystem::path& path) {
  constexpr std::string_view kPrefix = "sparse-images-";
  const std::string name = path.filename().string();
  if (!name.starts_with(kPrefix)) return {};
  Index neurons = 0;
  const char* const begin = name.data() + kPrefix.size();
  const auto [end, error] = std::from_chars(begin, name.data() + name.size(), neurons);
  if (error != std::errc{} || *end != '.' || neurons == 0 || neurons > kMaxIndex) return {};
  return neurons;
}

Bias read_tsv_bias(TextSource& source, Index outputs) {
  std::vector<double> values(outputs);
  std::vector<bool> given(outputs);
  for_each_line(source, 0, [&](std::string_view line, std::size_t) {
    LineFields fields(line, "neuron, bias");
    if (fields.at_end()) return;
    const Index neuron = fields.next_id("neuron", outputs);
    const auto value = fields.next_real<double>("bias");
    fields.finish();
    if (given[neuron]) throw LineProblem{1, fmt::format("neuron {} is given twice, expected once", neuron + 1)};
    given[neuron] = true;
    values[neuron] = value;
  });
  const auto missing = std::find(given.begin(), given.end(), false);
  if (missing != given.end())
    throw DataError(fmt::format("{}: neuron {} is missing, expected a line for each of 1..{}", source.name(),
                                missing - given.begin() + 1, outputs));
  Bias bias;
  if (std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end())
    bias.uniform = values.front();
  else
    bias.values = Array<double>(std::move(values));
  return bias;
}

Categories read_tsv_categories(TextSource& source) {
  std::vector<std::pair<Index, std::size_t>> found;  // id, line
  for_each_line(source, 0, [&](std::string_view line, std::size_t number) {
    LineFields fields(line, "one image per line");
    if (fields.at_end()) return;
    found.emplace_back(fields.next_id("image", kMaxIndex), number);
    fields.finish();
  });
  std::sort(found.begin(), found.end());
  std::optional<std::pair<std::size_t, Index>> repeated;  // line, id
  for (std::size_t i = 1; i < found.size(); ++i) {
    if (found[i].first != found[i - 1].first) continue;
    const std::pair candidate{found[i].second, found[i].first};
    repeated = repeated ? std::min(*repeated, candidate) : candidate;
  }
  if (repeated)
    throw located(source.name(), repeated->first,
                  {1, fmt::format("image {} is given twice, expected once", repeated->second + 1)});
  Categories categories;
  categories.reserve(found.size());
  for (const auto& [id, line] : found) categories.push_back(id);
  return categories;
}

}  // namespace spdnn
