#pragma once

// The classes that protoc makes of ONNX's description of its files (make/program.mk), and the stream that protobuf
// writes them to, without the warnings of its code.

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wshadow"
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <onnx.pb.h>  // generated
#pragma GCC diagnostic pop
