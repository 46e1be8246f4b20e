#include "io/models/onnx/read/order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <queue>

#include "spdnn/error.hpp"

namespace spdnn::onnx_reader {

namespace {

std::string node_at(const onnx::GraphProto& graph, int node) {
  const onnx::NodeProto& one = graph.node(node);
  return fmt::format("node '{}' ({})", one.name().empty() ? fmt::format("#{}", node + 1) : one.name(), one.op_type());
}

/// Maps each name to the node that makes it.
std::map<std::string, int> makers_of(const onnx::GraphProto& graph, const std::set<std::string>& given,
                                     const std::string& file) {
  std::map<std::string, int> makers;
  for (int node = 0; node < graph.node_size(); ++node) {
    for (const std::string& name : graph.node(node).output()) {
      if (name.empty()) continue;
      if (given.contains(name))
        throw DataError(
            fmt::format("{}: {}: output '{}' is also an input or initializer", file, node_at(graph, node), name));
      const auto [first, fresh] = makers.emplace(name, node);
      if (!fresh)
        throw DataError(fmt::format("{}: {}: output '{}' is also made by {}", file, node_at(graph, node), name,
                                    node_at(graph, first->second)));
    }
  }
  return makers;
}

/// Marks the nodes on which an output depends.
std::vector<bool> needed(const onnx::GraphProto& graph, const std::map<std::string, int>& makers) {
  std::vector<bool> marks(static_cast<std::size_t>(graph.node_size()));
  std::vector<int> open;
  const auto mark = [&](const std::string& name) {
    const auto maker = makers.find(name);
    if (maker == makers.end() || marks[static_cast<std::size_t>(maker->second)]) return;
    marks[static_cast<std::size_t>(maker->second)] = true;
    open.push_back(maker->second);
  };
  for (const onnx::ValueInfoProto& output : graph.output()) mark(output.name());
  while (!open.empty()) {
    const int node = open.back();
    open.pop_back();
    for (const std::string& name : graph.node(node).input()) mark(name);
  }
  return marks;
}

}  // namespace

std::vector<int> order_of_nodes(const onnx::GraphProto& graph, const std::set<std::string>& given,
                                const std::string& file) {
  const std::map<std::string, int> makers = makers_of(graph, given, file);
  const auto count = static_cast<std::size_t>(graph.node_size());
  std::vector<std::vector<int>> readers(count);
  std::vector<int> waits(count);
  for (int node = 0; node < graph.node_size(); ++node) {
    for (const std::string& name : graph.node(node).input()) {
      if (name.empty() || given.contains(name)) continue;
      const auto maker = makers.find(name);
      if (maker == makers.end())
        throw DataError(fmt::format("{}: {}: input '{}' is neither made by a node nor an input or initializer", file,
                                    node_at(graph, node), name));
      readers[static_cast<std::size_t>(maker->second)].push_back(node);
      ++waits[static_cast<std::size_t>(node)];
    }
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int node = 0; node < graph.node_size(); ++node)
    if (waits[static_cast<std::size_t>(node)] == 0) ready.push(node);
  std::vector<int> order;
  while (!ready.empty()) {
    const int node = ready.top();
    ready.pop();
    order.push_back(node);
    for (const int reader : readers[static_cast<std::size_t>(node)])
      if (--waits[static_cast<std::size_t>(reader)] == 0) ready.push(reader);
  }
  if (order.size() < count) {
    const auto stuck = std::find_if(waits.begin(), waits.end(), [](int left) { return left > 0; });
    throw DataError(fmt::format("{}: {}: it depends on its own output: the graph has a cycle", file,
                                node_at(graph, static_cast<int>(stuck - waits.begin()))));
  }
  const std::vector<bool> marks = needed(graph, makers);
  std::erase_if(order, [&](int node) { return !marks[static_cast<std::size_t>(node)]; });
  return order;
}

}  // namespace spdnn::onnx_reader
