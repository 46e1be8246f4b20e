// As src.hpp, for tests.
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "src.hpp"
