// Kernels that move elements: pad, tile, roll, concat and split, indices, compaction; scans.
#include <algorithm>
#include <array>
#include <cmath>
#include <format>

#include "../bench.h"

namespace weft::bench {
namespace {

using Numbers = std::vector<std::int64_t>;

// Integers f(0), f(1), …
template <class F>
View numbers(KernelBench& b, const Shape& shape, F&& f) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<std::int32_t>(f(static_cast<std::int64_t>(i)));
  const View v(b.device().allocate(values.size() * 4), 0, DType::i32, shape);
  b.device().upload(v.buffer, 0, std::as_bytes(std::span(values)));
  return v;
}

void moves(KernelBench& b, DType type) {
  const std::int64_t count = b.bytes() * 8 / bits(type), columns = 1024, rows = count / columns;
  const double bytes = static_cast<double>(b.bytes());
  const View x = b.random({rows, columns}, type), y = b.poisoned({rows, columns}, type);
  const auto label = [&](const char* op) { return std::format("move {} {} [{}, {}]", op, name(type), rows, columns); };
  const auto at = [&](const View& v, std::int64_t r, std::int64_t c) { return b.read(v, r * v.shape()[1] + c, 1)[0]; };
  const auto part = [&](const View& v, std::int64_t r, std::int64_t c) {
    View p = v;
    p.layout.shape = {r, c};
    return p;
  };
  const std::int64_t half = rows / 2;
  // An image's border: rows whose lengths are no multiples of four.
  const View small(x.buffer, 0, type, {rows - 2, columns - 2});
  for (const auto& [mode, text] :
       {std::pair{kernels::PadMode::constant, "pad"}, {kernels::PadMode::reflect, "pad reflect"}}) {
    b.measure(
        label(text), Unit::bytes, 2 * bytes, [&](Stream& s) { kernels::pad(s, small, y, Numbers{1, 1}, mode); },
        [&] {
          return at(y, 3, 5) == at(small, 2, 4) && at(y, rows - 2, columns - 2) == at(small, rows - 3, columns - 3);
        });
  }
  b.measure(
      label("roll"), Unit::bytes, 2 * bytes, [&](Stream& s) { kernels::roll(s, x, y, Numbers{3, 5}); },
      [&] { return at(y, 3, 5) == at(x, 0, 0) && at(y, 0, 0) == at(x, rows - 3, columns - 5); });
  const View quarter(x.buffer, 0, type, {half, columns / 2});
  b.measure(
      label("tile"), Unit::bytes, 1.25 * bytes, [&](Stream& s) { kernels::tile(s, quarter, y); },
      [&] { return at(y, half + 1, columns / 2 + 3) == at(quarter, 1, 3); });
  b.measure(
      label("repeat"), Unit::bytes, 1.25 * bytes, [&](Stream& s) { kernels::repeat(s, quarter, y); },
      [&] { return at(y, 7, 9) == at(quarter, 3, 4); });
  const View left = part(x, rows, columns / 2), right = kernels::slice(x, 1, columns / 2);
  const std::array<View, 2> parts{right, left};
  b.measure(
      label("concat"), Unit::bytes, 2 * bytes, [&](Stream& s) { kernels::concat(s, parts, y, 1); },
      [&] { return at(y, 5, 3) == at(x, 5, columns / 2 + 3); });
  b.measure(
      label("triangle"), Unit::bytes, 2 * bytes,
      [&](Stream& s) { kernels::triangle(s, kernels::Triangle::lower, x, y); },
      [&] { return at(y, 5, 3) == at(x, 5, 3) && at(y, 3, 5) == 0; });

  // A permutation that caches cannot prefetch.
  const View lines = numbers(b, {rows}, [&](std::int64_t i) { return i * 7919 % rows; });
  const auto line = [&](std::int64_t r) { return static_cast<std::int64_t>(b.read(lines, r, 1)[0]); };
  b.measure(
      label("gather rows"), Unit::bytes, 2 * bytes, [&](Stream& s) { kernels::gather(s, x, lines, y, 0); },
      [&] { return at(y, 77, 5) == at(x, line(77), 5); });
  if (bits(type) < 64) {
    b.measure(
        label("scatter rows"), Unit::bytes, 2 * bytes,
        [&](Stream& s) { kernels::scatter(s, kernels::ScatterKind::assign, lines, x, y, 0); },
        [&] { return at(y, line(77), 5) == at(x, 77, 5); });
    const auto add = [&](Stream& s) { kernels::scatter(s, kernels::ScatterKind::add, lines, x, y, 0); };
    b.measure(label("scatter add rows"), Unit::bytes, 3 * bytes, add, [&] {
      b.run([&](Stream& s) {  // sums accumulated so far cannot be compared
        kernels::fill(s, 0, y);
        add(s);
      });
      return at(y, line(77), 5) == at(x, 77, 5) && at(y, line(rows - 1), 0) == at(x, rows - 1, 0);
    });
  }
  // Elements by indices of 32 bits: as many bytes of them as of f32.
  const View places = numbers(b, {rows, columns}, [&](std::int64_t i) { return columns - 1 - i % columns; });
  const double index_bytes = 4.0 * static_cast<double>(count);
  b.measure(
      label("gather elements"), Unit::bytes, 2 * bytes + index_bytes,
      [&](Stream& s) { kernels::gather_elements(s, x, places, y, 1); },
      [&] { return at(y, 7, 3) == at(x, 7, columns - 4); }, {.functions = 3.0 * static_cast<double>(count)});
  b.measure(
      label("scatter elements"), Unit::bytes, 2 * bytes + index_bytes,
      [&](Stream& s) { kernels::scatter_elements(s, kernels::ScatterKind::assign, places, x, y, 1); },
      [&] { return at(y, 7, columns - 4) == at(x, 7, 3); }, {.functions = 4.0 * static_cast<double>(count)});

  const View mask = b.random({rows, columns}, DType::u8), found = b.poisoned({1}, DType::u32),
             list = b.poisoned({count}, type);
  b.measure(
      label("compress"), Unit::bytes, 2 * bytes + 2.0 * static_cast<double>(count),
      [&](Stream& s) { kernels::compress(s, x, mask, list, found); },
      [&] {
        const auto flags = b.read(mask, 0, 1000);
        const auto before = std::ranges::count_if(flags, [](double v) { return v != 0; });
        return b.read(mask, 1000, 1)[0] == 0 || b.read(list, before, 1)[0] == b.read(x, 1000, 1)[0];
      },
      {.functions = 2.0 * static_cast<double>(count)});
}

void scans(KernelBench& b, DType type, std::int64_t rows, std::int64_t columns, int axis) {
  const View x = b.random({rows, columns}, type), y = b.poisoned({rows, columns}, type);
  const double bytes = static_cast<double>(rows * columns) * bits(type) / 8;
  for (const kernels::ScanKind op : {kernels::ScanKind::sum, kernels::ScanKind::max, kernels::ScanKind::log_sum_exp}) {
    const char* names[] = {"scan sum", "", "scan max", "", "scan log-sum-exp"};
    b.measure(
        std::format("{} {} [{}, {}]{}", names[static_cast<int>(op)], name(type), rows, columns, axis ? "" : " down"),
        Unit::bytes, 2 * bytes, [&](Stream& s) { kernels::scan(s, op, x, y, axis); },
        [&] {
          double sum = 0, top = -INFINITY, total = 0;
          const std::int64_t n = std::min<std::int64_t>(axis ? columns : rows, 500);
          for (std::int64_t i = 0; i < n; ++i) {
            const double v = b.read(x, axis ? i : i * columns, 1)[0];
            sum += v;
            top = std::max(top, v);
            total += std::exp(v);
          }
          const double expected = op == kernels::ScanKind::sum   ? sum
                                  : op == kernels::ScanKind::max ? top
                                                                 : std::log(total);
          return close(b.read(y, axis ? n - 1 : (n - 1) * columns, 1)[0], expected, 0.02);
        },
        {.functions = static_cast<double>(rows * columns) * (op == kernels::ScanKind::log_sum_exp ? 16 : 2)});
  }
}

void move_cases(KernelBench& b) {
  for (const DType type : {DType::f32, DType::f16}) moves(b, type);
}

void scan_cases(KernelBench& b) {
  for (const DType type : {DType::f32, DType::f16}) {
    const std::int64_t count = b.bytes() * 8 / bits(type);
    scans(b, type, count / 1024, 1024, 1);
    scans(b, type, count / 65536, 65536, 1);
    scans(b, type, 1, count, 1);
    scans(b, type, 16, count / 16, 1);
    scans(b, type, 8192, count / 8192, 0);
    scans(b, type, count / 1024, 1024, 0);
  }
}

const bool registered = register_cases("move", move_cases) && register_cases("scan", scan_cases);

}  // namespace
}  // namespace weft::bench
