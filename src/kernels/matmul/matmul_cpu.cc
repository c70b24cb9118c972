// The matrix product on the CPU's cores: oneDNN multiplies blocks that stay in a core's cache, and the epilogue runs
// over each block while it is there.
#include <map>

#include "cpu/onednn.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/row_store.h"
#include "kernels/twin.h"

namespace weft::kernels {
namespace {

using dnnl::memory;

// A product of two matrices as oneDNN compiles it.
struct BlockKey {
  std::int64_t m, n, k, a_row, a_col, b_row, b_col, pitch;
  DType type;
  auto operator<=>(const BlockKey&) const = default;
};

// One compiled product with its memory objects; belongs to one thread.
struct Block {
  dnnl::matmul matmul;
  memory a, b, y;
  std::unordered_map<int, memory> arguments;

  explicit Block(const BlockKey& key) {
    const auto type = key.type == DType::f32 ? memory::data_type::f32
                      : key.type == DType::f16 ? memory::data_type::f16 : memory::data_type::bf16;
    const dnnl::engine& engine = cpu::onednn_engine();
    const memory::desc a_desc({key.m, key.k}, type, memory::dims{key.a_row, key.a_col});
    const memory::desc b_desc({key.k, key.n}, type, memory::dims{key.b_row, key.b_col});
    const memory::desc y_desc({key.m, key.n}, memory::data_type::f32, memory::dims{key.pitch, 1});
    matmul = dnnl::matmul(dnnl::matmul::primitive_desc(engine, a_desc, b_desc, y_desc));
    a = memory(a_desc, engine, nullptr);
    b = memory(b_desc, engine, nullptr);
    y = memory(y_desc, engine, nullptr);
    arguments = {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, y}};
  }

  void run(std::byte* a_data, std::byte* b_data, float* y_data) {
    a.set_data_handle(a_data);
    b.set_data_handle(b_data);
    y.set_data_handle(y_data);
    matmul.execute(cpu::onednn_stream(), arguments);
  }
};

// This thread's compiled products. Shapes may go on changing, so it starts again when it has very many.
Block& block(const BlockKey& key) {
  constexpr std::size_t kMost = 512;
  thread_local std::map<BlockKey, Block> blocks;
  if (blocks.size() > kMost) blocks.clear();
  auto found = blocks.find(key);
  if (found == blocks.end()) found = blocks.emplace(key, Block(key)).first;
  return found->second;
}

// True if oneDNN has vector code for matrices laid out like this: one unit stride, no overlap.
bool is_plain(const View& view) {
  const auto fits = [&](int inner, int outer) {
    return (view.strides()[inner] == 1 || view.shape()[inner] == 1) &&
           (view.strides()[outer] >= view.shape()[inner] || view.shape()[outer] == 1);
  };
  return fits(-1, -2) || fits(-2, -1);
}

// The matrices in type `to`, dense each; batches that repeat (stride 0) are kept once.
View packed(cpu::Executor& executor, const View& view, DType to = DType::f32) {
  const int rank = view.rank();
  Layout layout;
  layout.shape = view.shape();
  layout.strides = Strides::filled(rank, 0);
  std::int64_t count = 1;
  for (int d = rank - 1; d >= 0; --d) {
    if (d < rank - 2 && view.strides()[d] == 0) continue;
    layout.strides[d] = count;
    count *= view.shape()[d];
  }
  const View result(Buffer::host(static_cast<std::uint64_t>(count) * 4), 0, to, layout.shape, layout.strides);

  Expression widen;
  const int v = widen.input(view.dtype);
  widen.output(view.dtype == to ? v : widen.cast(v, to));
  const CpuExpression run(widen);
  Shape rows;
  for (int d = 0; d < rank - 1; ++d) rows.push_back(layout.strides[d] == 0 && d < rank - 2 ? 1 : view.shape()[d]);
  const std::int64_t cols = view.shape()[-1];
  parallel(executor, element_count(rows), std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(cols, 1)),
           [&](std::int64_t begin, std::int64_t end) {
    CpuExpression::Registers registers(run);
    for (std::int64_t r = begin; r < end; ++r) {
      const CpuExpression::Row source{view.buffer.data() + view.offset, batch_offset(view, rows, r), view.strides()[-1]};
      const CpuExpression::Row target{result.buffer.data(), batch_offset(result, rows, r), 1};
      run.evaluate(registers, std::span(&source, 1), std::span(&target, 1), cols);
    }
  });
  return result;
}

// How y is cut into blocks that a core works on.
struct Cut {
  std::int64_t rows, cols;
};

Cut cut(const MatmulProblem& p, int threads) {
  constexpr std::int64_t kBlock = 128 << 10;        // elements: half of a common second-level cache
  constexpr std::int64_t kLeastWork = 512 << 10;    // multiplications worth a task of their own
  Cut c{p.m, p.n};
  const auto halve = [](std::int64_t& size, std::int64_t unit) { size = (size / 2 + unit - 1) / unit * unit; };
  // Columns split before rows where rows are few: b's columns are then packed once only.
  const auto split = [&] {
    if (c.cols > 64 && (c.rows <= 256 || c.rows < c.cols)) halve(c.cols, 64);
    else if (c.rows > 32) halve(c.rows, 16);
    else return false;
    return true;
  };
  while (c.rows * c.cols > kBlock && split()) {
  }
  const auto blocks = [&] { return p.batches() * ((p.m + c.rows - 1) / c.rows) * ((p.n + c.cols - 1) / c.cols); };
  const std::int64_t work = p.batches() * p.m * p.n * p.k;
  while (threads > 1 && blocks() < threads * (work > 64 * kLeastWork ? 4 : 1) && c.rows * c.cols * p.k > 2 * kLeastWork &&
         split()) {
  }
  return c;
}

// A product with an empty k, or with one that oneDNN need not see.
void store_zeros(const MatmulProblem& p, const RowStore& store) {
  const std::vector<float> row(static_cast<std::size_t>(p.n));
  for (std::int64_t batch = 0; batch < p.batches(); ++batch) store.rows(row.data(), 0, batch, 0, p.m, 0, p.n);
}

// Integers: 8-bit ones as f32 by oneDNN, as many at a time as an f32 sums exactly; wider ones by a plain loop.
void integers(cpu::Executor& executor, const MatmulProblem& p, const RowStore& store) {
  const auto largest = [](DType t) { return t == DType::u8 ? 255 : t == DType::i8 ? 128 : 0; };
  const std::int64_t exact = largest(p.a.dtype) && largest(p.b.dtype)
                                 ? (std::int64_t{1} << 24) / (largest(p.a.dtype) * largest(p.b.dtype)) : 0;
  const View a = packed(executor, p.a, exact ? DType::f32 : DType::i32);
  const View b = packed(executor, p.b, exact ? DType::f32 : DType::i32);
  constexpr std::int64_t kRows = 32, kCols = 256;
  const std::int64_t across = (p.n + kCols - 1) / kCols, down = (p.m + kRows - 1) / kRows;
  parallel(executor, p.batches() * across * down, 1, [&](std::int64_t begin, std::int64_t end) {
    const cpu::OneThread one;
    std::vector<float> part(exact ? kRows * kCols : 0);
    std::vector<std::uint32_t> sums(kRows * kCols);  // wraps
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t batch = i / (across * down), row = i / across % down * kRows, col = i % across * kCols;
      const std::int64_t rows = std::min(kRows, p.m - row), cols = std::min(kCols, p.n - col);
      const std::int64_t a0 = batch_offset(a, p.batch, batch) + row * p.k, b0 = batch_offset(b, p.batch, batch) + col;
      std::ranges::fill(sums, 0u);
      for (std::int64_t k = 0; exact && k < p.k; k += exact) {
        block({rows, cols, std::min(exact, p.k - k), p.k, 1, p.n, 1, cols, DType::f32})
            .run(reinterpret_cast<std::byte*>(data<float>(a) + a0 + k),
                 reinterpret_cast<std::byte*>(data<float>(b) + b0 + k * p.n), part.data());
        for (std::int64_t e = 0; e < rows * cols; ++e) sums[e] += static_cast<std::uint32_t>(static_cast<std::int32_t>(part[e]));
      }
      for (std::int64_t r = 0; !exact && r < rows; ++r) {
        for (std::int64_t k = 0; k < p.k; ++k) {
          const std::uint32_t x = data<const std::uint32_t>(a)[a0 + r * p.k + k];
          const std::uint32_t* const w = data<const std::uint32_t>(b) + b0 + k * p.n;
          for (std::int64_t c = 0; c < cols; ++c) sums[r * cols + c] += x * w[c];
        }
      }
      store.rows(sums.data(), cols, batch, row, rows, col, cols);
    }
  });
}

}  // namespace

void matmul_cpu(cpu::Executor& executor, const MatmulProblem& p, const Expression* epilogue) {
  const RowStore store(p, epilogue);
  if (p.k == 0) return store_zeros(p, store);
  if (product_type(p.a.dtype) == DType::i32) return integers(executor, p, store);
  const View a = p.a.dtype == DType::f32 && is_plain(p.a) ? p.a : packed(executor, p.a);
  const View b = p.b.dtype == DType::f32 && is_plain(p.b) ? p.b : packed(executor, p.b);
  const bool straight = !epilogue && p.y.dtype == DType::f32 && p.y.strides()[-1] == 1 && p.y.strides()[-2] >= p.n;

  const Cut size = cut(p, executor.threads());
  const std::int64_t across = (p.n + size.cols - 1) / size.cols, down = (p.m + size.rows - 1) / size.rows;
  // Where a size of 1 leaves a stride open, one that makes the matrix plain.
  const auto stride = [](const View& view, int d) {
    const int other = d == -1 ? -2 : -1;
    if (view.shape()[d] != 1) return view.strides()[d];
    return view.strides()[other] == 1 ? view.shape()[other] : 1;
  };
  parallel(executor, p.batches() * across * down, 1, [&](std::int64_t begin, std::int64_t end) {
    const cpu::OneThread one;
    thread_local std::vector<float> scratch;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t batch = i / (across * down);
      const std::int64_t row = i / across % down * size.rows, col = i % across * size.cols;
      const std::int64_t rows = std::min(size.rows, p.m - row), cols = std::min(size.cols, p.n - col);
      float* y;
      if (straight) {
        y = data<float>(p.y) + batch_offset(p.y, p.batch, batch) + row * p.y.strides()[-2] + col;
      } else {
        scratch.resize(std::max(scratch.size(), static_cast<std::size_t>(rows * cols)));
        y = scratch.data();
      }
      const std::int64_t pitch = straight ? p.y.strides()[-2] : cols;
      block({rows, cols, p.k, stride(a, -2), stride(a, -1), stride(b, -2), stride(b, -1), pitch, DType::f32})
          .run(reinterpret_cast<std::byte*>(data<float>(a) + batch_offset(a, p.batch, batch) + row * a.strides()[-2]),
               reinterpret_cast<std::byte*>(data<float>(b) + batch_offset(b, p.batch, batch) + col * b.strides()[-1]), y);
      if (!straight) store.rows(y, cols, batch, row, rows, col, cols);
    }
  });
}

}  // namespace weft::kernels
