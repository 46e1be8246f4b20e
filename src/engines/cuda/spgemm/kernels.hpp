#pragma once

#include <cuda_runtime_api.h>

#include "engines/cuda/layers/images.hpp"
#include "engines/cuda/layers/layer.hpp"

/// Kernels on activations held in CSR, one warp per row. Launches only.
namespace spdnn::cuda {

/// Rows in CSR. Offsets are 64-bit in the engine's activations and 32-bit in the matrices that cuSPARSE reads and
/// writes.
template <class OffsetType>
struct CsrRows {
  OffsetType* offsets = nullptr;
  Index* indices = nullptr;
  float* values = nullptr;
};

/// The parameters that turn the products of one layer into activations.
struct SparseActivation {
  DeviceLayer layer;  ///< its biases alone are read
  Index outputs = 0;
  Activation activation;
  float error_bound = 0.0F;
  float max_bias = 0.0F;  ///< of the layer; neurons without an entry may have it
  bool filter = false;    ///< zeros that the activation makes are dropped
};

/// counts(i) = entries of row i that store_products() will keep; flags(i) as row_kernels.hpp defines them.
void count_products(const CsrRows<std::uint32_t>& products, Index rows, const SparseActivation& activation,
                    std::uint32_t* counts, std::uint32_t* flags, cudaStream_t stream);
/// Writes the activations to `to`, whose offsets hold where each row begins.
void store_products(const CsrRows<std::uint32_t>& products, Index rows, const SparseActivation& activation,
                    const CsrRows<Offset>& to, cudaStream_t stream);

/// local(i) = global(i) - global(0) for i in [0, rows].
void localize(const Offset* global, Index rows, std::uint32_t* local, cudaStream_t stream);

/// Copies rows of `from`, whose offsets may begin anywhere, and appends the entry (column, 1) to each.
void append_ones(const CsrRows<Offset>& from, Index rows, Index column, const CsrRows<std::uint32_t>& to,
                 cudaStream_t stream);

/// As hash_images() and compare_images() in row_kernels.hpp. Rows with the same entries in another order differ.
void hash_rows(const CsrRows<Offset>& y, Index rows, std::uint64_t* hashes, cudaStream_t stream);
void compare_rows(const CsrRows<Offset>& y, Index rows, Index* heads, cudaStream_t stream);

/// counts(i) = length of row kept(i).
void count_kept(const Offset* offsets, const Index* kept, Index count, std::uint32_t* counts, cudaStream_t stream);
/// Row i of `to` = row kept(i) of `from`.
void gather_rows(const CsrRows<Offset>& from, const Index* kept, Index count, const CsrRows<Offset>& to,
                 cudaStream_t stream);

/// counts(i) = stored entries of image i.
void count_entries(const DeviceImages& images, std::uint32_t* counts, cudaStream_t stream);
/// Writes the images to `to`, whose offsets are set, and their flags.
void store_images(const DeviceImages& images, const CsrRows<Offset>& to, std::uint32_t* flags, cudaStream_t stream);

/// offsets(i) = base + counts(0) + ... + counts(i-1) for i in [0, rows]; counts(rows) must be readable. With a null
/// `scratch`, only sets `bytes` to the size it needs.
void scan_counts(void* scratch, std::size_t& bytes, const std::uint32_t* counts, Index rows, Offset base,
                 Offset* offsets, cudaStream_t stream);

}  // namespace spdnn::cuda
