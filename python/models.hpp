#pragma once

#include <pybind11/pybind11.h>

namespace spdnn::python {

/// The classes behind spdnn/models.py: models of files, and their inferences.
void define_models(pybind11::module_& module);

}  // namespace spdnn::python
