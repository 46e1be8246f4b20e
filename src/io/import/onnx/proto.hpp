#pragma once

// The classes that protoc makes of ONNX's description of its files (make/program.mk), without the warnings of its code.

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wshadow"
#include <onnx.pb.h>  // generated
#pragma GCC diagnostic pop
