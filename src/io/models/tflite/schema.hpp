#pragma once

// The classes that flatc generates from tflite.fbs (make/program.mk), with warnings in their headers disabled.

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wshadow"
#include <tflite_generated.h>  // generated
#pragma GCC diagnostic pop
