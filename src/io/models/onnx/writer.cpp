#include "io/models/onnx/writer.hpp"

#include <algorithm>
#include <exception>
#include <span>

#include "core/system/build_info.hpp"
#include "io/files/atomic_file.hpp"
#include "io/models/onnx/write/graph.hpp"

namespace spdnn {

namespace {

/// Protobuf's output stream onto the file. Exceptions must not pass through protobuf, so they are stored.
class FileStream final : public google::protobuf::io::CopyingOutputStream {
 public:
  explicit FileStream(AtomicFile& file) : file_(file) {}

  bool Write(const void* bytes, int size) override {
    if (failure_) return false;
    try {
      file_.write(std::span(static_cast<const std::byte*>(bytes), static_cast<std::size_t>(size)));
      return true;
    } catch (...) {
      failure_ = std::current_exception();
      return false;
    }
  }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  AtomicFile& file_;
  std::exception_ptr failure_;
};

void write_as(const std::filesystem::path& path, const Model& model, bool sparse) {
  constexpr int kPiece = 1 << 20U;
  constexpr std::int64_t kIr = 8;
  constexpr std::int64_t kIrOfSet19 = 9;
  onnx::ModelProto proto;
  onnx_writer::GraphWriter graph(model, path.string(), *proto.mutable_graph(), sparse);
  graph.write();
  proto.set_ir_version(graph.opset() < 19 ? kIr : kIrOfSet19);
  proto.set_producer_name("spdnn");
  proto.set_producer_version(build_info().version);
  onnx::OperatorSetIdProto& set = *proto.add_opset_import();
  set.set_domain("");
  set.set_version(graph.opset());
  graph.require_room(proto.ByteSizeLong());

  AtomicFile file(path);
  FileStream stream(file);
  bool written = false;
  {
    google::protobuf::io::CopyingOutputStreamAdaptor adaptor(&stream, kPiece);
    written = proto.SerializeToZeroCopyStream(&adaptor) && adaptor.Flush();
  }
  stream.rethrow();
  if (!written) graph.fail("protobuf cannot write it");
  file.commit();
}

}  // namespace

void write_onnx(const std::filesystem::path& path, const Model& model) { write_as(path, model, false); }
void write_sparse_onnx(const std::filesystem::path& path, const Model& model) { write_as(path, model, true); }

OnnxBytes onnx_bytes(const Model& model) {
  OnnxBytes bytes;
  for (const Node& node : model.nodes) {
    const Weights* const weights = weights_or_null(node.operation);
    if (weights == nullptr) continue;
    const bool whole = onnx_writer::are_whole(*weights);
    const std::size_t dense = onnx_writer::dense_bytes(*weights) / (whole ? sizeof(float) : 1);
    bytes.dense += dense;
    bytes.sparse += whole ? dense : std::min(dense, onnx_writer::sparse_bytes(*weights));
  }
  return bytes;
}

}  // namespace spdnn
