// A model that is compiled once and answers image after image, as a server does, through the installed library. With an
// installed tree at PREFIX:
// g++ -std=c++20 example_session.cpp $(PKG_CONFIG_PATH=PREFIX/lib/pkgconfig pkg-config --cflags --libs spdnn)
// usage: example_session MODEL.onnx|.tflite|.safetensors|.spdnn
#include <algorithm>
#include <iostream>
#include <random>
#include <spdnn/error.hpp>
#include <spdnn/files.hpp>
#include <spdnn/model_inference.hpp>
#include <spdnn/session.hpp>

int main(int count, char** arguments) try {
  if (count != 2) throw spdnn::UsageError("usage: example_session MODEL");
  spdnn::EngineSettings settings;
  settings.batch = 1;  // kernels are chosen for single images
  const spdnn::ModelSession session(spdnn::read_model(arguments[1]), settings);
  const spdnn::Model& model = session.model();
  const spdnn::Shape shape = spdnn::with_batch(model.values[model.inputs[0]].shape, 1);
  std::cout << session.variant() << " takes " << spdnn::shape_text(shape) << ", classes:";
  std::mt19937 random(7);
  std::uniform_real_distribution<float> pixel(0, 1);
  for (int image = 0; image < 4; ++image) {
    std::vector<float> pixels(*spdnn::elements(shape));
    for (float& value : pixels) value = pixel(random);
    const auto [outputs, overflow] = session.run({shape, std::move(pixels)});
    if (!overflow.empty()) throw spdnn::DataError("numbers exceeded the precision at " + overflow);
    const auto& logits = outputs.front().values;
    std::cout << ' ' << std::max_element(logits.begin(), logits.end()) - logits.begin();
  }
  std::cout << '\n';
} catch (const spdnn::Error& error) {  // UsageError, DataError or DeviceError
  std::cerr << "example_session: " << error.what() << '\n';
  return 2;
}
