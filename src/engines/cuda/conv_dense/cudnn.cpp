#include "engines/cuda/conv_dense/cudnn.hpp"

#include <fmt/format.h>

#include <array>

#include "core/system/shared_library.hpp"
#include "spdnn/error.hpp"
#include "spdnn/types.hpp"

namespace spdnn::cuda::cudnn {

namespace {

using Context = cudnnContext*;
using Tensor = cudnnTensorStruct*;
using Filters = cudnnFilterStruct*;
using Descriptor = cudnnConvolutionStruct*;

/// The functions, with a cudnnStatus_t as their result, under the names without `cudnn`. Enumerations are ints.
struct Functions {
  explicit Functions(const SharedLibrary& library)
      : GetVersion(library.function<std::size_t()>("cudnnGetVersion")),
        GetErrorString(library.function<const char*(int)>("cudnnGetErrorString")),
        Create(library.function<int(Context*)>("cudnnCreate")),
        Destroy(library.function<int(Context)>("cudnnDestroy")),
        SetStream(library.function<int(Context, CUstream_st*)>("cudnnSetStream")),
        CreateTensor(library.function<int(Tensor*)>("cudnnCreateTensorDescriptor")),
        DestroyTensor(library.function<int(Tensor)>("cudnnDestroyTensorDescriptor")),
        SetTensor(library.function<int(Tensor, int, int, int, int, int, int)>("cudnnSetTensor4dDescriptor")),
        CreateFilters(library.function<int(Filters*)>("cudnnCreateFilterDescriptor")),
        DestroyFilters(library.function<int(Filters)>("cudnnDestroyFilterDescriptor")),
        SetFilters(library.function<int(Filters, int, int, int, int, int, int)>("cudnnSetFilter4dDescriptor")),
        CreateConvolution(library.function<int(Descriptor*)>("cudnnCreateConvolutionDescriptor")),
        DestroyConvolution(library.function<int(Descriptor)>("cudnnDestroyConvolutionDescriptor")),
        SetConvolution(library.function<int(Descriptor, int, int, int, int, int, int, int, int)>(
            "cudnnSetConvolution2dDescriptor")),
        SetGroups(library.function<int(Descriptor, int)>("cudnnSetConvolutionGroupCount")),
        SetMath(library.function<int(Descriptor, int)>("cudnnSetConvolutionMathType")),
        GetWorkspaceSize(library.function<int(Context, Tensor, Filters, Descriptor, Tensor, int, std::size_t*)>(
            "cudnnGetConvolutionForwardWorkspaceSize")),
        Forward(library.function<int(Context, const void*, Tensor, const void*, Filters, const void*, Descriptor, int,
                                     void*, std::size_t, const void*, Tensor, void*)>("cudnnConvolutionForward")),
        AddTensor(library.function<int(Context, const void*, Tensor, const void*, const void*, Tensor, void*)>(
            "cudnnAddTensor")) {
    const std::size_t number = GetVersion();  // 8907: 8.9.7; 91900: 9.19.0
    const std::size_t major = number >= 90000 ? number / 10000 : number / 1000;
    if (major != 8 && major != 9) throw DeviceError(fmt::format("cuDNN {} is neither version 8 nor 9", number));
    const std::size_t minor = major == 9 ? number / 100 % 100 : number / 100 % 10;
    version = fmt::format("cuDNN {}.{}.{}", major, minor, number % 100);
  }

  std::string version;
  // NOLINTBEGIN(readability-identifier-naming): cuDNN's names
  std::size_t (*GetVersion)();
  const char* (*GetErrorString)(int);
  int (*Create)(Context*);
  int (*Destroy)(Context);
  int (*SetStream)(Context, CUstream_st*);
  int (*CreateTensor)(Tensor*);
  int (*DestroyTensor)(Tensor);
  int (*SetTensor)(Tensor, int format, int type, int n, int c, int h, int w);
  int (*CreateFilters)(Filters*);
  int (*DestroyFilters)(Filters);
  int (*SetFilters)(Filters, int type, int format, int k, int c, int h, int w);
  int (*CreateConvolution)(Descriptor*);
  int (*DestroyConvolution)(Descriptor);
  int (*SetConvolution)(Descriptor, int pad_h, int pad_w, int stride_h, int stride_w, int dilation_h, int dilation_w,
                        int mode, int sum_type);
  int (*SetGroups)(Descriptor, int);
  int (*SetMath)(Descriptor, int);
  int (*GetWorkspaceSize)(Context, Tensor x, Filters, Descriptor, Tensor y, int algorithm, std::size_t*);
  int (*Forward)(Context, const void* alpha, Tensor, const void* x, Filters, const void* w, Descriptor, int algorithm,
                 void* workspace, std::size_t bytes, const void* beta, Tensor, void* y);
  int (*AddTensor)(Context, const void* alpha, Tensor, const void* a, const void* beta, Tensor, void* y);
  // NOLINTEND(readability-identifier-naming)
};

const Functions& library() {
  static const SharedLibrary opened(
      {"libcudnn.so.9", "libcudnn.so.8"},
      "dense convolutions on a GPU need NVIDIA's cuDNN 8 or 9; LD_LIBRARY_PATH may name its folder");
  static const Functions functions(opened);
  return functions;
}

constexpr int kFloat = 0;
constexpr int kHalf = 2;
constexpr int kBfloat16 = 9;
constexpr int kCrossCorrelation = 1;

int type_of(Precision precision) {
  return precision == Precision::fp16 ? kHalf : precision == Precision::bf16 ? kBfloat16 : kFloat;
}

/// cudnnMathType_t.
int math_of(Precision precision) {
  constexpr int kTensorCores = 1;  // of fp32: rounded to TF32
  constexpr int kFusedMultiplyAdd = 3;
  return precision == Precision::fp32 ? kFusedMultiplyAdd : kTensorCores;
}

void check(int status) {
  if (status != 0) throw DeviceError(fmt::format("cuDNN: {}", library().GetErrorString(status)));
}

/// What `create` makes, to be destroyed by `destroy`.
template <class Struct>
std::shared_ptr<Struct> made(int (*create)(Struct**), int (*destroy)(Struct*)) {
  Struct* resource = nullptr;
  check(create(&resource));
  return {resource, [destroy](Struct* one) { destroy(one); }};
}

std::shared_ptr<cudnnTensorStruct> tensor(const ImageExtents& of, Format format, Precision precision) {
  auto tensor = made(library().CreateTensor, library().DestroyTensor);
  check(library().SetTensor(tensor.get(), static_cast<int>(format), type_of(precision), narrow<int>(of.images),
                            narrow<int>(of.channels), narrow<int>(of.height), narrow<int>(of.width)));
  return tensor;
}

constexpr float kOne = 1;
constexpr float kZero = 0;

}  // namespace

std::string algorithm_name(int algorithm) {
  constexpr std::array<const char*, kAlgorithms> kNames{
      "implicit GEMM",      "implicit GEMM with precomputed offsets", "GEMM", "direct", "FFT", "tiled FFT", "Winograd",
      "Winograd, not fused"};
  return kNames.at(static_cast<std::size_t>(algorithm));
}

std::string version() { return library().version; }

Convolution::Convolution(const ConvolutionShape& shape, Format format, Precision precision) {
  const Functions& cudnn = library();
  context_ = made(cudnn.Create, cudnn.Destroy);
  x_ = tensor(shape.in, format, precision);
  y_ = tensor(shape.out, format, precision);
  bias_ = tensor({1, shape.out.channels, 1, 1}, format, precision);
  const auto size = [&](std::size_t axis) { return static_cast<int>(shape.window.kernel[axis]); };
  filters_ = made(cudnn.CreateFilters, cudnn.DestroyFilters);
  check(cudnn.SetFilters(filters_.get(), type_of(precision), static_cast<int>(format), narrow<int>(shape.out.channels),
                         narrow<int>(shape.channels()), size(0), size(1)));
  const auto on = [](const std::array<Index, 2>& axes, std::size_t axis) { return static_cast<int>(axes[axis]); };
  const Window& window = shape.window;
  convolution_ = made(cudnn.CreateConvolution, cudnn.DestroyConvolution);
  check(cudnn.SetConvolution(convolution_.get(), on(window.pad_begin, 0), on(window.pad_begin, 1), on(window.stride, 0),
                             on(window.stride, 1), on(window.dilation, 0), on(window.dilation, 1), kCrossCorrelation,
                             kFloat));
  check(cudnn.SetGroups(convolution_.get(), static_cast<int>(shape.groups)));
  check(cudnn.SetMath(convolution_.get(), math_of(precision)));
}

std::optional<std::size_t> Convolution::workspace_bytes(int algorithm) const {
  std::size_t bytes = 0;
  const int status = library().GetWorkspaceSize(context_.get(), x_.get(), filters_.get(), convolution_.get(), y_.get(),
                                                algorithm, &bytes);
  return status == 0 ? std::optional(bytes) : std::nullopt;
}

bool Convolution::run(int algorithm, const void* x, const void* w, void* workspace, std::size_t bytes, void* y,
                      CUstream_st* stream) const {
  check(library().SetStream(context_.get(), stream));
  return library().Forward(context_.get(), &kOne, x_.get(), x, filters_.get(), w, convolution_.get(), algorithm,
                           workspace, bytes, &kZero, y_.get(), y) == 0;
}

void Convolution::add_bias(const void* bias, void* y, CUstream_st* stream) const {
  check(library().SetStream(context_.get(), stream));
  check(library().AddTensor(context_.get(), &kOne, bias_.get(), bias, &kOne, y_.get(), y));
}

}  // namespace spdnn::cuda::cudnn
