#pragma once

#include <stdexcept>
#include <string>
#include <variant>

#include "report/document.hpp"

namespace spdnn::testing {

template <class Block>
const Block& block_of(const Document& document, const std::string& id) {
  for (const Section& section : document.sections)
    for (const auto& block : section.blocks)
      if (const auto* found = std::get_if<Block>(&block); found != nullptr && found->id == id) return *found;
  throw std::runtime_error("nothing is called " + id);
}

}  // namespace spdnn::testing
