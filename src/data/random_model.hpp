#pragma once

#include "data/model_maker.hpp"

namespace spdnn {

/// A small model with most operations in all their variants. The seed varies windows, channels and groups.
ValueId random_model(ModelMaker& maker, Index classes);

}  // namespace spdnn
