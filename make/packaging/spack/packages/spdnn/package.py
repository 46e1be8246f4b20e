# A Spack package, in a repository of its own. In a clone of spdnn:
#   spack repo add make/packaging/spack
#   spack dev-build spdnn@0.1.0            # or +cuda cuda_arch=80,90
import os

from spack.package import *


class Spdnn(MakefilePackage, CudaPackage):
    """Exact inference of sparse deep neural networks, in the form of the Graph Challenge, and of pruned CNNs."""

    homepage = "https://graphchallenge.mit.edu/challenges"
    # `spack dev-build` takes the clone; `spack install` takes this archive from the current folder:
    # git archive --prefix=spdnn-0.1.0/ -o spdnn-0.1.0.tar.gz HEAD
    url = f"file://{os.getcwd()}/spdnn-0.1.0.tar.gz"
    manual_download = True

    license("Apache-2.0")
    version("0.1.0")

    variant("mpi", default=True, description="runs of several processes")
    variant("onednn", default=True, description="convolutions")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("gmake@4.3:", type="build")
    depends_on("boost@1.74:+program_options")
    depends_on("fmt@9:10")
    depends_on("fftw-api@3")
    depends_on("libmd")
    depends_on("zlib-api")
    depends_on("xxhash")
    depends_on("nlohmann-json@3.11:", type="build")
    # libprotobuf-lite.a is linked statically.
    depends_on("protobuf@3.21~shared")
    depends_on("flatbuffers@2:", type="build")
    # Opened at run time to read NPZ, PNG and JPEG files.
    depends_on("libzip")
    depends_on("libpng")
    depends_on("jpeg")
    depends_on("mpi", when="+mpi")
    depends_on("onednn@2.6:2", when="+onednn")
    depends_on("cuda@13:", when="+cuda")

    conflicts("%gcc@:11", msg="spdnn is C++20, and is built with GCC 12 or newer")
    conflicts("cuda_arch=none", when="+cuda", msg="name the GPUs, such as cuda_arch=80,90")

    # ONNX's schema, from which the build generates code, and the chart library of HTML pages.
    resource(
        name="onnx",
        url="https://github.com/onnx/onnx/archive/refs/tags/v1.12.0.tar.gz",
        sha256="052ad3d5dad358a33606e0fc89483f8150bb0655c99b12a43aa58b5b7f0cc507",
        placement="third_party/onnx",
    )
    resource(
        name="chart.js",
        url="https://registry.npmjs.org/chart.js/-/chart.js-3.9.1.tgz",
        sha256="111e0751796f087a51e94dfed910ccfb1278fd30e584a6e48514dba9ae7e72c6",
        placement="third_party/chart.js",
    )

    def settings(self):
        third_party = join_path(self.stage.source_path, "third_party")
        settings = [
            "CCACHE=",
            f"PREFIX={self.prefix}",
            f"ONNX_PROTO={join_path(third_party, 'onnx', 'onnx', 'onnx.proto')}",
            f"CHART_JS={join_path(third_party, 'chart.js', 'dist', 'chart.min.js')}",
            f"ONEDNN={1 if self.spec.satisfies('+onednn') else 0}",
            f"GPU={1 if self.spec.satisfies('+cuda') else 0}",
            f"MPI={1 if self.spec.satisfies('+mpi') else 0}",
        ]
        if self.spec.satisfies("+mpi"):
            settings += [f"MPICXX={self.spec['mpi'].mpicxx}", "MPI_LIBRARIES=mpi"]
        if self.spec.satisfies("+cuda"):
            settings += [f"CUDA={self.spec['cuda'].prefix}", f"ARCH={' '.join(self.spec.variants['cuda_arch'].value)}"]
        return settings

    @property
    def build_targets(self):
        return self.settings() + ["all"]

    @property
    def install_targets(self):
        return self.settings() + ["install"]

    def setup_run_environment(self, env):
        env.set("SPDNN_JOBS", join_path(self.prefix, "share", "spdnn", "jobs"))

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def demo(self):
        spdnn = Executable(join_path(self.prefix.bin, "spdnn"))
        spdnn("generate", "inputs", "--family", "digits", "--neurons", "1024", "--images", "100", "--out", "i.spdnn")
        spdnn("infer", "--generate", "official", "--neurons", "1024", "--layers", "120", "--inputs", "i.spdnn", "--verify", "all")
