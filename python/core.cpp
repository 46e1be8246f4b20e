// What the Python package's own code (spdnn/__init__.py) is made of: the library's types and calls, with NumPy arrays
// in place of Array and Python's exceptions in place of its own. Numbers of images and neurons are 0-based.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <bit>
#include <spdnn/error.hpp>
#include <spdnn/files.hpp>
#include <spdnn/inference.hpp>
#include <spdnn/load.hpp>
#include <spdnn/planned_network.hpp>
#include <spdnn/report.hpp>
#include <string>

#include "arrays.hpp"
#include "call.hpp"
#include "models.hpp"
#include "sessions.hpp"
#include "texts.hpp"

namespace spdnn::python {

namespace {

BiasRule parse_rule(const std::string& text) {
  return parse<BiasRule, 2>({{{"non-zeros", BiasRule::non_zeros}, {"everywhere", BiasRule::everywhere}}}, text,
                            "bias_rule");
}

/// All entries have one value, bit for bit: the matrix then stores that once.
void make_uniform(CsrMatrix& matrix) {
  if (matrix.values.empty()) return;
  const auto same = [first = std::bit_cast<std::uint32_t>(matrix.values[0])](float value) {
    return std::bit_cast<std::uint32_t>(value) == first;
  };
  if (!std::all_of(matrix.values.begin(), matrix.values.end(), same)) return;
  matrix.value = matrix.values[0];
  matrix.values = {};
}

Array<Offset> offsets_of(const py::array& indptr) {
  if (indptr.itemsize() == sizeof(Offset)) return borrow<Offset>(indptr);
  const Array<std::int32_t> narrow = borrow<std::int32_t>(indptr);
  return std::vector<Offset>(narrow.begin(), narrow.end());  // a negative one becomes too large a one
}

/// The matrix of SciPy's arrays: indptr of int32 or int64, indices of int32, data of float32.
CsrMatrix make_matrix(std::pair<Index, Index> shape, const py::array& indptr, const py::array& indices,
                      const py::array& data) {
  CsrMatrix matrix{.rows = shape.first,
                   .cols = shape.second,
                   .offsets = offsets_of(indptr),
                   .indices = borrow<Index>(indices),
                   .values = borrow<float>(data)};
  const py::gil_scoped_release unlocked;
  if (matrix.values.size() != matrix.indices.size()) throw DataError("data and indices differ in length");
  with_data_errors([&] { matrix.validate(); });
  make_uniform(matrix);
  return matrix;
}

Network make_network(const std::vector<CsrMatrix>& weights, const std::vector<py::object>& biases,
                     std::optional<double> cap, const std::string& rule) {
  Network network{.layers = {}, .bias_rule = parse_rule(rule), .cap = cap};
  for (std::size_t k = 0; k < weights.size(); ++k) {
    Layer layer{weights[k], {}};
    if (py::isinstance<py::array>(biases[k]))
      layer.bias.values = borrow<double>(biases[k].cast<py::array>());
    else
      layer.bias.uniform = biases[k].cast<double>();
    network.layers.push_back(std::move(layer));
  }
  with_data_errors([&] { network.validate(); });
  return network;
}

py::object bias_of(const Bias& bias) {
  if (bias.values.empty()) return py::float_(bias.uniform);
  return view<double>(bias.values);
}

NetworkSpec network_spec(const py::dict& given) {
  NetworkSpec spec;
  spec.path = given["path"].cast<std::string>();
  spec.neurons = given["neurons"].cast<std::vector<Index>>();
  spec.layers = given["layers"].cast<std::optional<Index>>();
  spec.bias = given["bias"].cast<std::optional<double>>();
  if (!given["bias_rule"].is_none()) spec.bias_rule = parse_rule(given["bias_rule"].cast<std::string>());
  spec.allow_missing_newline = given["allow_missing_newline"].cast<bool>();
  if (given.contains("cap")) spec.cap = Cap{given["cap"].cast<std::optional<double>>()};
  return spec;
}

InferenceSpec inference_spec(const py::dict& given) {
  InferenceSpec spec;
  spec.passes = parse_passes(given["reduce"].cast<std::string>(), "reduce");
  static_cast<EngineSettings&>(spec) = engine_settings(given);
  spec.trials = given["trials"].cast<int>();
  spec.device_memory = given["device_memory"].cast<std::size_t>();
  spec.compare = given["compare"].cast<bool>();
  spec.activations = given["activations"].cast<bool>();
  spec.checkpoint = given["checkpoint"].cast<std::string>();
  spec.checkpoint_every = given["checkpoint_every"].cast<std::optional<double>>();
  spec.max_time = given["max_time"].cast<std::optional<double>>();
  spec.truth.everything = given["verify_all"].cast<bool>();
  spec.truth.sample = given["verify_sample"].cast<Index>();
  spec.truth.path = given["truth_path"].cast<std::string>();
  if (!given["truth"].is_none()) spec.truth.list = given["truth"].cast<Categories>();
  return spec;
}

/// SciPy's arrays and the shape, or None.
py::object activations_of(const Outcome& outcome) {
  if (!outcome.activations) return py::none();
  const CsrMatrix& activations = *outcome.activations;
  return py::make_tuple(arrays_of(activations), py::make_tuple(activations.rows, activations.cols));
}

/// The report and what it leaves out. `network` may be planned.
template <class GivenNetwork>
py::dict infer(const GivenNetwork& network, const ImageSet& images, const py::dict& given, const py::object& listener) {
  Call call(listener);
  InferenceSpec spec = inference_spec(given);
  spec.progress = call.progress();
  spec.cancelled = call.cancelled();
  spec.warning = call.warning();
  const Report report = call.run([&] {
    return with_data_errors([&] {
      Inference inference(spec);
      inference.load(network, images);
      inference.plan();
      inference.run();
      inference.verify();
      Report found = inference.report();
      if (found.parts > 1) found.seconds.add(found.earlier);
      return found;
    });
  });
  if (!spec.checkpoint.empty()) remove_checkpoint(spec.checkpoint);
  const Outcome& outcome = report.outcome;
  py::dict result;
  result["categories"] = copy<std::int64_t>(outcome.categories);
  result["alive"] = copy<std::int64_t>(outcome.alive);
  result["activations"] = activations_of(outcome);
  result["json"] = text_of(to_json(report));
  result["text"] = text_of(to_text(report));
  return result;
}

PlannedNetwork plan(const Network& network, const std::string& reduce, const std::string& device) {
  const Passes passes = parse_passes(reduce, "reduce");
  const std::optional<Device> on = parse_device(device);
  return Call(py::none()).run([&] { return with_data_errors([&] { return PlannedNetwork(network, passes, on); }); });
}

using Session = Closable<NetworkSession>;

Session compile(const PlannedNetwork& planned, const py::dict& given) {
  NetworkSessionSettings settings;
  static_cast<EngineSettings&>(settings) = engine_settings(given);
  settings.device_memory = given["device_memory"].cast<std::size_t>();
  settings.activations = given["activations"].cast<bool>();
  return Call(py::none()).run([&] { return Session(NetworkSession(planned, settings)); });
}

/// The categories, the activations, and the number of images of which a sum exceeded the precision.
py::tuple run(const Session& session, const ImageSet& images) {
  const auto open = session.get();
  Call call{py::none()};
  const Outcome outcome = call.run([&] { return open->run(images, call.cancelled()); });
  return py::make_tuple(copy<std::int64_t>(outcome.categories), activations_of(outcome), outcome.overflow.size());
}

py::dict describe(const LayerDescription& layer) {
  using namespace py::literals;
  return py::dict("inputs"_a = layer.inputs, "outputs"_a = layer.outputs, "edges"_a = layer.edges,
                  "min_degree"_a = layer.min_degree, "max_degree"_a = layer.max_degree,
                  "mean_degree"_a = layer.mean_degree, "density"_a = layer.density,
                  "distinct_weights"_a = layer.distinct_weights, "stored_outputs"_a = layer.stored_outputs,
                  "stored_edges"_a = layer.stored_edges, "distinct_terms"_a = layer.distinct_terms,
                  "twins"_a = layer.twins, "always_zero"_a = layer.always_zero, "unread"_a = layer.unread);
}

ImageSet make_bits(const py::array& words, Index images, Index neurons) {
  ImageSet set{BitMatrix{images, neurons, borrow<std::uint64_t>(words)}};
  with_data_errors([&] { set.validate(); });
  return set;
}

/// The exceptions of spdnn/errors.py, which live as long as the interpreter.
void register_errors() {
  static std::array<PyObject*, 5> classes{};
  const py::module_ errors = py::module_::import("spdnn.errors");
  constexpr std::array kNames{"UsageError", "DataError", "DeviceError", "Stopped", "Error"};
  for (std::size_t i = 0; i < kNames.size(); ++i)
    classes[i] = errors.attr(kNames[i]).cast<py::object>().release().ptr();
  py::register_exception_translator([](std::exception_ptr thrown) {
    const auto raise = [](std::size_t of, const Error& error) {
      PyErr_SetObject(classes[of], text_of(error.what()).ptr());
    };
    try {
      std::rethrow_exception(std::move(thrown));
    } catch (const UsageError& error) {
      raise(0, error);
    } catch (const DataError& error) {
      raise(1, error);
    } catch (const DeviceError& error) {
      raise(2, error);
    } catch (const Stopped& error) {
      raise(3, error);
    } catch (const Error& error) {
      raise(4, error);
    }
  });
}

void define_matrices(py::module_& module) {
  py::class_<CsrMatrix>(module, "Matrix")
      .def(py::init(&make_matrix))
      .def_property_readonly("ascends", &CsrMatrix::ascends);
}

void define_networks(py::module_& module) {
  py::class_<Network>(module, "Network")
      .def(py::init(&make_network))
      .def_static("load",
                  [](const py::dict& given, const py::object& listener) {
                    Call call(listener);
                    const NetworkSpec spec = network_spec(given);
                    GivenNetwork loaded =
                        call.run([&] { return with_data_errors([&] { return load_network(spec, call.progress()); }); });
                    return std::pair(std::move(loaded.network), texts_of(loaded.notes));
                  })
      .def("save",
           [](const Network& network, const std::string& path, const py::object& listener) {
             Call call(listener);
             call.run([&] {
               const Form form = Path(path).has_extension() ? form_of(path) : Form::tsv;
               write_network(path, form, network, call.progress());
               return true;
             });
           })
      .def("arrays", [](const Network& network, std::size_t k) { return arrays_of(network.layers.at(k).weights); })
      .def("shape",
           [](const Network& network, std::size_t k) {
             return std::pair(network.layers.at(k).outputs(), network.layers.at(k).inputs());
           })
      .def("bias", [](const Network& network, std::size_t k) { return bias_of(network.layers.at(k).bias); })
      .def_property_readonly("layers", [](const Network& network) { return network.layers.size(); })
      .def_property_readonly("edges", &Network::edges)
      .def_property_readonly("bytes", &Network::bytes)
      .def_property_readonly("cap", [](const Network& network) { return network.cap; })
      .def_property_readonly("bias_rule", [](const Network& network) {
        return network.bias_rule == BiasRule::everywhere ? "everywhere" : "non-zeros";
      });
}

void define_plans(py::module_& module) {
  define_session<NetworkSession>(module, "NetworkSession").def("run", &run);
  py::class_<PlannedNetwork>(module, "Plan")
      .def(py::init(&plan))
      .def_property_readonly("network", &PlannedNetwork::network, py::return_value_policy::copy)
      .def_property_readonly("passes", [](const PlannedNetwork& planned) { return to_string(planned.passes()); })
      .def_property_readonly("notes", [](const PlannedNetwork& planned) { return texts_of(planned.notes()); })
      .def_property_readonly("stored_edges", &PlannedNetwork::stored_edges)
      .def_property_readonly("dead_from", &PlannedNetwork::dead_from)
      .def_property_readonly("saturated_from", &PlannedNetwork::saturated_from)
      .def("compile", &compile)
      .def("describe", [](const PlannedNetwork& planned) {
        py::list layers;
        for (const LayerDescription& layer : planned.describe()) layers.append(describe(layer));
        return layers;
      });
}

void define_images(py::module_& module) {
  py::class_<ImageSet>(module, "Images")
      .def(py::init([](const CsrMatrix& rows) { return make_image_set(rows); }))
      .def(py::init(&make_bits))
      .def_static("load",
                  [](const std::string& path, const std::string& mnist, std::optional<Index> neurons,
                     std::optional<Index> images, const py::object& listener) {
                    Call call(listener);
                    FileNotes notes;
                    ImageSet loaded = call.run([&] {
                      return load_images({path, mnist, images}, neurons, call.progress(), &notes);
                    });
                    return std::pair(std::move(loaded), texts_of(notes));
                  })
      .def("save",
           [](const ImageSet& images, const std::string& path) {
             Call(py::none()).run([&] {
               write_images(path, images);
               return true;
             });
           })
      .def("arrays", [](const ImageSet& images) { return arrays_of(images.to_csr()); })
      .def_property_readonly("shape",
                             [](const ImageSet& images) { return std::pair(images.images(), images.neurons()); })
      .def_property_readonly("bytes", &ImageSet::bytes)
      .def_property_readonly("is_bits", &ImageSet::is_bits);
}

}  // namespace

// NOLINTNEXTLINE: what the macro makes
PYBIND11_MODULE(_core, module) {
  register_errors();
  module.attr("version") = SPDNN_PYTHON_VERSION;
  module.attr("takes_numpy_2") = PYBIND11_VERSION_HEX >= 0x020C0000;

  define_matrices(module);
  define_networks(module);
  define_plans(module);
  define_images(module);
  module.def("infer", &infer<Network>);
  module.def("infer", &infer<PlannedNetwork>);
  define_models(module);
}

}  // namespace spdnn::python
