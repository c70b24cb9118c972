// Samplers of distributions with parameters: checks, and the launches of sampler.wgsl and categorical.wgsl.
#include "kernels/random/sampler.h"

#include <array>
#include <utility>

#include "core/format.h"
#include "kernels/call.h"
#include "kernels/check.h"
#include "kernels/common/chunks.h"
#include "kernels/common/memory.h"
#include "kernels/plan_cache.h"
#include "kernels/plan_state.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"
#include "weft/kernels/random.h"

namespace weft::kernels {
namespace {

using Form = SamplerProblem::Form;
constexpr std::string_view kNames[] = {"random_gamma", "random_gamma", "random_poisson", "random_binomial",
                                       "random_geometric"};
constexpr std::string_view kForms[] = {"gamma", "gamma", "poisson", "binomial", "geometric"};
std::string_view name_of(Form form) { return kNames[static_cast<int>(form)]; }

void check_key(std::string_view name, const View& key) {
  if (key.shape() != Shape{2}) throw InvalidArgument("{}: key is {}; expected u32 [2]", name, to_string(key));
}

// The view with an operand's axes broadcast to y's.
View broadcast_to(std::string_view name, std::string_view operand, const View& v, const View& y) {
  const auto fail = [&] {
    throw InvalidArgument("{}: {} is {}, which does not broadcast to y {}", name, operand, to_string(v), to_string(y));
  };
  const int missing = y.rank() - v.rank();
  if (missing < 0) fail();
  View all = v;
  all.layout.shape = y.shape();
  all.layout.strides = {};
  for (int d = 0; d < y.rank(); ++d) {
    const bool own = d >= missing;
    const std::int64_t size = own ? v.shape()[d - missing] : 1;
    if (size != 1 && size != y.shape()[d]) fail();
    all.layout.strides.push_back(size == 1 ? 0 : v.strides()[d - missing]);
  }
  return all;
}

// Calls f(views, first) with pieces of views of one row-major shape that fit bindings, in order; `first` is a piece's
// first element. The last `uncut` axes stay whole, and do not count as elements.
template <class F>
void in_pieces(const gpu::Capabilities& can, std::string_view name, std::vector<View> views, int uncut,
               std::int64_t first, const F& f) {
  bool far = false;
  for (const View& v : views) far = far || span_bytes(v) > chunk_limit(can) || v.count() > kMaxElements;
  if (!far) return f(std::as_const(views), first);
  const int rank = views[0].rank() - uncut;
  int axis = 0;
  while (axis < rank && views[0].shape()[axis] == 1) ++axis;
  if (axis == rank) {
    throw Unsupported("{}: {} has rows that cannot be cut; this device binds {} bytes", name, to_string(views[0]),
                      can.max_binding);
  }
  std::int64_t inside = 1;
  for (int d = axis + 1; d < rank; ++d) inside *= views[0].shape()[d];
  const std::int64_t size = views[0].shape()[axis], half = std::min(first_half(size), size - 1);
  for (const auto& [begin, count] : {std::pair{std::int64_t{0}, half}, {half, size - half}}) {
    std::vector<View> part;
    for (const View& v : views) part.push_back(chunk_along(v, axis, begin, count, name));
    in_pieces(can, name, std::move(part), uncut, first + begin * inside, f);
  }
}

void sampler_part(gpu::Commands& commands, const SamplerProblem& p, std::int64_t first) {
  std::vector<Strides> strides{p.y.strides(), p.a.strides()};
  const bool trials = p.form == Form::binomial;
  if (trials) strides.push_back(p.n.strides());
  const Collapsed c = collapse(p.y.shape(), strides);
  Call call(commands, "sampler");
  call.include("threefry").include("portable_math").opaque_zero();
  const std::uint32_t workgroup = workgroup_size(call.capabilities(), 128);
  call.read("key", p.key).read("a", p.a);
  if (trials) call.read("n", p.n);
  call.write("y", p.y);
  call.iterate(c.shape).strides("y", c.strides[0]).strides("a", c.strides[1]);
  if (trials) call.strides("n", c.strides[2]);
  call.set("form", kForms[static_cast<int>(p.form)]).set("logarithm", p.form == Form::log_gamma);
  call.set("workgroup", workgroup).set("attempts", kAttempts).set("fill", kFill);
  call.set("result", name(p.y.dtype)).set("long_trials", trials && p.n.dtype == DType::i64);
  const std::int64_t count = p.y.count();
  call.index_param("key_step", p.key.strides()[0]).index_param("count", count);
  call.param("first", static_cast<std::uint32_t>(first)).param("first_high", static_cast<std::uint32_t>(first >> 32));
  call.cost({.flops = 300.0 * static_cast<double>(count)});
  call.dispatch_groups(name_of(p.form), ceil_div(count, workgroup));
}

void run(Stream& stream, SamplerProblem p) {
  const std::string_view name = name_of(p.form);
  const bool trials = p.form == Form::binomial;
  if (trials) {
    check_views(name, {&p.key, &p.n, &p.a}, {&p.y});
  } else {
    check_views(name, {&p.key, &p.a}, {&p.y});
  }
  check_key(name, p.key);
  p.a = broadcast_to(name, p.is_gamma() ? "concentration" : p.form == Form::poisson ? "rate" : "probability", p.a, p.y);
  if (trials) p.n = broadcast_to(name, "count", p.n, p.y);
  if (trials) {
    check_memory(stream, name, {{"key", p.key}, {"count", p.n}, {"probability", p.a}}, {{"y", p.y}}, Sharing::none);
  } else {
    check_memory(stream, name, {{"key", p.key}, {"parameter", p.a}}, {{"y", p.y}}, Sharing::none);
  }
  if (p.y.count() == 0) return;
  if (stream.cpu()) return sampler_cpu(*stream.cpu(), p);
  std::vector<View> views{p.y, p.a};
  if (trials) views.push_back(p.n);
  in_pieces(stream.gpu()->device().capabilities(), name, std::move(views), 0, 0,
            [&](std::span<const View> v, std::int64_t first) {
              sampler_part(*stream.gpu(), {p.form, p.key, v[1], trials ? v[2] : View(), v[0]}, first);
            });
}

void gamma_gradient_part(gpu::Commands& commands, const View& a, const View& x, const View& y, bool logarithm) {
  const std::array<Strides, 3> strides{y.strides(), a.strides(), x.strides()};
  const Collapsed c = collapse(y.shape(), strides);
  Call call(commands, "gamma_gradient");
  const std::uint32_t workgroup = workgroup_size(call.capabilities(), 128);
  call.read("a", a).read("x", x).write("y", y).opaque_zero();
  call.iterate(c.shape).strides("y", c.strides[0]).strides("a", c.strides[1]).strides("x", c.strides[2]);
  call.set("workgroup", workgroup).set("logarithm", logarithm).index_param("count", y.count());
  call.cost({.flops = 200.0 * static_cast<double>(y.count())});
  call.dispatch_groups("random_gamma_gradient", ceil_div(y.count(), workgroup));
}

void categorical_part(gpu::Commands& commands, const CategoricalProblem& p, std::int64_t first) {
  Strides of_rows = p.x.strides();
  const std::int64_t length = p.x.shape().back(), step = of_rows.back();
  of_rows.pop_back();
  const std::array<Strides, 2> strides{of_rows, p.y.strides()};
  const Collapsed c = collapse(p.y.shape(), strides);
  Call call(commands, "categorical");
  call.include("threefry").include("portable_math").opaque_zero();
  const std::uint32_t workgroup = workgroup_size(call.capabilities(), 128);
  // Four pairs of categories for a thread, where a workgroup has enough of them.
  std::uint32_t lanes = 1;
  while (lanes < workgroup && std::int64_t{lanes} * 8 < length) lanes *= 2;
  call.read("key", p.key).read("x", p.x).write("y", p.y);
  call.iterate(c.shape).strides("x", c.strides[0]).strides("y", c.strides[1]);
  call.set("workgroup", workgroup).set("lanes", lanes).set("rows", workgroup / lanes);
  const std::int64_t count = p.y.count();
  call.index_param("key_step", p.key.strides()[0]).index_param("x_step", step);
  call.index_param("count", count).index_param("length", length).index_param("first", first);
  call.cost({.flops = 80.0 * static_cast<double>(count) * static_cast<double>(length)});
  call.dispatch_groups("random_categorical", ceil_div(count, std::int64_t{workgroup / lanes}));
}

}  // namespace

void random_gamma(Stream& stream, const View& key, const View& concentration, const View& y, bool logarithm) {
  call(stream, CallKey("random_gamma", logarithm), {key, concentration, y}, [&](Stream& s) {
    run(s, {.form = logarithm ? Form::log_gamma : Form::gamma, .key = key, .a = concentration, .y = y});
  });
}

void random_gamma_gradient(Stream& stream, const View& concentration, const View& sample, const View& y,
                           bool logarithm) {
  call(stream, CallKey("random_gamma_gradient", logarithm), {concentration, sample, y}, [&](Stream& s) {
    constexpr std::string_view kName = "random_gamma_gradient";
    check_views(kName, {&concentration, &sample}, {&y});
    const View a = broadcast_to(kName, "concentration", concentration, y), x = broadcast_to(kName, "sample", sample, y);
    check_memory(s, kName, {{"concentration", a}, {"sample", x}}, {{"y", y}});
    if (y.count() == 0) return;
    if (s.cpu()) return gamma_gradient_cpu(*s.cpu(), a, x, y, logarithm);
    in_pieces(s.gpu()->device().capabilities(), kName, {y, a, x}, 0, 0, [&](std::span<const View> v, std::int64_t) {
      gamma_gradient_part(*s.gpu(), v[1], v[2], v[0], logarithm);
    });
  });
}

void random_poisson(Stream& stream, const View& key, const View& rate, const View& y) {
  call(stream, CallKey("random_poisson"), {key, rate, y},
       [&](Stream& s) { run(s, {.form = Form::poisson, .key = key, .a = rate, .y = y}); });
}

void random_binomial(Stream& stream, const View& key, const View& count, const View& probability, const View& y) {
  call(stream, CallKey("random_binomial"), {key, count, probability, y},
       [&](Stream& s) { run(s, {.form = Form::binomial, .key = key, .a = probability, .n = count, .y = y}); });
}

void random_geometric(Stream& stream, const View& key, const View& probability, const View& y) {
  call(stream, CallKey("random_geometric"), {key, probability, y},
       [&](Stream& s) { run(s, {.form = Form::geometric, .key = key, .a = probability, .y = y}); });
}

void random_categorical(Stream& stream, const View& key, const View& logits, const View& y, int axis) {
  call(stream, CallKey("random_categorical", axis), {key, logits, y}, [&](Stream& s) {
    constexpr std::string_view kName = "random_categorical";
    check_views(kName, {&key, &logits}, {&y});
    check_key(kName, key);
    CategoricalProblem p{key, logits, y};
    const int along = normalize_axis(axis, logits.rank(), kName);
    Layout& x = p.x.layout;
    const std::int64_t length = x.shape[along], step = x.strides[along];
    x.shape.erase(along);
    x.strides.erase(along);
    if (y.shape() != x.shape || length == 0 || length > std::int64_t{1} << 31) {
      throw InvalidArgument(
          "{}: logits are {}, y is {}, the axis {}; expected y of the logits' other axes, and 1 to 2^31 categories",
          kName, to_string(logits), to_string(y), axis);
    }
    if (y.count() > std::int64_t{1} << 32) throw Unsupported("{}: {}; at most 2^32 rows", kName, to_string(y));
    x.shape.push_back(length);
    x.strides.push_back(step);
    check_memory(s, kName, {{"key", key}, {"logits", logits}}, {{"y", y}}, Sharing::none);
    if (y.count() == 0) return;
    if (s.cpu()) return categorical_cpu(*s.cpu(), p);
    View rows = y;  // repeated along the categories
    rows.layout.shape.push_back(length);
    rows.layout.strides.push_back(0);
    const gpu::Capabilities& can = s.gpu()->device().capabilities();
    // A row whose categories lie so far apart that no binding has all of them is copied.
    GpuScratch scratch(*s.gpu());
    if (span_bytes(View(p.x.buffer, p.x.offset, p.x.dtype, Shape{length}, Strides{step})) > chunk_limit(can)) {
      const View bytes = scratch.take(byte_size(p.x.dtype, static_cast<std::uint64_t>(p.x.count())));
      const View dense(bytes.buffer, bytes.offset, p.x.dtype, p.x.shape());
      copy(s, p.x, dense);
      p.x = dense;
    }
    in_pieces(can, kName, {p.x, rows}, 1, 0, [&](std::span<const View> v, std::int64_t first) {
      CategoricalProblem part{key, v[0], v[1]};
      part.y.layout.shape.pop_back();
      part.y.layout.strides.pop_back();
      categorical_part(*s.gpu(), part, first);
    });
  });
}

}  // namespace weft::kernels
