// A model of a file, run on images made in memory, and verified, through the installed library. With an installed tree
// at PREFIX: g++ -std=c++20 example_model.cpp $(PKG_CONFIG_PATH=PREFIX/lib/pkgconfig pkg-config --cflags --libs spdnn)
// usage: example_model MODEL.onnx|.tflite|.safetensors|.spdnn
#include <iostream>
#include <random>
#include <spdnn/error.hpp>
#include <spdnn/files.hpp>
#include <spdnn/model_inference.hpp>

/// Images of random pixels from 0 to 1, of the shape that the model takes.
spdnn::Tensor make_images(const spdnn::Model& model, spdnn::Extent images) {
  const spdnn::Shape shape = spdnn::with_batch(model.values[model.inputs[0]].shape, images);
  std::mt19937 random(7);
  std::uniform_real_distribution<float> pixel(0, 1);
  std::vector<float> pixels(*spdnn::elements(shape));
  for (float& value : pixels) value = pixel(random);
  return {.shape = shape, .values = std::move(pixels)};
}

int main(int count, char** arguments) try {
  if (count != 2) throw spdnn::UsageError("usage: example_model MODEL");
  spdnn::Model model = spdnn::read_model(arguments[1]);
  const spdnn::Tensor images = make_images(model, 4);
  spdnn::ModelSpec spec;  // of images from files: spec.path, spec.inputs, and load() without arguments
  spec.truth.everything = true;
  spec.trials = 3;
  spdnn::ModelInference inference(spec);
  inference.load(std::move(model), images);
  inference.plan();
  inference.run();
  inference.verify();
  const spdnn::ModelReport& report = inference.report();
  std::cout << spdnn::to_string(report.verdict.status) << " by " << report.variant << ", classes:";
  for (const spdnn::Index predicted : report.predictions) std::cout << ' ' << predicted;
  std::cout << '\n'
            << spdnn::shape_text(report.logits().shape) << " logits, the first " << report.logits().values[0] << '\n';
  return report.verdict.status == spdnn::Verdict::Status::passed ? 0 : 1;
} catch (const spdnn::Error& error) {  // UsageError, DataError or DeviceError
  std::cerr << "example_model: " << error.what() << '\n';
  return 2;
}
