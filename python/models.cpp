#include "models.hpp"

#include <pybind11/stl.h>

#include <spdnn/error.hpp>
#include <spdnn/files.hpp>
#include <spdnn/model_inference.hpp>
#include <string>
#include <utility>

#include "arrays.hpp"
#include "call.hpp"
#include "sessions.hpp"
#include "texts.hpp"

namespace spdnn::python {

namespace {

struct NamedModel {
  std::string path;
  Model model;
};

/// A length that is any number of images is None.
py::tuple extents_of(const Shape& shape) {
  py::tuple extents(shape.size());
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    extents[axis] = shape[axis] == kBatchExtent ? py::object(py::none()) : py::int_(shape[axis]);
  return extents;
}

/// (name, shape) of each.
py::list values_of(const Model& model, const std::vector<ValueId>& ids, const std::vector<std::string>& names) {
  py::list values;
  for (std::size_t i = 0; i < ids.size(); ++i)
    values.append(py::make_tuple(text_of(names[i]), extents_of(model.values[ids[i]].shape)));
  return values;
}

py::list inputs_of(const NamedModel& named) {
  std::vector<std::string> names;
  for (const ValueId id : named.model.inputs) names.push_back(named.model.values[id].name);
  return values_of(named.model, named.model.inputs, names);
}

py::list outputs_of(const NamedModel& named) {
  return values_of(named.model, named.model.outputs, output_names(named.model));
}

/// (name, operation, shape of the output, weights, of these not zero) of each.
py::list nodes_of(const NamedModel& named) {
  py::list nodes;
  for (const Node& node : named.model.nodes) {
    const CsrMatrix* const weights = matrix_or_null(node.operation);
    const Offset all = weights == nullptr ? 0 : Offset{weights->rows} * weights->cols;
    nodes.append(py::make_tuple(text_of(node.name), text_of(operation_name(node.operation)),
                                extents_of(named.model.values[node.output].shape), all,
                                weights == nullptr ? 0 : weights->entries()));
  }
  return nodes;
}

/// SciPy's arrays and the shape of a node's weights, or None.
py::object matrix_of(const NamedModel& named, std::size_t node) {
  const CsrMatrix* const weights = matrix_or_null(named.model.nodes.at(node).operation);
  if (weights == nullptr) return py::none();
  return py::make_tuple(arrays_of(*weights), py::make_tuple(weights->rows, weights->cols));
}

ModelTruth model_truth(const py::dict& given) {
  ModelTruth truth;
  truth.labels = given["labels_path"].cast<std::string>();
  truth.expected = given["expected_path"].cast<std::string>();
  if (!given["labels"].is_none()) {
    const Array<std::int64_t> labels = borrow<std::int64_t>(given["labels"].cast<py::array>());
    truth.label_list.emplace(labels.begin(), labels.end());
  }
  for (const auto& [name, array] : given["expected"].cast<py::dict>())
    truth.expected_outputs.push_back({name.cast<std::string>(), tensor_of(array.cast<py::array>())});
  truth.min_accuracy = given["min_accuracy"].cast<std::optional<double>>();
  truth.everything = given["verify_all"].cast<bool>();
  truth.sample = given["verify_sample"].cast<Index>();
  return truth;
}

Rewrites rewrites(const py::dict& given) { return parse_rewrites(given["rewrite"].cast<std::string>()); }

ModelSpec model_spec(const NamedModel& named, const py::dict& given) {
  ModelSpec spec;
  spec.path = named.path;
  spec.truth = model_truth(given);
  spec.outputs = given["outputs"].cast<std::vector<std::string>>();
  spec.rewrites = rewrites(given);
  static_cast<EngineSettings&>(spec) = engine_settings(given);
  spec.trials = given["trials"].cast<int>();
  spec.warm_up = given["warm_up"].cast<int>();
  spec.profile = given["profile"].cast<bool>();
  return spec;
}

py::dict infer_model(const NamedModel& named, const py::array& images, const py::dict& given,
                     const py::object& listener) {
  Call call(listener);
  ModelSpec spec = model_spec(named, given);
  spec.progress = call.progress();
  spec.cancelled = call.cancelled();
  const Tensor tensor = tensor_of(images);
  const ModelReport report = call.run([&] {
    return with_data_errors([&] {
      ModelInference inference(spec);
      inference.load(named.model, tensor);
      inference.plan();
      inference.run();
      inference.verify();
      return inference.report();
    });
  });
  py::dict outputs;
  for (const ModelOutput& output : report.outputs) outputs[text_of(output.name)] = handed_over(output.values);
  py::dict result;
  result["outputs"] = outputs;
  result["predictions"] = report.classes == 0 ? py::object(py::none()) : copy<std::int64_t>(report.predictions);
  result["json"] = text_of(to_json(report));
  result["text"] = text_of(to_text(report));
  return result;
}

using ClosableModel = Closable<ModelSession>;

std::pair<py::list, py::str> run_session(const ClosableModel& session, const py::array& images) {
  const auto open = session.get();
  const Tensor tensor = tensor_of(images);
  Call call{py::none()};
  const ModelSession::Answer answer =
      call.run([&] { return with_data_errors([&] { return open->run(tensor, call.cancelled()); }); });
  py::list outputs;
  for (const Tensor& output : answer.outputs) outputs.append(handed_over(output));
  return {outputs, text_of(answer.overflow)};
}

ClosableModel compile_model(const NamedModel& named, const py::dict& given) {
  return Call(py::none()).run([&, settings = engine_settings(given), chosen = rewrites(given)] {
    return with_data_errors([&] { return ClosableModel(ModelSession(named.model, settings, chosen)); });
  });
}

}  // namespace

void define_models(py::module_& module) {
  define_session<ModelSession>(module, "Session").def("run", &run_session);
  py::class_<NamedModel>(module, "Model")
      .def_static("load",
                  [](const std::string& path, const std::optional<Shape>& shape) {
                    return Call(py::none()).run([&] { return NamedModel{path, read_model(path, shape)}; });
                  })
      .def("save",
           [](const NamedModel& named, const std::string& path) {
             Call(py::none()).run([&] {
               write_model(path, named.model);
               return true;
             });
           })
      .def_property_readonly("path", [](const NamedModel& named) { return py::bytes(named.path); })
      .def_property_readonly("name", [](const NamedModel& named) { return text_of(named.model.name); })
      .def_property_readonly("inputs", &inputs_of)
      .def_property_readonly("outputs", &outputs_of)
      .def_property_readonly("nodes", &nodes_of)
      .def("matrix", &matrix_of)
      .def("compile", &compile_model)
      .def("infer", &infer_model);
}

}  // namespace spdnn::python
