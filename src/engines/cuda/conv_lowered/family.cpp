// The family conv_lowered: convolutions as products of their sparse filters and the unfolded input, by cuSPARSE, to
// compare others with. It works on images32: a product's columns are the pixels of 32 images, and its result lies as
// the output does.

#include "program/family.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "engines/cuda/conv_lowered/unfold.hpp"
#include "engines/cuda/runtime/buffer.hpp"
#include "engines/cuda/runtime/handle.hpp"
#include "engines/cuda/runtime/timing.hpp"
#include "model/operations/geometry.hpp"
#include "program/operation_kernel.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

SPDNN_DECLARE_KERNELS(conv_lowered)

namespace cuda {

namespace {

using program::kImages32;
using program::Offer;
using program::Operands;
using program::Request;

constexpr std::array kAlgorithms{CUSPARSE_SPMM_CSR_ALG1, CUSPARSE_SPMM_CSR_ALG2, CUSPARSE_SPMM_CSR_ALG3};

/// On an H200 with CUDA 13.0 products of 1,605,632 columns were wrong, without an error, and those of 401,408 right.
constexpr std::size_t kMostColumns = std::size_t{1} << 19U;

struct LoweredShape {
  Unfolding unfolding;  ///< of a group
  Index groups = 1;
  Index filters = 0;  ///< of a group
  Index blocks = 0;   ///< of 32 images

  std::size_t in_group() const { return std::size_t{unfolding.channels} * unfolding.in[0] * unfolding.in[1] * 32; }
  std::size_t out_group() const { return filters * unfolding.columns(); }
  std::size_t matrix_bytes() const {
    return unfolding.is_identity() ? 0 : unfolding.rows() * unfolding.columns() * sizeof(float);
  }
};

LoweredShape lowered_shape(const Request& request, const Convolution& convolution) {
  const ImageExtents in = image_extents(request.inputs[0].shape);
  const ImageExtents out = image_extents(request.output_shape());
  LoweredShape shape;
  shape.groups = convolution.groups;
  shape.filters = static_cast<Index>(out.channels) / convolution.groups;
  shape.blocks = static_cast<Index>((in.images + program::kImagesTogether - 1) / program::kImagesTogether);
  shape.unfolding.channels = static_cast<Index>(in.channels) / convolution.groups;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    shape.unfolding.in[axis] = static_cast<Index>(in.spatial(axis));
    shape.unfolding.out[axis] = static_cast<Index>(out.spatial(axis));
    shape.unfolding.kernel[axis] = convolution.window.kernel[axis];
    shape.unfolding.stride[axis] = convolution.window.stride[axis];
    shape.unfolding.dilation[axis] = convolution.window.dilation[axis];
    shape.unfolding.pad[axis] = convolution.window.pad_begin[axis];
  }
  return shape;
}

/// The filters in device memory: for each group row offsets from 0, then columns and values of all groups.
struct PackedFilters {
  explicit PackedFilters(const Convolution& convolution)
      : rows(convolution.weights.rows() / convolution.groups),
        columns((std::size_t{rows} + 1) * convolution.groups * sizeof(Index)),
        values(columns + convolution.weights.csr().entries() * sizeof(Index)),
        bytes(values + convolution.weights.csr().entries() * sizeof(float)) {}

  void pack(const Convolution& convolution, std::byte* to) const {
    const CsrMatrix& weights = convolution.weights.csr();
    auto* const offsets = reinterpret_cast<Index*>(to);
    auto* const indices = reinterpret_cast<Index*>(to + columns);
    auto* const numbers = reinterpret_cast<float*>(to + values);
    for (Index group = 0; group < convolution.groups; ++group)
      for (Index row = 0; row <= rows; ++row)
        offsets[group * (rows + 1) + row] = static_cast<Index>(weights.offsets[std::size_t{group} * rows + row] -
                                                               weights.offsets[std::size_t{group} * rows]);
    for (std::size_t at = 0; at < weights.entries(); ++at) {
      indices[at] = weights.indices[at];
      numbers[at] = weights.entry_value(at);
    }
  }

  Index rows;           ///< of a group
  std::size_t columns;  ///< where they begin, in bytes
  std::size_t values;   ///< likewise
  std::size_t bytes;
};

/// The products of one convolution.
class LoweredProducts {
 public:
  LoweredProducts(const LoweredShape& shape, const Convolution& convolution) : shape_(shape), packed_(convolution) {
    check(cusparseCreate(context_.out()));
    for (Index group = 0; group <= convolution.groups; ++group)
      begins_.push_back(convolution.weights.csr().offsets[std::size_t{group} * packed_.rows]);
  }

  /// Bytes of cuSPARSE's own memory; empty if it does not support the algorithm.
  std::optional<std::size_t> workspace(cusparseSpMMAlg_t algorithm, std::byte* filters, float* matrix, float* y) const {
    std::size_t most = 0;
    for (Index group = 0; group < shape_.groups; ++group) {
      const Product product = this->product(group, filters, matrix, y);
      std::size_t bytes = 0;
      if (cusparseSpMM_bufferSize(context_, kAsIs, kAsIs, &kOne, product.weights.get(), product.from.get(), &kZero,
                                  product.to, CUDA_R_32F, algorithm, &bytes) != CUSPARSE_STATUS_SUCCESS)
        return std::nullopt;
      most = std::max(most, bytes);
    }
    return most;
  }

  /// Whether cuSPARSE took it. `matrix` is for the unfolded input.
  bool run(cusparseSpMMAlg_t algorithm, std::byte* filters, const float* x, float* matrix, std::byte* workspace,
           float* y, cudaStream_t stream) const {
    check(cusparseSetStream(context_, stream));
    for (Index block = 0; block < shape_.blocks; ++block)
      for (Index group = 0; group < shape_.groups; ++group) {
        const std::size_t number = std::size_t{block} * shape_.groups + group;
        const float* const from = x + number * shape_.in_group();
        const bool unfolds = !shape_.unfolding.is_identity();
        if (unfolds) unfold(from, shape_.unfolding, matrix, stream);
        const Product product =
            this->product(group, filters, unfolds ? matrix : const_cast<float*>(from), y + number * shape_.out_group());
        if (cusparseSpMM(context_, kAsIs, kAsIs, &kOne, product.weights.get(), product.from.get(), &kZero, product.to,
                         CUDA_R_32F, algorithm, workspace) != CUSPARSE_STATUS_SUCCESS)
          return false;
      }
    return true;
  }

 private:
  static constexpr auto kAsIs = CUSPARSE_OPERATION_NON_TRANSPOSE;
  static constexpr float kOne = 1;
  static constexpr float kZero = 0;

  struct Product {
    SparseMatrix weights;
    DenseMatrix from;
    DenseMatrix to;
  };

  Product product(Index group, std::byte* filters, float* from, float* to) const {
    Product product;
    const auto rows = static_cast<std::int64_t>(shape_.unfolding.rows());
    const auto columns = static_cast<std::int64_t>(shape_.unfolding.columns());
    const std::size_t offsets = std::size_t{group} * (packed_.rows + 1) * sizeof(Index);
    check(cusparseCreateCsr(product.weights.out(), packed_.rows, rows,
                            static_cast<std::int64_t>(begins_[group + 1] - begins_[group]), filters + offsets,
                            filters + packed_.columns + begins_[group] * sizeof(Index),
                            filters + packed_.values + begins_[group] * sizeof(float), CUSPARSE_INDEX_32I,
                            CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
    check(cusparseCreateDnMat(product.from.out(), rows, columns, columns, from, CUDA_R_32F, CUSPARSE_ORDER_ROW));
    check(cusparseCreateDnMat(product.to.out(), packed_.rows, columns, columns, to, CUDA_R_32F, CUSPARSE_ORDER_ROW));
    return product;
  }

  LoweredShape shape_;
  PackedFilters packed_;
  SparseContext context_;
  std::vector<Offset> begins_;  ///< of each group's entries, and the end
};

struct FastestProduct {
  cusparseSpMMAlg_t algorithm = kAlgorithms.front();
  std::size_t workspace = 0;  ///< bytes
  double seconds = 0;
};

/// The fastest algorithm; empty if none supports the convolution.
std::optional<FastestProduct> measured(const LoweredProducts& products, const LoweredShape& shape,
                                       const Convolution& convolution) {
  cudaStream_t const stream = cudaStreamPerThread;
  const PackedFilters packed(convolution);
  std::vector<std::byte> on_host(packed.bytes);
  packed.pack(convolution, on_host.data());
  const DeviceBuffer<std::byte> filters(packed.bytes, stream);
  check(cudaMemcpyAsync(filters.data(), on_host.data(), packed.bytes, cudaMemcpyHostToDevice, stream));
  const std::size_t images = std::size_t{shape.blocks} * shape.groups;
  const DeviceBuffer<float> x(images * shape.in_group(), stream);
  const DeviceBuffer<float> y(images * shape.out_group(), stream);
  const DeviceBuffer<std::byte> matrix(shape.matrix_bytes(), stream);
  auto* const unfolded = reinterpret_cast<float*>(matrix.data());
  check(cudaMemsetAsync(x.data(), 0, x.bytes(), stream));
  std::optional<FastestProduct> best;
  for (const cusparseSpMMAlg_t algorithm : kAlgorithms) {
    const std::optional<std::size_t> bytes =
        products.workspace(algorithm, filters.data(), unfolded == nullptr ? x.data() : unfolded, y.data());
    if (!bytes) continue;
    const DeviceBuffer<std::byte> workspace(*bytes, stream);
    const auto run = [&] {
      return products.run(algorithm, filters.data(), x.data(), unfolded, workspace.data(), y.data(), stream);
    };
    if (!run()) continue;  // also warms up
    const std::vector<double> seconds = device_seconds(stream, 3, [&] { run(); });
    const double shortest = *std::min_element(seconds.begin(), seconds.end());
    if (!best || shortest < best->seconds) best = FastestProduct{algorithm, *bytes, shortest};
  }
  check(cudaStreamSynchronize(stream));
  return best;
}

std::size_t number_of(cusparseSpMMAlg_t algorithm) {
  return static_cast<std::size_t>(std::find(kAlgorithms.begin(), kAlgorithms.end(), algorithm) - kAlgorithms.begin()) +
         1;
}

std::vector<Offer> offers_for(const Request& request, const Convolution& convolution) try {
  if (!convolution.bias.empty()) return {{.why_not = "cuSPARSE adds no bias"}};
  const LoweredShape shape = lowered_shape(request, convolution);
  if (shape.unfolding.columns() > kMostColumns)
    return {{.why_not = "cuSPARSE's products of a matrix of more than 2^19 columns are not reliable"}};
  const auto products = std::make_shared<const LoweredProducts>(shape, convolution);
  const std::optional<FastestProduct> best = measured(*products, shape, convolution);
  if (!best) return {{.why_not = "cuSPARSE has no algorithm for it"}};
  const PackedFilters packed(convolution);
  Offer offer;
  offer.detail = fmt::format("{}cuSPARSE's SpMM for CSR, algorithm {}",
                             shape.unfolding.is_identity() ? "" : "unfolded, ", number_of(best->algorithm));
  offer.inputs = {kImages32};
  offer.output = kImages32;
  offer.fused = request.step.fused.empty();
  offer.skips_zeros = true;
  // The unfolded input, then cuSPARSE's memory.
  offer.scratch = shape.matrix_bytes() + best->workspace;
  offer.scratch_on_device = true;
  offer.seconds = best->seconds;
  offer.constants.push_back({.part = 0,
                             .form = "csr by groups",
                             .bytes = packed.bytes,
                             .fill = [packed, &convolution](std::byte* to) { packed.pack(convolution, to); },
                             .on_device = true});
  offer.bind = [products, best = *best, matrix_bytes = shape.matrix_bytes()] {
    return program::bound([=](const Operands& at) {
      auto* const filters = const_cast<std::byte*>(at.constants[0]);  // cuSPARSE only reads them
      if (!products->run(best.algorithm, filters, at.floats(0), reinterpret_cast<float*>(at.scratch),
                         at.scratch + matrix_bytes, at.results(), cudaStreamPerThread))
        throw DeviceError("cuSPARSE: a product failed that had run before");
    });
  };
  return {std::move(offer)};
} catch (const DeviceError& error) {
  return program::only({.why_not = error.what()});
}

}  // namespace

}  // namespace cuda

program::FamilyKernels kernels_conv_lowered(Precision precision) {
  static const program::OperationKernel kernel("conv_lowered", cuda::offers_for);
  try {
    cusparseGetErrorName(CUSPARSE_STATUS_SUCCESS);  // opens the library
  } catch (const DeviceError& error) {
    return {.why_not = error.what()};
  }
  if (precision != Precision::fp32)
    return {.why_not = fmt::format("conv_lowered does not compute in {}", to_string(precision))};
  return {.kernels = {&kernel}};
}

}  // namespace spdnn
