// SuiteSparse:GraphBLAS on the same layers and images as cpu_openmp, in the way of LAGraph_dnn: Y and W are sparse in
// fp32, products are PLUS_TIMES, the bias is added to the entries, and those that are not positive are dropped, the
// others capped. Both are timed in one run, taking turns, from resident inputs to known categories, which must be the
// same. usage: graphblas_peer NEURONS LAYERS IMAGES TRIALS [MNIST_IDX]

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" {  // which the header leaves out
#include <GraphBLAS.h>
}

#include "core/system/stopwatch.hpp"
#include "core/threads/parallel.hpp"
#include "data/generate.hpp"
#include "data/official/problems.hpp"
#include "inference/run/run.hpp"
#include "plan/planner.hpp"
#include "spdnn/csr_matrix.hpp"

namespace {

using namespace spdnn;  // NOLINT(google-build-using-namespace): a program of one file

void check(GrB_Info info, const char* what) {
  if (info != GrB_SUCCESS)
    throw std::runtime_error(fmt::format("GraphBLAS: {} failed with {}", what, static_cast<int>(info)));
}

class Matrix {
 public:
  explicit Matrix(const CsrMatrix& csr) {
    const std::vector<GrB_Index> offsets(csr.offsets.begin(), csr.offsets.end());
    const std::vector<GrB_Index> indices(csr.indices.begin(), csr.indices.end());
    std::vector<float> values(csr.entries());
    for (Offset k = 0; k < csr.entries(); ++k) values[k] = csr.entry_value(k);
    check(GrB_Matrix_import_FP32(&matrix_, GrB_FP32, csr.rows, csr.cols, offsets.data(), indices.data(), values.data(),
                                 offsets.size(), indices.size(), values.size(), GrB_CSR_FORMAT),
          "import");
    check(GrB_Matrix_wait(matrix_, GrB_MATERIALIZE), "wait");
  }
  Matrix(const Matrix& other) { check(GrB_Matrix_dup(&matrix_, other.matrix_), "dup"); }
  Matrix(Matrix&& other) noexcept { std::swap(matrix_, other.matrix_); }
  Matrix& operator=(const Matrix&) = delete;
  Matrix& operator=(Matrix&&) = delete;
  ~Matrix() { GrB_Matrix_free(&matrix_); }
  GrB_Matrix get() const { return matrix_; }

 private:
  GrB_Matrix matrix_ = nullptr;
};

/// The network, with W as inputs x outputs.
struct Peer {
  std::vector<Matrix> weights;
  std::vector<float> biases;
  float cap;

  explicit Peer(const Network& network) : cap(static_cast<float>(network.cap.value())) {
    for (const Layer& layer : network.layers) {
      weights.emplace_back(transpose(layer.weights));
      biases.push_back(static_cast<float>(layer.bias.uniform));
    }
  }

  Categories infer(const Matrix& y) const {
    for (std::size_t k = 0; k < weights.size(); ++k) {
      const GrB_Matrix Y = y.get();
      check(GrB_mxm(Y, nullptr, nullptr, GrB_PLUS_TIMES_SEMIRING_FP32, Y, weights[k].get(), nullptr), "mxm");
      check(GrB_Matrix_apply_BinaryOp2nd_FP32(Y, nullptr, nullptr, GrB_PLUS_FP32, Y, biases[k], nullptr), "bias");
      check(GrB_Matrix_select_FP32(Y, nullptr, nullptr, GrB_VALUEGT_FP32, Y, 0.0F, nullptr), "select");
      check(GrB_Matrix_apply_BinaryOp2nd_FP32(Y, nullptr, nullptr, GrB_MIN_FP32, Y, cap, nullptr), "cap");
    }
    GrB_Index images = 0;
    check(GrB_Matrix_nrows(&images, y.get()), "nrows");
    GrB_Vector sums = nullptr;
    check(GrB_Vector_new(&sums, GrB_FP32, images), "vector");
    check(GrB_Matrix_reduce_Monoid(sums, nullptr, nullptr, GrB_PLUS_MONOID_FP32, y.get(), nullptr), "reduce");
    GrB_Index count = images;
    std::vector<GrB_Index> ids(images);
    check(GrB_Vector_extractTuples_FP32(ids.data(), nullptr, &count, sums), "extract");
    GrB_Vector_free(&sums);
    return {ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count)};
  }
};

double median(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

int compare_speeds(Index neurons, Index layers, Index images, int trials, const std::string& mnist) {
  const Network network = generate_official_network(neurons, layers);
  const ImageSet all =
      mnist.empty() ? generate_digit_images(neurons, images, 1) : generate_official_images(read_mnist(mnist), neurons);
  const ImageSet inputs = all.slice(0, std::min(images, all.images()));
  const double edges = static_cast<double>(network.edges()) * inputs.images();
  fmt::print("{} x {}, {} {} images, {} threads, median of {} trials, inference only\n", neurons, layers,
             inputs.images(), mnist.empty() ? "synthetic" : "official", host_threads(), trials);

  const Peer peer(network);
  const Matrix y0(inputs.to_csr());
  const Plan plan = make_plan(network, parse_passes("dead"));
  const Variant& openmp = find_variant("cpu_openmp");
  RunOptions options;
  std::vector<double> peer_seconds;
  std::vector<double> our_seconds;
  for (int trial = 0; trial < trials; ++trial) {
    const Matrix y(y0);
    const Stopwatch watch;
    const Categories theirs = peer.infer(y);
    peer_seconds.push_back(watch.seconds());
    const RunResult ours = run(openmp, plan, inputs, options);
    our_seconds.push_back(ours.infer_seconds.front());
    const Comparison comparison = compare(ours.outcome.categories, theirs);
    if (!comparison.equal()) {
      fmt::print("categories differ: {} only in GraphBLAS, {} only in spdnn\n", comparison.missing.size(),
                 comparison.extra.size());
      return 1;
    }
    if (trial == 0) fmt::print("categories: {}, equal\n", theirs.size());
  }
  const auto print = [&](const char* name, double seconds) {
    fmt::print("{:<32} {:>9.4f} s  {:>10.3e} edges/s\n", name, seconds, edges / seconds);
  };
  int version[3] = {};
  check(GxB_Global_Option_get(GxB_LIBRARY_VERSION, version), "version");
  print(fmt::format("SuiteSparse:GraphBLAS {}.{}.{}", version[0], version[1], version[2]).c_str(),
        median(peer_seconds));
  print("cpu_openmp fp32, --reduce dead", median(our_seconds));
  fmt::print("ratio {:.2f}\n", median(peer_seconds) / median(our_seconds));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    fmt::print(stderr, "usage: graphblas_peer NEURONS LAYERS IMAGES TRIALS [MNIST_IDX]\n");
    return 2;
  }
  try {
    check(GrB_init(GrB_NONBLOCKING), "init");
    const auto number = [&](int i) { return narrow<Index>(std::stoul(argv[i])); };
    const int code =
        compare_speeds(number(1), number(2), number(3), static_cast<int>(number(4)), argc > 5 ? argv[5] : "");
    GrB_finalize();
    return code;
  } catch (const std::exception& error) {
    fmt::print(stderr, "graphblas_peer: {}\n", error.what());
    return 4;
  }
}
