#pragma once

// The fields of the types that ranks exchange; see parcel.hpp. Functions for both directions take a value that is const
// for packing.

#include "core/types/plan.hpp"
#include "spdnn/images.hpp"
#include "spdnn/outcome.hpp"

namespace spdnn {

template <class T, class U>
concept MaybeConst = std::is_same_v<std::remove_const_t<T>, U>;

void fields(auto& archive, MaybeConst<CsrMatrix> auto& m) {
  archive(m.rows, m.cols, m.offsets, m.indices, m.values, m.value);
}
void fields(auto& archive, MaybeConst<BitMatrix> auto& m) { archive(m.rows, m.cols, m.words); }
void fields(auto& archive, MaybeConst<ImageSet> auto& images) { archive(images.data); }

void fields(auto& archive, MaybeConst<Passes> auto& p) {
  archive(p.twins, p.unused, p.merge, p.saturated, p.dead, p.identical);
}
void fields(auto& archive, MaybeConst<Bias> auto& bias) { archive(bias.uniform, bias.values); }
void fields(auto& archive, MaybeConst<Layer> auto& layer) { archive(layer.weights, layer.bias); }
void fields(auto& archive, MaybeConst<Certificates> auto& c) { archive(c.dead_from, c.saturated_from); }
void fields(auto& archive, MaybeConst<Provenance> auto& p) {
  archive(p.requested, p.notes, p.given_edges, p.given_neurons, p.network_digest);
}
void fields(auto& archive, MaybeConst<Plan> auto& p);
void fields(auto& archive, MaybeConst<Fallback> auto& f) { archive(f.error_bounds, f.in_order); }
void fields(auto& archive, MaybeConst<Plan> auto& p) {
  archive(p.layers, p.bias_rule, p.cap, p.passes, p.certificates, p.fallback, p.expansion, p.provenance);
}

void fields(auto& archive, MaybeConst<Overflow> auto& o) { archive(o.image, o.layer); }
void fields(auto& archive, MaybeConst<Outcome> auto& o) {
  archive(o.categories, o.alive, o.active, o.saturated, o.identical, o.borderline, o.overflow, o.activations);
}

}  // namespace spdnn
