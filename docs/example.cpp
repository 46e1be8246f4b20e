// A network and images made in memory, planned, inferred and verified through the installed library; then a session,
// which stays resident to run one set of images after another. With an installed tree at PREFIX:
// g++ -std=c++20
// example.cpp $(PKG_CONFIG_PATH=PREFIX/lib/pkgconfig pkg-config --cflags --libs spdnn)
#include <iostream>
#include <spdnn/error.hpp>
#include <spdnn/inference.hpp>
#include <spdnn/session.hpp>

/// Two layers of four neurons. Each neuron adds its own input and the next one's, and needs both.
spdnn::Network make_network() {
  spdnn::Layer layer;
  layer.weights = spdnn::make_csr(4, 4, {0, 2, 4, 6, 8}, {0, 1, 1, 2, 2, 3, 0, 3});  // outputs x inputs, all weights 1
  layer.bias.uniform = -1.0;
  return {.layers = {layer, layer}, .bias_rule = spdnn::BiasRule::non_zeros, .cap = 32.0};
}

/// Three images of four neurons: 1 1 1 0, 0 1 0 0 and 1 1 1 1.
spdnn::ImageSet make_images() {
  return spdnn::make_image_set(spdnn::make_csr(3, 4, {0, 3, 4, 8}, {0, 1, 2, 1, 0, 1, 2, 3}));
}

int main() try {
  spdnn::InferenceSpec spec;  // from files: spec.network.path, spec.images.path, and load() without arguments
  spec.truth.everything = true;
  spdnn::Inference inference(spec);
  inference.load(make_network(), make_images());
  inference.plan();
  inference.run();
  inference.verify();
  const spdnn::Report& report = inference.report();
  std::cout << spdnn::to_string(report.verdict.status) << " by " << report.variant << ", categories:";
  for (const spdnn::Index image : report.outcome.categories) std::cout << ' ' << image;
  std::cout << '\n' << report.stored_edges << " of " << report.edges << " edges computed per image\n";
  const spdnn::NetworkSession session(spdnn::PlannedNetwork(make_network(), spdnn::kExactPasses));
  for (const spdnn::Index images : {1U, 2U, 3U})
    std::cout << session.run(make_images().slice(0, images)).categories.size() << " of " << images << ' ';
  std::cout << "images are categories\n";
  return report.verdict.status == spdnn::Verdict::Status::passed ? 0 : 1;
} catch (const spdnn::Error& error) {  // UsageError, DataError or DeviceError
  std::cerr << "example: " << error.what() << '\n';
  return 2;
}
