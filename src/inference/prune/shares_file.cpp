#include "inference/prune/shares_file.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string>
#include <string_view>

#include "core/text/message.hpp"
#include "io/files/input_file.hpp"
#include "io/networks/text/notes.hpp"
#include "model/graph/node_text.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

template <class Number>
std::optional<Number> whole_text_as(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// A line of the file; its methods throw errors that name it.
class ShareLine {
 public:
  ShareLine(std::string place, std::string_view line) : place_(std::move(place)), line_(line) {}

  [[noreturn]] void fail(const std::string& problem) const { throw DataError(place_ + ": " + problem); }

  std::size_t node(const Model& model) const {
    const std::string_view name = line_.substr(0, blank());
    std::optional<std::size_t> found;
    for (std::size_t n = 0; n < model.nodes.size(); ++n) {
      if (model.nodes[n].name != name) continue;
      if (found)
        fail(fmt::format("the nodes {} and {} are named '{}'; give a number", *found + 1, n + 1, escaped(name)));
      found = n;
    }
    if (const auto number = whole_text_as<std::size_t>(name); !found && number) {
      if (*number < 1 || *number > model.nodes.size())
        fail(fmt::format("node {} is outside 1..{}", *number, model.nodes.size()));
      found = *number - 1;
    }
    if (!found) fail(fmt::format("there is no node '{}'", escaped(name)));
    if (weights_or_null(model.nodes[*found].operation) == nullptr) fail(node_text(model, *found) + " has no weights");
    return *found;
  }

  double share() const {
    const std::string_view text = line_.substr(blank() + 1);
    const auto share = whole_text_as<double>(text);
    if (!share || !(*share >= 0 && *share < 1))
      fail(fmt::format("'{}' is not a share of zeros in [0, 1)", escaped(text)));
    return *share;
  }

 private:
  std::size_t blank() const {
    const std::size_t at = line_.find_last_of(" \t");
    if (at == std::string_view::npos || at == 0) fail("expected a node, a blank and a share of zeros in [0, 1)");
    return at;
  }

  std::string place_;
  std::string_view line_;
};

}  // namespace

Shares read_shares(const std::filesystem::path& path, const Model& model) {
  const std::string text = text_of_file(path);
  Shares shares(model.nodes.size());
  std::size_t number = 0;
  bool any = false;
  for (const std::string_view all : lines_of(text)) {
    ++number;
    const std::size_t end = all.find_last_not_of(" \t\r");
    if (end == std::string_view::npos || all.front() == '#') continue;
    const ShareLine line(fmt::format("{}:{}", path.string(), number), all.substr(0, end + 1));
    const std::size_t node = line.node(model);
    if (shares[node]) line.fail(node_text(model, node) + " occurs twice");
    shares[node] = line.share();
    any = true;
  }
  if (!any) throw DataError(path.string() + ": no node, expected a line for each that is to be pruned");
  return shares;
}

}  // namespace spdnn
