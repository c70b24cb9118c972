// Movement, indexing, scans and compaction on the CPU against NumPy (tests/reference/movement.py).
#include "cpu/executor.h"
#include "support/kernel_test.h"
#include "support/npy.h"
#include "weft/kernels.h"

namespace weft::test {
namespace {

using kernels::PadMode;
using kernels::ScanKind;
using kernels::ScatterKind;
using Numbers = std::vector<std::int64_t>;

class MovementReference : public testing::Test {
 protected:
  static View load(const std::string& name) { return load_npy("movement/" + name + ".npy"); }
  static View zeros(const View& like, DType type) {
    return host_view(type, like.shape(), std::vector<double>(static_cast<std::size_t>(like.count())));
  }
  // `call` fills an output of the reference's shape.
  template <class F>
  void check(const std::string& name, F&& call, const Tolerance& tolerance = kSameBits) {
    const View expected = load(name), y = zeros(expected, expected.dtype);
    call(y);
    expect_close(y, expected, tolerance, name);
  }
  cpu::Executor cpu;
  View x = load("x");
};

TEST_F(MovementReference, Pads) {
  const std::pair<const char*, PadMode> modes[] = {{"pad_constant", PadMode::constant},
                                                   {"pad_edge", PadMode::edge},
                                                   {"pad_reflect", PadMode::reflect},
                                                   {"pad_symmetric", PadMode::symmetric},
                                                   {"pad_wrap", PadMode::wrap}};
  for (const auto& [name, mode] : modes) {
    check(name, [&](const View& y) { kernels::pad(cpu, x, y, Numbers{2, 0, 9}, mode, 7); });
  }
  check("tile", [&](const View& y) { kernels::tile(cpu, x, y); });
  check("repeat", [&](const View& y) { kernels::repeat(cpu, x, y); });
  check("roll", [&](const View& y) { kernels::roll(cpu, x, y, Numbers{1, -2, 7}); });
}

TEST_F(MovementReference, Generates) {
  check("tril", [&](const View& y) { kernels::triangle(cpu, kernels::Triangle::lower, x, y, 1); });
  check("triu", [&](const View& y) { kernels::triangle(cpu, kernels::Triangle::upper, x, y, -1); });
  check("eye", [&](const View& y) { kernels::eye(cpu, y, 2); });
  check("arange", [&](const View& y) { kernels::arange(cpu, -3, 0.75, y); });
  check("linspace", [&](const View& y) { kernels::linspace(cpu, -2, 5, y); }, {.ulp = 1});
}

TEST_F(MovementReference, Indexes) {
  check("take_along", [&](const View& y) { kernels::gather_elements(cpu, x, load("along"), y, 1); });
  check("put_along", [&](const View& y) {
    kernels::copy(cpu, x, y);
    kernels::scatter_elements(cpu, ScatterKind::assign, load("order"), load("values"), y, 1);
  });
  check("take_pairs", [&](const View& y) { kernels::gather_nd(cpu, x, load("pairs"), y); });
  const std::pair<const char*, ScatterKind> ops[] = {{"scatter_add", ScatterKind::add},
                                                     {"scatter_mul", ScatterKind::mul},
                                                     {"scatter_min", ScatterKind::min},
                                                     {"scatter_max", ScatterKind::max}};
  for (const auto& [name, op] : ops) {
    check(name,
          [&](const View& y) {
            kernels::copy(cpu, x, y);
            kernels::scatter_nd(cpu, op, load("pairs"), load("rows"), y);
          },
          {});
  }
}

TEST_F(MovementReference, Scans) {
  const std::pair<const char*, ScanKind> ops[] = {{"scan_sum", ScanKind::sum},
                                                  {"scan_prod", ScanKind::prod},
                                                  {"scan_max", ScanKind::max},
                                                  {"scan_min", ScanKind::min},
                                                  {"scan_log_sum_exp", ScanKind::log_sum_exp}};
  for (const auto& [name, op] : ops) {
    // Forward, reverse, exclusive.
    const kernels::ScanOptions options[] = {{}, {.reverse = true}, {.exclusive = true}};
    check(name,
          [&](const View& y) {
            for (std::int64_t i = 0; i < 3; ++i) {
              View one = kernels::slice(y, 0, i, i + 1);
              one.layout.shape.erase(0);
              one.layout.strides.erase(0);
              kernels::scan(cpu, op, x, one, 1, options[i]);
            }
          },
          {.relative = 4e-7});
  }
}

TEST_F(MovementReference, Compacts) {
  const View count = host_view(DType::u32, {}, std::vector<double>{0});
  check("compress", [&](const View& y) { kernels::compress(cpu, x, x, y, count); });
  EXPECT_EQ(value(count, 0), static_cast<double>(load("compress").count()));
  check("nonzero", [&](const View& y) { kernels::nonzero(cpu, x, y, count); });
  check("expand", [&](const View& y) {
    const View list = host_view(DType::f32, {x.count()}, std::vector<double>(static_cast<std::size_t>(x.count())));
    kernels::arange(cpu, 0.0, 1.0, list);
    kernels::expand(cpu, list, x, y, count);
  });
}

}  // namespace
}  // namespace weft::test
