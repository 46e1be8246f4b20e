#pragma once

#include <pybind11/pybind11.h>

namespace spdnn::python {

/// What spdnn/models.py is made of: models of files, and their inferences.
void define_models(pybind11::module_& module);

}  // namespace spdnn::python
