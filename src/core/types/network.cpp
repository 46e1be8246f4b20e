#include "spdnn/network.hpp"

#include <cmath>
#include <stdexcept>

namespace spdnn {

Offset Network::edges() const {
  Offset sum = 0;
  for (const Layer& layer : layers) sum += layer.weights.entries();
  return sum;
}

std::size_t Network::bytes() const {
  std::size_t sum = 0;
  for (const Layer& layer : layers) sum += layer.weights.bytes() + layer.bias.values.bytes();
  return sum;
}

void Network::validate() const {
  if (cap && !(std::isfinite(*cap) && *cap > 0)) throw std::invalid_argument("the cap must be positive");
  for (std::size_t k = 0; k < layers.size(); ++k) {
    const Layer& layer = layers[k];
    const std::string where = "layer " + std::to_string(k + 1) + ": ";
    try {
      layer.weights.validate();
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(where + error.what());
    }
    if (k > 0 && layer.inputs() != layers[k - 1].outputs())
      throw std::invalid_argument(where + "has " + std::to_string(layer.inputs()) +
                                  " inputs, but the layer before has " + std::to_string(layers[k - 1].outputs()) +
                                  " outputs");
    if (!layer.bias.values.empty() && layer.bias.values.size() != layer.outputs())
      throw std::invalid_argument(where + "has a bias for " + std::to_string(layer.bias.values.size()) + " of " +
                                  std::to_string(layer.outputs()) + " neurons");
    if (layer.outputs() > 0 && !(std::isfinite(layer.bias.min()) && std::isfinite(layer.bias.max())))
      throw std::invalid_argument(where + "has a bias that is not finite");
  }
}

}  // namespace spdnn
