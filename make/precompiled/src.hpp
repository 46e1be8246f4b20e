// Headers that most files of src/ include, compiled once and included before each (make/program.mk). Every file includes
// what it uses all the same: builds by other compilers, and lint, go without this one. No header of our own belongs here.
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
