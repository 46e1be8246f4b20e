#include "io/networks/directory/layer_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "core/text/lower_case.hpp"
#include "io/files/path_kind.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

/// Removes `prefix` and a number from the front of the text.
std::optional<Index> take_number(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return {};
  text.remove_prefix(prefix.size());
  Index number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number > kMaxIndex) return {};
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// Parses the numbers at the beginning of a layer or bias file name.
std::optional<LayerName> take_beginning(std::string_view& text) {
  const auto neurons = take_number(text, "n");
  const auto layer = neurons ? take_number(text, "-l") : neurons;
  if (!layer || *neurons == 0) return {};
  return LayerName{*neurons, *layer, false};
}

/// The numbers in the name of a bias file in an unsupported format, such as n64-l1-bias.mtx. Names that continue after
/// .tsv, such as n64-l1-bias.tsv.orig, do not count: they are backup copies.
std::optional<LayerName> bias_in_unknown_form(const std::string& name) {
  std::string_view rest = name;
  const auto begin = take_beginning(rest);
  if (!rest.starts_with("-bias.") || rest.starts_with("-bias.tsv")) return {};
  return begin;
}

void add_layer(LayerFiles& files, const LayerName& name, const Path& path) {
  if (name.layer == 0) throw DataError(path.string() + ": layer number 0, expected 1 or more");
  const auto [place, fresh] = (name.bias ? files.biases : files.weights).emplace(name.layer, path);
  if (!fresh) {
    const auto [first, second] = std::minmax(place->second, path);
    throw DataError(fmt::format("{}: the same layer as {}, expected one file per layer", second.string(),
                                first.filename().string()));
  }
}

LayerFiles find_beside(const Path& file, std::optional<Index> neurons) {
  LayerFiles files;
  const auto name = parse_layer_name(file.filename().string());
  if (name && name->bias) throw DataError(file.string() + ": holds biases, expected a layer");
  if (!name && !neurons)
    throw DataError(file.string() +
                    ": the name lacks the number of neurons, expected n<neurons>-l<layer>.tsv, or an explicit number");
  files.neurons = name ? name->neurons : *neurons;
  files.weights.emplace(1, file);
  if (!name) return files;
  for (const char* const ending : {".tsv", ".tsv.gz"}) {
    const Path bias = file.parent_path() / layer_name({name->neurons, name->layer, true}, ending);
    if (path_kind(bias) != PathKind::missing) add_layer(files, {name->neurons, 1, true}, bias);
  }
  return files;
}

}  // namespace

std::optional<LayerName> parse_layer_name(const std::string& name) {
  std::string_view rest = name;
  const auto begin = take_beginning(rest);
  if (!begin) return {};
  constexpr std::array<std::string_view, 4> kEndings{".tsv", ".tsv.gz", ".mtx", ".mtx.gz"};
  for (const std::string_view ending : kEndings)
    if (rest == ending) return begin;
  if (rest == "-bias.tsv" || rest == "-bias.tsv.gz") return LayerName{begin->neurons, begin->layer, true};
  return {};
}

std::optional<LayerName> parse_layer_name_in_any_case(const std::string& name) {
  return parse_layer_name(lower_case(name));
}

std::string layer_name(const LayerName& name, const std::string& ending) {
  return fmt::format("n{}-l{}{}{}", name.neurons, name.layer, name.bias ? "-bias" : "", ending);
}

LayerFiles find_layer_files(const Path& path, std::optional<Index> neurons) {
  if (path_kind(path) != PathKind::directory) return find_beside(path, neurons);
  std::map<Index, LayerFiles> found;  // by number of neurons
  for (const Path& file : list_directory(path)) {
    const std::string text = file.filename().string();
    if (const auto name = parse_layer_name(text)) {
      found[name->neurons].neurons = name->neurons;
      add_layer(found[name->neurons], *name, file);
    } else if (parse_layer_name_in_any_case(text)) {
      throw DataError(fmt::format("{}: a layer under a name that is not in lower case, expected {}", file.string(),
                                  lower_case(text)));
    } else if (const auto bias = bias_in_unknown_form(lower_case(text))) {
      found[bias->neurons].unreadable_biases.emplace(bias->layer, file);
    }
  }
  std::erase_if(found, [](const auto& one) { return one.second.weights.empty(); });
  if (found.empty())
    throw DataError(path.string() + ": no layers, expected files n<neurons>-l<layer>.tsv, .tsv.gz or .mtx");
  if (neurons) {
    if (found.count(*neurons) != 0) return found[*neurons];
    throw DataError(
        fmt::format("{}: the layers are for {} neurons, expected {}", path.string(), found.begin()->first, *neurons));
  }
  if (found.size() > 1)
    throw DataError(
        fmt::format("{}: holds layers for {} and for {} neurons, expected one network, or an explicit number",
                    path.string(), found.begin()->first, std::next(found.begin())->first));
  return found.begin()->second;
}

}  // namespace spdnn
