// Fourier transforms: checks, and the launches of fft.wgsl.
#include <bit>
#include <cmath>
#include <numeric>

#include "core/format.h"
#include "core/str_cat.h"
#include "kernels/call.h"
#include "kernels/check.h"
#include "kernels/common/chunks.h"
#include "kernels/common/element_work.h"
#include "kernels/common/memory.h"
#include "kernels/common/prologue.h"
#include "kernels/fft/butterfly.h"
#include "kernels/fft/fft.h"
#include "kernels/fft/fft_cpu.h"
#include "kernels/fft/plan.h"
#include "kernels/fft/problem.h"
#include "kernels/matmul/epilogue.h"
#include "kernels/plan_cache.h"
#include "kernels/plan_state.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

using Complex = std::complex<double>;

constexpr int kLargestRadix = 16;
// Columns of a pass that is not the only one: four elements are a sector of memory.
constexpr std::int64_t kLeastColumns = 4;
// Elements of a row of workgroup memory that holds n of them; padded: one free element behind every 16, so that stages
// whose strides are powers of two use all banks.
std::int64_t pitch_of(std::int64_t n, bool padded) { return (padded ? n + (n >> 4) : n) | 1; }

// What a workgroup does.
struct Form {
  std::vector<int> radices;
  std::int64_t threads = 1, columns = 1, pitch = 1;
  bool padded = true, halves = false;
};

// Threads of a transform: those that leave the fewest idle, each with about 16 elements.
std::int64_t threads_of(std::int64_t n, std::span<const int> radices, std::int64_t most) {
  std::int64_t best = 0;
  double least = 0;
  const std::int64_t few = std::max<std::int64_t>(ceil_div(n, 20), 1);
  for (std::int64_t t = few; t <= std::min(most, std::max<std::int64_t>(n / 4, few)); ++t) {
    std::int64_t slots = 0, registers = 0;
    for (const int r : radices) {
      const std::int64_t own = ceil_div(n / r, t) * r;
      slots += own * t;
      registers = std::max(registers, own);
    }
    const double cost = static_cast<double>(slots) * (registers > 20 ? 2 : registers < 8 ? 1.1 : 1);
    if (best == 0 || cost < least) {
      best = t;
      least = cost;
    }
  }
  return best ? best : std::max<std::int64_t>(most, 1);
}

// The longest transform of a pass of which so many fit a workgroup.
std::int64_t longest_pass(const gpu::Capabilities& can, std::int64_t columns) {
  const std::int64_t held = can.max_workgroup_memory / 4 / columns - 1;
  const std::int64_t threads = std::min<std::int64_t>(can.max_workgroup_size, 512);
  return std::min<std::int64_t>(held, threads / columns * 16);
}

// `across`: adjacent threads take adjacent transforms, whose elements lie side by side in memory.
Form form_of(const gpu::Capabilities& can, std::int64_t n, std::int64_t transforms, bool across) {
  Form form{.radices = n > 1 ? radices_of(n, kLargestRadix) : std::vector<int>{1}};
  const auto bytes = [&](std::int64_t columns, bool padded, bool halves) {
    return pitch_of(n, padded) * columns * (halves ? 4 : 8);
  };
  const std::int64_t most = std::min<std::int64_t>(can.max_workgroup_size, 512);
  form.threads = threads_of(n, form.radices, most / (across ? kLeastColumns : 1));
  std::int64_t best = 0;
  if (across) {
    // As many columns as make a line of memory, if need be by exchanging real and imaginary parts after each other.
    const std::int64_t usual = std::min<std::int64_t>(can.max_workgroup_memory, 36 << 10);
    for (std::int64_t columns = std::max<std::int64_t>(16, 128 / form.threads); columns >= 1 && !best; columns /= 2) {
      if (columns > kLeastColumns && (columns * form.threads > most || columns / 2 >= transforms)) continue;
      for (const bool halves : {false, true}) {
        if (bytes(columns, true, halves) > usual) continue;
        form.halves = halves;
        best = columns;
        break;
      }
    }
  } else {
    // Whole subgroups.
    double least = 0;
    for (std::int64_t columns = 1; columns * form.threads <= std::max(form.threads, std::min<std::int64_t>(most, 256));
         columns *= 2) {
      if (columns > 1 && (bytes(columns, true, false) > can.max_workgroup_memory / 2 || columns / 2 >= transforms))
        break;
      const std::int64_t all = columns * form.threads;
      const double idle = static_cast<double>(ceil_div(all, 32) * 32) / static_cast<double>(all);
      if (!best || idle < least - 0.02 || all <= 64) {
        least = idle;
        best = columns;
      }
    }
  }
  form.columns = std::max<std::int64_t>(best, 1);
  form.padded = bytes(form.columns, true, form.halves) <= can.max_workgroup_memory;
  if (bytes(form.columns, form.padded, form.halves) > can.max_workgroup_memory) form.halves = true;
  form.pitch = pitch_of(n, form.padded);
  return form;
}

// ---- Tables

struct Tables {
  std::vector<float> words;
  std::int64_t size() const { return static_cast<std::int64_t>(words.size() / 2); }
  void add(Complex v) {
    words.push_back(static_cast<float>(v.real()));
    words.push_back(static_cast<float>(v.imag()));
  }
  std::int64_t add(std::span<const Complex> list) {
    const std::int64_t at = size();
    for (const Complex v : list) add(v);
    return at;
  }
};

// The factors w^1 … w^(r-1) of a stage are those of a step and its multiples, w^1 … w^(step-1), w^step, w^(2 step) …,
// or a product of two of them. Each is a row of the table, in the order of the threads.
int step_of(int radix) { return radix < 6 ? radix : radix < 12 ? 3 : 4; }
struct StageTables {
  std::vector<std::string> offsets, spans, steps;
};
StageTables add_stages(Tables& tables, std::span<const int> radices) {
  StageTables stages;
  std::int64_t span = 1;
  for (const int r : radices) {
    const int step = step_of(r);
    stages.offsets.push_back(std::to_string(tables.size()));
    stages.spans.push_back(std::to_string(span));
    stages.steps.push_back(std::to_string(step));
    for (int k = 1; k < r && span > 1; ++k) {
      if (k >= step && k % step) continue;
      for (std::int64_t q = 0; q < span; ++q) {
        tables.add(root_of_unity(static_cast<std::uint64_t>(q * k), static_cast<std::uint64_t>(span * r)));
      }
    }
    span *= r;
  }
  return stages;
}

// ---- Passes

struct Pass {
  std::int64_t points = 1;
  std::vector<std::int64_t> before;
  std::int64_t suffixes = 1;
  bool last = true, from_x = true, to_y = true;
  bool filters = false;
  int rounds = 1;
};

struct Transform {
  std::int64_t length = 1, total = 1;  // n, and what is transformed: n or Bluestein's m
  bool chirps = false;
  std::vector<Pass> passes;
  std::vector<Complex> chirp, filter;
  int scratches() const { return passes.size() == 1 ? 0 : chirps ? 2 : 1; }
  std::uint64_t scratch_bytes(std::int64_t rows) const {
    return static_cast<std::uint64_t>(rows * total * scratches()) * 8;
  }
};

// `across`: rows lie across memory, so that several must be done together.
Transform plan_of(const gpu::Capabilities& can, FftKind kind, std::int64_t n, bool across) {
  Transform t{.length = n, .total = n, .chirps = !is_smooth(n)};
  if (t.chirps) {
    if (n > std::int64_t{1} << 40) throw Unsupported("{}: a length of {} exceeds every device", fft_name(kind), n);
    t.total = smooth_length(2 * n - 1);
    t.chirp = chirp(n);
    t.filter = transform(chirp_kernel(t.chirp, t.total));
  }
  std::vector<std::int64_t> lengths{t.total};
  if (t.total > longest_pass(can, across ? kLeastColumns : 1))
    lengths = pass_lengths(t.total, longest_pass(can, kLeastColumns));
  const std::size_t count = lengths.size();
  if (count == 1 && t.chirps) {
    t.passes.push_back({.points = t.total, .rounds = 2});
    return t;
  }
  for (int round = 0; round < (t.chirps ? 2 : 1); ++round) {
    const bool final = !t.chirps || round == 1;
    for (std::size_t k = 0; k < count; ++k) {
      const std::span list(lengths);
      const auto behind = list.subspan(k + 1);
      t.passes.push_back({.points = lengths[k],
                          .before = {lengths.begin(), lengths.begin() + static_cast<std::ptrdiff_t>(k)},
                          .suffixes = std::accumulate(behind.begin(), behind.end(), std::int64_t{1}, std::multiplies()),
                          .last = k + 1 == count,
                          .from_x = k == 0 && round == 0,
                          .to_y = k + 1 == count && final,
                          .filters = k + 1 == count && !final});
    }
  }
  return t;
}

View upload(const gpu::Device& device, const Tables& tables) {
  const std::span<const float> words(tables.words);
  const Buffer buffer = device.allocate(std::max<std::uint64_t>(words.size_bytes(), 8));
  if (!words.empty()) device.upload(buffer, 0, std::as_bytes(words));
  return {buffer, 0, DType::f32, {static_cast<std::int64_t>(std::max<std::size_t>(words.size(), 2))}};
}

// True if adjacent elements of operand k belong to different rows.
bool across(const FftProblem& p, std::size_t k) {
  if (p.rows.shape.rank() == 0) return false;
  const std::int64_t between = p.rows.strides[k].back(), along = p.steps[k];
  return between != 0 && std::abs(between) < std::abs(along);
}

// All launches of a pass, for pieces of the rows.
class PassLaunch {
 public:
  PassLaunch(gpu::Commands& commands, const FftProblem& p, const Transform& t, const Pass& pass, bool rows_fastest)
      : t_(t), pass_(pass), rows_fastest_(rows_fastest) {
    const gpu::Capabilities& can = commands.device().capabilities();
    const bool alone = t.passes.size() == 1;
    const std::int64_t transforms = p.count * (t.total / pass.points);
    form_ = form_of(can, pass.points, transforms, !alone || across(p, 0) || across(p, p.y_place()));
    Tables tables;
    stages_ = add_stages(tables, form_.radices);
    if (t.chirps && (pass.from_x || pass.to_y)) chirp_ = tables.add(t.chirp);
    if (pass.filters || pass.rounds == 2) filter_ = tables.add(t.filter);
    if (!pass.last) {
      const auto period = static_cast<std::uint64_t>(pass.points * pass.suffixes);
      bits_ = static_cast<int>(std::bit_width(period) + 1) / 2;
      fine_ = tables.size();
      for (std::uint64_t k = 0; k < std::uint64_t{1} << bits_; ++k) tables.add(root_of_unity(k % period, period));
      coarse_ = tables.size();
      for (std::uint64_t k = 0; k < period; k += std::uint64_t{1} << bits_) tables.add(root_of_unity(k, period));
    }
    table_ = upload(commands.device(), tables);
  }

  // `from` and `to`: where the scratch that it reads and writes begins, in elements.
  void run(gpu::Commands& commands, const FftProblem& p, const View& scratch, std::int64_t from,
           std::int64_t to) const {
    Call call(commands, "fft");
    Shape rows = p.rows.shape;
    if (rows.rank() == 0) rows.push_back(1);
    if (pass_.from_x || pass_.to_y) call.iterate(rows);
    const auto add = [&](const std::string& operand, const View& v, std::size_t place, bool writes) {
      Strides strides = p.rows.strides[place];
      if (strides.rank() == 0) strides.push_back(0);
      (writes ? call.write(operand, v) : call.read(operand, v)).strides(operand, strides);
      call.index_param(operand + "_step", p.steps[place]);
    };
    std::vector<std::string> inputs, operands;
    if (pass_.from_x) {
      for (std::size_t k = 0; k < p.inputs.size(); ++k) {
        inputs.push_back(p.prologue ? str_cat("in", k) : "x");
        add(inputs.back(), p.inputs[k], k, false);
      }
    }
    if (pass_.to_y) {
      for (std::size_t k = 0; k < p.operands.size(); ++k) {
        operands.push_back(str_cat("e", k));
        add(operands.back(), p.operands[k], p.operand_place(k), false);
      }
      add("y", p.y, p.y_place(), true);
    }
    const bool prologue = pass_.from_x && p.prologue, epilogue = pass_.to_y && p.epilogue;
    if (prologue) call.expression(*p.prologue, ExpressionRole::prologue);
    call.epilogue(epilogue ? p.epilogue : nullptr, 1);
    call.set("inputs", inputs).set("operands", operands).set("prologue", prologue);
    if (!pass_.from_x || !pass_.to_y) {
      call.raw("scratch", scratch, "vec2<f32>", 8, pass_.to_y ? gpu::Access::read : gpu::Access::read_write);
      call.index_param("from_at", from).index_param("to_at", to);
    }
    call.raw("table", table_, "vec2<f32>", 8, gpu::Access::read);

    const std::int64_t locals = t_.total / pass_.points, transforms = p.count * locals;
    const bool alone = t_.passes.size() == 1;
    // The first stage follows x in memory or, in a column of a longer transform, the columns; the last one follows the
    // results.
    const bool first_across = alone ? across(p, 0) : rows_fastest_ || !pass_.last;
    const bool last_across = alone ? across(p, p.y_place()) : true;
    std::vector<std::string> radices, mapped;
    for (std::size_t s = 0; s < form_.radices.size(); ++s) {
      radices.push_back(std::to_string(form_.radices[s]));
      const bool last = s + 1 == form_.radices.size() && s > 0;
      mapped.emplace_back((last ? last_across : first_across) ? "across" : "along");
    }
    std::vector<std::string> before;
    std::int64_t before_product = 1;
    for (const std::int64_t n : pass_.before) {
      before.push_back(std::to_string(n));
      before_product *= n;
    }
    call.set("butterflies", butterflies_wgsl(form_.radices)).set("radices", radices).set("mapped", mapped);
    call.set("spans", stages_.spans)
        .set("offsets", stages_.offsets)
        .set("steps", stages_.steps)
        .set("points", pass_.points)
        .set("rounds", pass_.rounds);
    call.set("threads", form_.threads)
        .set("columns", form_.columns)
        .set("pitch", form_.pitch)
        .set("halves", form_.halves);
    call.set("padded", form_.padded).set("rows_fastest", rows_fastest_).set("single", alone).set("last", pass_.last);
    call.set("before", before).set("before_product", before_product).set("filters", pass_.filters);
    call.set("source", pass_.from_x ? "x" : "scratch").set("sink", pass_.to_y ? "y" : "scratch");
    constexpr const char* kKinds[] = {"complex", "real_to_complex", "complex_to_real"};
    call.set("kind", kKinds[static_cast<int>(p.kind)]).set("inverse", p.options.inverse).set("chirps", t_.chirps);
    const std::int64_t whole = p.kind == FftKind::complex_to_real ? p.length() / 2 + 1 : p.length();
    call.set("cut", p.given() < whole).set("y_cut", p.y_size() < t_.total);

    call.index_param("count", transforms).index_param("rows", p.count).index_param("locals", locals);
    call.index_param("suffixes", pass_.suffixes).index_param("total", t_.total).index_param("length", p.length());
    call.index_param("given", p.given()).index_param("wanted", p.y_size());
    call.param("scale", static_cast<float>(p.options.scale));
    call.index_param("chirp", chirp_).index_param("filter_at", filter_).index_param("fine", fine_);
    call.index_param("coarse", coarse_).param("fine_mask", (std::uint32_t{1} << bits_) - 1);
    call.param("fine_bits", static_cast<std::uint32_t>(bits_));

    double operations = 0;
    for (const int r : form_.radices) operations += (6 + 1.5 * r) * static_cast<double>(pass_.points * pass_.rounds);
    const auto bytes = [](const View& v) { return byte_size(v.dtype, static_cast<std::uint64_t>(v.count())); };
    const std::uint64_t row = static_cast<std::uint64_t>(p.count * t_.total) * 8;
    std::uint64_t moved = pass_.to_y ? bytes(p.y) : row;
    for (const View& v : p.inputs) moved += pass_.from_x ? bytes(v) : 0;
    for (const View& v : p.operands) moved += pass_.to_y ? bytes(v) : 0;
    if (!pass_.from_x) moved += row;
    Work work = work_of({}, pass_.from_x ? static_cast<double>(p.x().count()) : 0, prologue ? p.prologue : nullptr,
                        pass_.to_y ? static_cast<double>(p.y.count()) : 0, epilogue ? p.epilogue : nullptr);
    work.bytes = moved;
    work.flops += operations * static_cast<double>(transforms);
    call.cost(work);
    std::string name;
    for (const std::string& r : radices) name += (name.empty() ? "" : "_") + r;
    call.variant(name, !t_.chirps          ? alone ? "fits a workgroup" : "a pass of several"
                       : pass_.rounds == 2 ? "Bluestein's algorithm in a workgroup"
                                           : "a pass of Bluestein's algorithm");
    call.dispatch_groups(fft_name(p.kind), ceil_div(transforms, form_.columns));
  }

 private:
  const Transform& t_;
  const Pass& pass_;
  bool rows_fastest_;
  Form form_;
  StageTables stages_;
  std::int64_t chirp_ = 0, filter_ = 0, fine_ = 0, coarse_ = 0;
  int bits_ = 0;
  View table_;
};

// ---- Calls

// The rows of a problem's views.
void find_rows(FftProblem& p) {
  std::vector<const View*> views;
  for (const View& v : p.inputs) views.push_back(&v);
  views.push_back(&p.y);
  for (const View& v : p.operands) views.push_back(&v);
  Shape outer;
  std::vector<Strides> strides(views.size());
  p.steps.clear();
  for (std::size_t k = 0; k < views.size(); ++k) {
    for (int d = 0; d < p.y.rank(); ++d) {
      if (d == p.axis) continue;
      if (k == 0) outer.push_back(p.y.shape()[d]);
      strides[k].push_back(views[k]->strides()[d]);
    }
    p.steps.push_back(views[k]->strides()[p.axis]);
  }
  p.rows = collapse(outer, strides);
  p.count = element_count(outer);
}

FftProblem check(Stream& stream, FftKind kind, const View& x, const View& y, int axis, const FftOptions& options,
                 const Fusion& fusion) {
  const std::string_view name = fft_name(kind);
  const std::int64_t length = options.length;
  const auto& [prologue, epilogue] = fusion;
  const DType results_type = kind == FftKind::complex_to_real ? DType::f32 : DType::c64;
  const View from = with_type(x, prologue_type(x, prologue)), to = epilogue.expression ? with_type(y, results_type) : y;
  check_views(name, {&from}, {&to});
  axis = normalize_axis(axis, x.rank(), name);
  if (length < 1) throw InvalidArgument("{}: length is {}; expected at least 1", name, length);
  const std::int64_t results = kind == FftKind::real_to_complex ? length / 2 + 1 : length;
  Shape expected = x.shape();
  expected[axis] = results;
  if (y.shape() != expected) {
    throw InvalidArgument("{}: y is {}; expected the shape {}, for x {} and the length {} along axis {}", name,
                          to_string(y), to_string(expected), to_string(x), length, axis);
  }
  check_memory(stream, name, {{"x", x}, {"prologue operand", prologue.operands}}, {{"y", y}}, Sharing::none);
  check_memory(stream, name, {{"epilogue operand", epilogue.operands}}, {{"y", y}}, Sharing::same_view);
  check_epilogue(name, epilogue, results_type, y);
  FftProblem p{.kind = kind,
               .options = options,
               .axis = axis,
               .y = y,
               .inputs = prologue_inputs(name, x, prologue),
               .operands = epilogue_operands(name, epilogue, y),
               .prologue = prologue.expression,
               .epilogue = epilogue.expression};
  find_rows(p);
  return p;
}

// Calls f with pieces of whole rows that fit bindings, and whose scratch is of a reasonable size.
void in_pieces(const gpu::Capabilities& can, const Transform& t, const FftProblem& p,
               const std::function<void(const FftProblem&)>& f) {
  constexpr std::uint64_t kUsualScratch = std::uint64_t{256} << 20;
  const std::uint64_t scratch = t.scratch_bytes(p.count);
  std::uint64_t largest = std::max(scratch, span_bytes(p.y));
  for (const auto* views : {&p.inputs, &p.operands}) {
    for (const View& v : *views) largest = std::max(largest, span_bytes(v));
  }
  const bool fits = largest <= chunk_limit(can) && std::max(p.x().count(), p.y.count()) <= kMaxElements &&
                    p.count * (t.total / 2 + 1) <= kMaxElements;
  if (fits && (scratch <= kUsualScratch || p.count == 1)) return f(p);
  int cut = -1;
  for (int d = 0; d < p.y.rank(); ++d) {
    if (d != p.axis && p.y.shape()[d] > 1 && (cut < 0 || p.y.shape()[d] > p.y.shape()[cut])) cut = d;
  }
  const std::string_view name = fft_name(p.kind);
  if (cut < 0) {
    throw Unsupported("{}: a row of {} elements{} takes {} bytes; this device binds {} at most", name, p.length(),
                      t.chirps ? std::format(", which has a prime above 13 and is padded to {},", t.total) : "",
                      largest, chunk_limit(can));
  }
  const std::int64_t size = p.y.shape()[cut], half = std::min(first_half(size), size - 1);
  for (const auto& [begin, count] : {std::pair{std::int64_t{0}, half}, {half, size - half}}) {
    FftProblem piece = p;
    const auto cut_all = [&](std::vector<View>& views) {
      for (View& v : views) v = chunk_along(v, cut, begin, count, name);
    };
    cut_all(piece.inputs);
    cut_all(piece.operands);
    piece.y = chunk_along(p.y, cut, begin, count, name);
    find_rows(piece);
    in_pieces(can, t, piece, f);
  }
}

void run(Stream& stream, FftKind kind, const View& x, const View& y, int axis, const FftOptions& options,
         const Fusion& fusion) {
  const FftProblem p = check(stream, kind, x, y, axis, options, fusion);
  if (y.count() == 0) return;
  if (stream.cpu()) return fft_cpu(*stream.cpu(), p);
  gpu::Commands& commands = *stream.gpu();
  const gpu::Capabilities& can = commands.device().capabilities();
  const Transform t = plan_of(can, kind, options.length, across(p, 0) || across(p, p.y_place()));
  in_pieces(can, t, p, [&](const FftProblem& piece) {
    // Rows that lie across memory stay so in the scratch: all passes then take adjacent rows.
    const auto between = [&](std::size_t k, std::int64_t step) {
      const Shape& rows = piece.rows.shape;
      return rows.rank() > 0 && rows.back() >= 8 && piece.rows.strides[k].back() == 1 && std::abs(step) > 1;
    };
    const bool rows_fastest =
        t.scratches() && between(0, piece.steps[0]) && between(piece.y_place(), piece.steps[piece.y_place()]);
    const std::int64_t elements = piece.count * t.total;
    GpuScratch memory(commands);
    std::optional<View> scratch;
    if (t.scratches()) {
      const View bytes = memory.take(t.scratch_bytes(piece.count));
      scratch.emplace(View{bytes.buffer, bytes.offset, DType::c64, {elements * t.scratches()}});
    }
    std::int64_t own = 0;  // where the scratch that a pass reads begins
    for (const Pass& pass : t.passes) {
      const std::int64_t from = own;
      if (pass.filters) own = elements;  // results go to other places than the elements that they are made of
      PassLaunch(commands, piece, t, pass, rows_fastest).run(commands, piece, scratch ? *scratch : piece.y, from, own);
    }
  });
}

}  // namespace

void fft(Stream& stream, FftKind kind, const View& x, const View& y, int axis, const FftOptions& options,
         const Fusion& fusion) {
  CallKey key("fft", kind, axis, options.length, options.inverse, options.scale, fusion.prologue.expression,
              fusion.epilogue.expression);
  call(stream, std::move(key), {x, fusion.prologue.operands, fusion.epilogue.operands, y},
       [&](Stream& s) { run(s, kind, x, y, axis, options, fusion); });
}

}  // namespace weft::kernels
