#pragma once

// The classes that flatc makes of tflite.fbs (make/program.mk), without the warnings of its code.

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wshadow"
#include <tflite_generated.h>  // generated
#pragma GCC diagnostic pop
