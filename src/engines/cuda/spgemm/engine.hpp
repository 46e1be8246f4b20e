#pragma once

#include <string_view>
#include <vector>

#include "engines/cuda/layers/images.hpp"
#include "engines/cuda/layers/source.hpp"
#include "engines/cuda/retire/active_rows.hpp"
#include "engines/cuda/spgemm/product.hpp"
#include "engines/engine.hpp"

namespace spdnn::cuda {

/// The differences of the three variants.
struct SpgemmPolicy {
  std::string_view variant;
  bool keep_workspace = false;  ///< cuSPARSE's workspaces and result stay allocated between products
  bool filter = false;          ///< zeros and retired rows are dropped before the next product
};

/// Runs a plan layer by layer with Y and W both sparse, by cuSPARSE's SpGEMM. W is transposed: plans list the inputs of
/// each output, but the product needs the outputs of each input.
///
/// cuSPARSE counts entries and products in 32 bits and keeps memory for every product, so each layer runs in chunks of
/// images whose products fit both; the size of chunks follows the rows' actual entries, layer by layer. Y itself is one
/// CSR matrix with 64-bit offsets, of which each chunk is a slice. Two such matrices are held, sized for full rows:
/// without the filter they do fill up, as zeros made by the activation stay stored.
///
/// Positive biases that are added everywhere would fill every row; they become the weights of an additional input that
/// is always 1, appended to each row before such a layer.
///
/// cuSPARSE hands sizes to the host, so every product waits for the device.
class SpgemmEngine final : public InspectableEngine {
 public:
  SpgemmEngine(const Plan& plan, const EngineOptions& options, SpgemmPolicy policy);

  void load(const ImageSet& images) override;
  void reset() override;
  Index advance(Index first, Index until) override;
  Outcome outcome() override { return rows_.outcome(); }
  std::vector<double> activations() override;

  static Support support(const Plan& plan, const BatchInfo& batch, const EngineOptions& options,
                         std::string_view variant);

 private:
  struct Activations {
    DeviceBuffer<Offset> offsets;
    DeviceBuffer<Index> indices;
    DeviceBuffer<float> values;
    CsrRows<Offset> rows() const { return {offsets.data(), indices.data(), values.data()}; }
  };

  void run_layer(Index number);
  Index chunk_rows(Index first, Index number) const;
  bool run_chunk(Index first, Index count, Index number, const DeviceLayer& weights, Offset base);
  SparseOperand operand(Index first, Index count, const DeviceLayer& weights, bool lifted);
  void retire_duplicates();
  void drop_retired();
  void scan_into(Activations& target, Index first, Index count, Offset base);
  SparseActivation activation(Index number, const DeviceLayer& weights) const;

  const SpgemmPolicy policy_;
  const Plan plan_;                 ///< weights by output neuron, inputs distinct
  std::vector<bool> lifted_;        ///< layers with an input that is always 1
  const Plan transposed_;           ///< weights by input
  std::vector<Offset> max_degree_;  ///< of an input, per layer
  Stream stream_;
  std::size_t workspace_limit_;
  Offset product_limit_;  ///< products in one chunk; falls when cuSPARSE finds a chunk too large
  LayerSource layers_;
  SpgemmProduct product_;
  Activation activation_;
  ActiveRows rows_;
  DeviceImages images_;
  Activations y_;  ///< the activations
  Activations next_;
  std::vector<Offset> offsets_;  ///< y_.offsets on the host
  std::vector<Offset> next_offsets_;
  DeviceBuffer<std::uint32_t> counts_;
  DeviceBuffer<std::uint32_t> local_offsets_;
  Workspace lifted_indices_;
  Workspace lifted_values_;
  DeviceBuffer<std::byte> scratch_;
  Index width_ = 0;
};

}  // namespace spdnn::cuda
