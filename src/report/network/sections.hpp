#pragma once

#include <vector>

#include "plan/census.hpp"
#include "report/document.hpp"
#include "report/network/document.hpp"

/// The sections of a page about a network, one file each.
namespace spdnn::network_sections {

/// Counts of all layers.
struct Census {
  std::vector<LayerCensus> layers;
  LayerCensus sum;
};

/// The layers, as `spdnn inspect` prints them.
Section layers(const NetworkView& view);
Section degrees(const NetworkView& view, const Census& census);
/// The edges of one layer, as given and as stored.
Section edges(const NetworkView& view);
Section plan(const NetworkView& view, const Census& census);
Section twins(const NetworkView& view, const Census& census);
/// Where images die, settle and coincide.
Section images(const NetworkView& view);

}  // namespace spdnn::network_sections
