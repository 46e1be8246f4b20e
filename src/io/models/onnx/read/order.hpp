#pragma once

#include <set>
#include <string>
#include <vector>

#include "io/models/onnx/proto.hpp"

namespace spdnn::onnx_reader {

/// The nodes of a graph in topological order, otherwise in file order, without those on which no output depends.
/// `given` are the names not made by nodes: inputs and initializers. A DataError, beginning with `file`, reports a name
/// that is made twice or never, or a cycle.
std::vector<int> order_of_nodes(const onnx::GraphProto& graph, const std::set<std::string>& given,
                                const std::string& file);

}  // namespace spdnn::onnx_reader
