#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "io/input_file.hpp"
#include "spdnn/model.hpp"

namespace spdnn::fuzz {

/// Reads bytes that stand for a file of that name. What is read must be a sound model, whose matrices have no zeros,
/// and small ones are evaluated: then the outputs have the shapes that were inferred.
void check_model_reader(const std::uint8_t* data, std::size_t size, const std::string& name,
                        const std::function<Model(const InputFile&)>& read);

}  // namespace spdnn::fuzz
