#pragma once

#include <set>
#include <string>
#include <vector>

#include "io/import/onnx/proto.hpp"

namespace spdnn::onnx_reader {

/// The nodes of a graph, each after those whose outputs it reads, and otherwise as they stand in the file; without
/// those on which no output of the graph depends. `given` are the names that no node makes: inputs and initializers.
/// DataError, beginning with `file`, where a name is made twice or by nobody, or where nodes wait for one another.
std::vector<int> order_of_nodes(const onnx::GraphProto& graph, const std::set<std::string>& given,
                                const std::string& file);

}  // namespace spdnn::onnx_reader
