#pragma once

// The classes that protoc generates from ONNX's schema (make/program.mk), and protobuf's output stream, with warnings
// in their headers disabled.

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wshadow"
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <onnx.pb.h>  // generated
#pragma GCC diagnostic pop
