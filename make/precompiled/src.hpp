// Headers that most files of src/ include, precompiled and included before each (make/program.mk). Every file still
// includes what it uses, because lint and fuzzers compile without this header. Headers of this project do not belong
// here.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>
