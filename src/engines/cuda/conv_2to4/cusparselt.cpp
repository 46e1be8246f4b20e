#include "engines/cuda/conv_2to4/cusparselt.hpp"

#include <cuda_runtime_api.h>
#include <cusparse.h>
#include <fmt/format.h>

#include <array>

#include "core/system/shared_library.hpp"
#include "engines/cuda/runtime/buffer.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cuda::cusparselt {

namespace {

/// A structure of the library, which the caller owns: 512 to 11024 bytes, depending on the version.
struct alignas(16) Opaque {
  std::array<std::byte, 16384> bytes{};
};

// Of cusparseLt.h; the numbers are those of version 0.8.
constexpr int kHalfOfAll = 0;   // CUSPARSELT_SPARSITY_50_PERCENT
constexpr int kSumsInFp32 = 2;  // CUSPARSE_COMPUTE_32F
constexpr int kDefaultAlgorithm = 0;
constexpr int kAlgorithmNumber = 0;  // CUSPARSELT_MATMUL_ALG_CONFIG_ID
constexpr unsigned kAlignment = 16;

/// The functions under their names without `cusparseLt`. Enumerations are ints.
struct Functions {
  explicit Functions(const SharedLibrary& library)
      : GetProperty(library.function<int(int, int*)>("cusparseLtGetProperty")),
        Init(library.function<int(Opaque*)>("cusparseLtInit")),
        Destroy(library.function<int(const Opaque*)>("cusparseLtDestroy")),
        Structured(library.function<int(const Opaque*, Opaque*, std::int64_t, std::int64_t, std::int64_t, unsigned, int,
                                        int, int)>("cusparseLtStructuredDescriptorInit")),
        Dense(
            library.function<int(const Opaque*, Opaque*, std::int64_t, std::int64_t, std::int64_t, unsigned, int, int)>(
                "cusparseLtDenseDescriptorInit")),
        DestroyMatrix(library.function<int(const Opaque*)>("cusparseLtMatDescriptorDestroy")),
        Multiplication(library.function<int(const Opaque*, Opaque*, int, int, const Opaque*, const Opaque*,
                                            const Opaque*, const Opaque*, int)>("cusparseLtMatmulDescriptorInit")),
        Select(library.function<int(const Opaque*, Opaque*, const Opaque*, int)>("cusparseLtMatmulAlgSelectionInit")),
        Set(library.function<int(const Opaque*, Opaque*, int, const void*, std::size_t)>(
            "cusparseLtMatmulAlgSetAttribute")),
        DestroySelection(library.function<int(const Opaque*)>("cusparseLtMatmulAlgSelectionDestroy")),
        Plan(library.function<int(const Opaque*, Opaque*, const Opaque*, const Opaque*)>("cusparseLtMatmulPlanInit")),
        DestroyPlan(library.function<int(const Opaque*)>("cusparseLtMatmulPlanDestroy")),
        GetWorkspace(library.function<int(const Opaque*, const Opaque*, std::size_t*)>("cusparseLtMatmulGetWorkspace")),
        CompressedSize(library.function<int(const Opaque*, const Opaque*, std::size_t*, std::size_t*)>(
            "cusparseLtSpMMACompressedSize2")),
        Compress(library.function<int(const Opaque*, const Opaque*, int, int, const void*, void*, void*, cudaStream_t)>(
            "cusparseLtSpMMACompress2")),
        Multiply(library.function<int(const Opaque*, const Opaque*, const void*, const void*, const void*, const void*,
                                      const void*, void*, void*, cudaStream_t*, std::int32_t)>("cusparseLtMatmul")) {
    std::array<int, 3> numbers{};
    for (int i = 0; i < 3; ++i)
      if (GetProperty(i, &numbers[static_cast<std::size_t>(i)]) != 0) numbers[0] = -1;
    version = fmt::format("cuSPARSELt {}.{}.{}", numbers[0], numbers[1], numbers[2]);
    if (numbers[0] != 0 || numbers[1] != 8) throw DeviceError(version + " is not version 0.8");
  }

  std::string version;
  // NOLINTBEGIN(readability-identifier-naming): cuSPARSELt's names, or parts of them
  int (*GetProperty)(int property, int* value);
  int (*Init)(Opaque* handle);
  int (*Destroy)(const Opaque* handle);
  int (*Structured)(const Opaque* handle, Opaque* matrix, std::int64_t rows, std::int64_t columns, std::int64_t leading,
                    unsigned alignment, int type, int order, int sparsity);
  int (*Dense)(const Opaque* handle, Opaque* matrix, std::int64_t rows, std::int64_t columns, std::int64_t leading,
               unsigned alignment, int type, int order);
  int (*DestroyMatrix)(const Opaque*);
  int (*Multiplication)(const Opaque* handle, Opaque*, int operation_of_a, int operation_of_b, const Opaque* a,
                        const Opaque* b, const Opaque* c, const Opaque* d, int sums);
  int (*Select)(const Opaque* handle, Opaque* selection, const Opaque* multiplication, int algorithm);
  int (*Set)(const Opaque* handle, Opaque* selection, int attribute, const void* data, std::size_t bytes);
  int (*DestroySelection)(const Opaque*);
  int (*Plan)(const Opaque* handle, Opaque* plan, const Opaque* multiplication, const Opaque* selection);
  int (*DestroyPlan)(const Opaque*);
  int (*GetWorkspace)(const Opaque* handle, const Opaque* plan, std::size_t* bytes);
  int (*CompressedSize)(const Opaque* handle, const Opaque* matrix, std::size_t* bytes, std::size_t* buffer_bytes);
  int (*Compress)(const Opaque* handle, const Opaque* matrix, int is_a, int operation, const void* from, void* to,
                  void* buffer, cudaStream_t);
  int (*Multiply)(const Opaque* handle, const Opaque* plan, const void* alpha, const void* a, const void* b,
                  const void* beta, const void* c, void* d, void* workspace, cudaStream_t* streams, std::int32_t count);
  // NOLINTEND(readability-identifier-naming)
};

const Functions& library() {
  static const SharedLibrary opened({"libcusparseLt.so.0"},
                                    "products with 2:4 sparse weights on a GPU need NVIDIA's cuSPARSELt 0.8; "
                                    "LD_LIBRARY_PATH may name its folder");
  static const Functions functions(opened);
  return functions;
}

void check(int status, const char* function) {
  if (status == CUSPARSE_STATUS_ALLOC_FAILED) cuda::check(CUSPARSE_STATUS_ALLOC_FAILED);
  if (status != 0)
    throw DeviceError(
        fmt::format("cuSPARSELt: {}: {}", function, cusparseGetErrorString(static_cast<cusparseStatus_t>(status))));
}

/// A structure that the library has made. It is destroyed at the end, but not where making it failed.
class Made {
 public:
  template <class Make>
  Made(const char* function, int (*destroy)(const Opaque*), const Make& make) : destroy_(destroy) {
    check(make(&opaque_), function);
  }
  ~Made() { destroy_(&opaque_); }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;

  Opaque* get() { return &opaque_; }
  const Opaque* get() const { return &opaque_; }

 private:
  Opaque opaque_;
  int (*destroy_)(const Opaque*);
};

cudaDataType type_of(Precision precision) { return precision == Precision::bf16 ? CUDA_R_16BF : CUDA_R_16F; }

constexpr float kOne = 1;
constexpr float kZero = 0;

}  // namespace

std::string version() { return library().version; }

/// The library computes D = A B: A is W, B the transposed X, and D the transposed Y, Y in the order of columns.
struct Descriptors {
  explicit Descriptors(const ProductShape& of)
      : handle("Init", lt.Destroy, lt.Init),
        a("StructuredDescriptorInit", lt.DestroyMatrix,
          [&](Opaque* to) {
            return lt.Structured(handle.get(), to, of.filters, of.columns, of.columns, kAlignment,
                                 type_of(of.precision), CUSPARSE_ORDER_ROW, kHalfOfAll);
          }),
        b(dense(of.precision, of.pixels, of.columns, of.columns, CUSPARSE_ORDER_ROW)),
        d(dense(of.precision, of.filters, of.pixels, of.filters, CUSPARSE_ORDER_COL)) {
    check(lt.Multiplication(handle.get(), &multiplication, CUSPARSE_OPERATION_NON_TRANSPOSE,
                            CUSPARSE_OPERATION_TRANSPOSE, a.get(), b.get(), d.get(), d.get(), kSumsInFp32),
          "MatmulDescriptorInit");
  }

  const Functions& lt = library();
  Made handle, a, b, d;
  Opaque multiplication;

 private:
  Made dense(Precision precision, Index rows, Index columns, Index leading, int order) const {
    return {"DenseDescriptorInit", lt.DestroyMatrix, [&](Opaque* to) {
              return lt.Dense(handle.get(), to, rows, columns, leading, kAlignment, type_of(precision), order);
            }};
  }
};

struct Plan::State {
  State(std::shared_ptr<const Descriptors> product, int algorithm)
      : of(std::move(product)),
        selection("MatmulAlgSelectionInit", lt.DestroySelection,
                  [&](Opaque* to) { return lt.Select(of->handle.get(), to, &of->multiplication, kDefaultAlgorithm); }),
        plan("MatmulPlanInit", lt.DestroyPlan, [&](Opaque* to) {
          check(lt.Set(of->handle.get(), selection.get(), kAlgorithmNumber, &algorithm, sizeof algorithm),
                "MatmulAlgSetAttribute");
          return lt.Plan(of->handle.get(), to, &of->multiplication, selection.get());
        }) {
    check(lt.GetWorkspace(of->handle.get(), plan.get(), &workspace_bytes), "MatmulGetWorkspace");
  }

  const Functions& lt = library();
  std::shared_ptr<const Descriptors> of;
  Made selection, plan;
  std::size_t workspace_bytes = 0;
};

Plan::Plan(std::shared_ptr<const Descriptors> of, int algorithm)
    : state_(std::make_shared<const State>(std::move(of), algorithm)) {}

std::size_t Plan::workspace_bytes() const { return state_->workspace_bytes; }

bool Plan::run(const void* x, const void* w, void* workspace, void* y, cudaStream_t stream) const {
  return library().Multiply(state_->of->handle.get(), state_->plan.get(), &kOne, w, x, &kZero, y, y, workspace, &stream,
                            1) == 0;
}

Product::Product(const ProductShape& shape) : descriptors_(std::make_shared<const Descriptors>(shape)) {}

std::vector<std::byte> Product::compressed(const std::vector<std::uint16_t>& weights) const {
  const Functions& lt = library();
  cudaStream_t const stream = cudaStreamPerThread;
  const Descriptors& of = *descriptors_;
  std::size_t bytes = 0;
  std::size_t buffer_bytes = 0;
  check(lt.CompressedSize(of.handle.get(), of.a.get(), &bytes, &buffer_bytes), "SpMMACompressedSize2");
  const DeviceBuffer<std::uint16_t> dense(weights.size(), stream);
  const DeviceBuffer<std::byte> to(bytes, stream);
  const DeviceBuffer<std::byte> buffer(buffer_bytes, stream);
  cuda::check(cudaMemcpyAsync(dense.data(), weights.data(), dense.bytes(), cudaMemcpyHostToDevice, stream));
  check(lt.Compress(of.handle.get(), of.a.get(), 1, CUSPARSE_OPERATION_NON_TRANSPOSE, dense.data(), to.data(),
                    buffer.data(), stream),
        "SpMMACompress2");
  std::vector<std::byte> all(bytes);
  cuda::check(cudaMemcpyAsync(all.data(), to.data(), bytes, cudaMemcpyDeviceToHost, stream));
  cuda::check(cudaStreamSynchronize(stream));
  return all;
}

}  // namespace spdnn::cuda::cusparselt
