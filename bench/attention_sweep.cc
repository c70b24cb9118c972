// Times the variants of the attention kernel for the shapes of sentence encoders on one adapter. Each result is checked
// against the CPU's on the first and last sequence of the batch.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <random>

#include "core/format.h"
#include "kernels/attention/attention.h"
#include "timing.h"
#include "weft/error.h"
#include "weft/kernels/attention.h"
#include "weft/small_float.h"

using namespace weft;
using bench::Clock;
using bench::seconds_since;
using kernels::attention_can_run;
using kernels::AttentionCall;
using kernels::AttentionKind;
using kernels::AttentionVariant;

namespace {

struct Options {
  gpu::DeviceOptions device;
  std::string dtype = "f32", mask = "keys", only;
  std::vector<std::string> variants;
  std::vector<std::string> shapes{"1x16", "1x128", "1x512", "32x128", "32x512", "256x128", "256x512"};
  double budget = 55;
  bench::Timing timing;
  int heads = 12, kv_heads = 0, dim = 32, queries = 0;
  bool causal = false, all = false;
};

std::vector<std::byte> random_values(DType type, std::int64_t count) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<std::byte> bytes(byte_size(type, static_cast<std::uint64_t>(count)));
  for (std::int64_t i = 0; i < count; ++i) {
    const float x = normal(random);
    if (type == DType::f32) reinterpret_cast<float*>(bytes.data())[i] = x;
    if (type == DType::f16) reinterpret_cast<float16*>(bytes.data())[i] = float16(x);
    if (type == DType::bf16) reinterpret_cast<bfloat16*>(bytes.data())[i] = bfloat16(x);
  }
  return bytes;
}

// Packed [batch, length, heads + 2·kv_heads, dim] viewed as q, k and v, as a QKV projection stores it; y has q's
// layout. With --queries: caches of keys and values [batch, kv_heads, length, dim] one after the other, then that many
// queries.
struct Problem {
  std::int64_t batch, length, queries;
  DType type;
  View q, k, v, y;
  std::optional<View> mask;
  kernels::AttentionOptions options;

  static std::int64_t packed_count(const Options& o, std::int64_t batch, std::int64_t length) {
    return batch * (length * 2 * o.kv_heads + (o.queries ? o.queries : length) * o.heads) * o.dim;
  }
  static std::int64_t y_count(const Options& o, std::int64_t batch, std::int64_t length) {
    return batch * (o.queries ? o.queries : length) * o.heads * o.dim;
  }
  Problem(const Options& o, std::int64_t batch, std::int64_t length, DType type, const Buffer& packed,
          const Buffer& mask_buffer, const Buffer& out)
      : batch(batch), length(length), queries(o.queries ? o.queries : length), type(type) {
    const std::int64_t token = (o.heads + 2 * o.kv_heads) * o.dim;
    const auto element = static_cast<std::uint64_t>(bits(type) / 8);
    auto part = [&](std::int64_t first_head, std::int64_t heads) {
      return View(packed, static_cast<std::uint64_t>(first_head * o.dim) * element, type, {batch, heads, length, o.dim},
                  {length * token, o.dim, token, 1});
    };
    if (o.queries) {
      const std::int64_t one = length * o.kv_heads * o.dim, sequence = 2 * one + queries * o.heads * o.dim;
      const auto cache = [&](std::int64_t first, std::int64_t heads, std::int64_t length) {
        return View(packed, static_cast<std::uint64_t>(first) * element, type, {batch, heads, length, o.dim},
                    {sequence, length * o.dim, o.dim, 1});
      };
      k = cache(0, o.kv_heads, length);
      v = cache(one, o.kv_heads, length);
      q = cache(2 * one, o.heads, queries);
    } else {
      q = part(0, o.heads);
      k = part(o.heads, o.kv_heads);
      v = part(o.heads + o.kv_heads, o.kv_heads);
    }
    y = View(out, 0, type, {batch, o.heads, queries, o.dim}, {queries * o.heads * o.dim, o.dim, o.heads * o.dim, 1});
    if (o.mask == "keys") mask = View(mask_buffer, 0, DType::boolean, {batch, 1, 1, length});
    options = {.scale = 1 / std::sqrt(static_cast<float>(o.dim)), .causal = o.causal};
  }
  AttentionCall call() const { return AttentionCall(q, k, v, mask, y, options); }
};

// "staged:128:2:4:8:64": form, threads, rows, then splits, chunk, tile and threads of a row (staged, direct), lanes,
// chunk and splits (decode), or splits (tiled). "subgroup_matrix:4:1:16:32:1:2": subgroups along rows and columns, rows
// of a subgroup, tile, buffers, splits.
AttentionVariant parse_variant(const std::string& s, const gpu::Capabilities& capabilities) {
  AttentionVariant v;
  char form[17] = "";
  int more[4] = {0, 0, 0, 0};
  const int read = std::sscanf(s.c_str(), "%16[a-z_]:%d:%d:%d:%d:%d:%d", form, &v.threads, &v.rows, &more[0], &more[1],
                               &more[2], &more[3]);
  const std::string kind = form;
  const auto take = [&](int& target, int i) {
    if (read > 3 + i) target = more[i];
  };
  if (kind == "tiled") {
    v.kind = AttentionKind::tiled;
    take(v.kv_splits, 0);
  } else if (kind == "decode") {
    v.kind = AttentionKind::decode;
    take(v.lanes_per_key, 0), take(v.chunk, 1), take(v.kv_splits, 2);
  } else if (kind == "subgroup_matrix") {
    const auto found = kernels::attention_subgroup_matrix(capabilities, v.threads, v.rows, more[0], more[1], more[2]);
    if (!found) throw Unsupported("--variants: {}: no cooperative matrices of f16 here", s);
    v = *found;
    if (read > 6) v.kv_splits = more[3];
  } else if (kind == "staged" || kind == "direct") {
    v.staged = kind == "staged";
    take(v.splits, 0), take(v.chunk, 1), take(v.tile, 2), take(v.threads_per_row, 3);
  } else {
    throw InvalidArgument("--variants: '{}' is not staged|direct|tiled|decode|subgroup_matrix:…", s);
  }
  return v;
}

std::string text(const AttentionVariant& v) {
  if (v.kind != AttentionKind::thread_per_query) return to_string(v);
  return std::format("{}_chunk{}_tile{}{}", to_string(v), v.chunk, v.tile, v.staged ? "" : "_direct");
}

std::vector<AttentionVariant> variants(const gpu::Capabilities& caps, const AttentionCall& call, const Options& o) {
  std::vector<AttentionVariant> list{choose_attention(caps, call, 1 << 28)};
  auto add = [&](AttentionVariant v) {
    if (attention_can_run(v, call, caps)) list.push_back(v);
  };
  for (const std::string& v : o.variants) add(parse_variant(v, caps));
  if (!o.variants.empty()) return list;
  if (caps.software) {
    for (int threads : {8, 32, 128}) {
      for (int rows : {1, 2}) {
        for (int chunk : {1, 2, 4, 8}) {
          if (o.all || threads == 8) add({.staged = false, .threads = threads, .rows = rows, .chunk = chunk});
        }
      }
    }
    if (o.all) add({.threads = 128});
    return list;
  }
  for (const auto [m, n, rows] : {std::array{1, 1, 16},
                                  {1, 1, 32},
                                  {2, 1, 16},
                                  {2, 1, 32},
                                  {4, 1, 16},
                                  {8, 1, 16},
                                  {2, 2, 16},
                                  {4, 2, 16},
                                  {2, 2, 32},
                                  {4, 1, 32},
                                  {4, 2, 32},
                                  {2, 4, 32}}) {
    for (int tile : {16, 32, 64}) {
      for (int buffers : {0, 1, 2}) {
        if (const auto v = kernels::attention_subgroup_matrix(caps, m, n, rows, tile, buffers); v && call.rows() > 16)
          add(*v);
      }
    }
  }
  if (call.rows() <= 16) {
    for (int parts : {16, 32, 64, 128, 256}) {
      for (int lanes : {4, 8, 16}) {
        for (int chunk : {2, 4, 8}) {
          add({.kind = AttentionKind::decode,
               .rows = list[0].rows,
               .chunk = chunk,
               .lanes_per_key = lanes,
               .kv_splits = parts});
        }
      }
    }
    for (int threads : {64, 256}) {
      add({.kind = AttentionKind::decode,
           .threads = threads,
           .rows = list[0].rows,
           .lanes_per_key = 16,
           .kv_splits = 128});
    }
    add({.kind = AttentionKind::tiled, .rows = 2, .kv_splits = 64});
    return list;
  }
  for (int rows : {1, 2}) {
    for (int splits : {1, 2, 4, 8}) {
      for (int chunk : {4, 8}) add({.threads = 128, .rows = rows, .splits = splits, .chunk = chunk, .tile = 64});
    }
  }
  for (int tile : {16, 32, 128}) add({.threads = 128, .tile = tile});
  for (int rows : {1, 2}) add({.threads = 64, .rows = rows, .chunk = 8, .tile = 64});
  for (int rows : {1, 2}) add({.threads = 256, .rows = rows, .chunk = 8, .tile = 64});
  add({.threads = 256, .splits = 8, .tile = 64});
  add({.threads = 64, .splits = 4, .tile = 64});
  add({.staged = false, .threads = 128, .chunk = 8});
  for (int threads : {128, 256}) {
    for (int sides : {2, 4, 8}) {
      for (int tile : {8, 16, 32}) {
        for (int chunk : {4, 8})
          add({.threads = threads, .rows = 2, .threads_per_row = sides, .chunk = chunk, .tile = tile});
      }
    }
  }
  for (int rows : {2, 4}) add({.kind = AttentionKind::tiled, .threads = 128, .rows = rows});
  return list;
}

double value(const std::vector<std::byte>& bytes, DType type, std::size_t i) {
  if (type == DType::f32) return reinterpret_cast<const float*>(bytes.data())[i];
  if (type == DType::f16) return reinterpret_cast<const float16*>(bytes.data())[i];
  return reinterpret_cast<const bfloat16*>(bytes.data())[i];
}

// The largest difference; a NaN on only one side counts as infinite.
double distance(const std::vector<std::byte>& a, const std::vector<std::byte>& b, DType type) {
  double worst = 0;
  const std::size_t count = a.size() * 8 / static_cast<std::size_t>(bits(type));
  for (std::size_t i = 0; i < count; ++i) {
    const double d = std::abs(value(a, type, i) - value(b, type, i));
    worst = d <= worst ? worst : std::isnan(d) ? INFINITY : d;
  }
  return worst;
}

void sweep(gpu::Device& device, const Options& o, std::int64_t batch, std::int64_t length, Clock::time_point start) {
  const DType type = *dtype_from_name(o.dtype);
  const auto element = static_cast<std::uint64_t>(bits(type) / 8);
  const std::int64_t one = Problem::packed_count(o, 1, length), one_y = Problem::y_count(o, 1, length);
  const std::uint64_t bytes = static_cast<std::uint64_t>(one * batch) * element;
  if (bytes > device.capabilities().max_binding) {
    std::printf("%lldx%lld: %llu bytes are past this device's binding limit\n", static_cast<long long>(batch),
                static_cast<long long>(length), static_cast<unsigned long long>(bytes));
    return;
  }
  // All sequences hold the same numbers but have different masks, so that a wrong batch is noticed.
  const std::vector<std::byte> packed = random_values(type, one);
  std::vector<std::byte> mask(static_cast<std::size_t>((batch * length + 3) / 4 * 4));
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t i = 0; i < length - b * 7 % length; ++i) {
      mask[static_cast<std::size_t>(b * length + i)] = std::byte{1};
    }
  }
  const Buffer packed_gpu = device.allocate(bytes);
  const Buffer mask_gpu = device.allocate(mask.size());
  const std::uint64_t y_bytes = static_cast<std::uint64_t>(one_y) * element;
  const Buffer y_gpu = device.allocate(y_bytes * static_cast<std::uint64_t>(batch));
  for (std::int64_t b = 0; b < batch; ++b) {
    device.upload(packed_gpu, static_cast<std::uint64_t>(b) * packed.size(), packed);
  }
  device.upload(mask_gpu, 0, mask);

  // The CPU's results for the first and the last sequence.
  cpu::Executor executor;
  std::vector<std::vector<std::byte>> expected;
  for (std::int64_t b : {std::int64_t{0}, batch - 1}) {
    if (b == 0 && !expected.empty()) {
      expected.push_back(expected[0]);
      break;
    }
    const Buffer packed_cpu = Buffer::host(packed.size()), mask_cpu = Buffer::host(static_cast<std::uint64_t>(length));
    const Buffer y_cpu = Buffer::host(y_bytes);
    std::ranges::copy(packed, packed_cpu.data());
    std::copy_n(mask.data() + b * length, length, mask_cpu.data());
    attention_cpu(executor, Problem(o, 1, length, type, packed_cpu, mask_cpu, y_cpu).call());
    expected.emplace_back(y_cpu.data(), y_cpu.data() + y_bytes);
  }

  const Problem problem(o, batch, length, type, packed_gpu, mask_gpu, y_gpu);
  const AttentionCall call = problem.call();
  const double flop = 4.0 * batch * o.heads * problem.queries * length * o.dim * (o.causal && !o.queries ? 0.5 : 1);
  const double read = static_cast<double>(bytes) + static_cast<double>(y_bytes) * batch;
  const std::vector<std::byte> poison(y_bytes, std::byte{0xff});
  bool first = true;
  for (const AttentionVariant& v : variants(device.capabilities(), call, o)) {
    if (!first && text(v).find(o.only) == std::string::npos) continue;
    if (seconds_since(start) > o.budget) {
      std::printf("out of time (--budget)\n");
      return;
    }
    for (std::int64_t b : {std::int64_t{0}, batch - 1}) {
      device.upload(y_gpu, static_cast<std::uint64_t>(b) * y_bytes, poison);
    }
    const auto compile_start = Clock::now();
    gpu::Encoder encoder(device);
    attention_gpu(encoder, call, v);
    encoder.submit();
    double error = distance(device.read(y_gpu, 0, y_bytes).get(), expected[0], type);
    const double first_run = seconds_since(compile_start);
    error = std::max(error, distance(device.read(y_gpu, static_cast<std::uint64_t>(batch - 1) * y_bytes, y_bytes).get(),
                                     expected[1], type));
    const bench::Time time = bench::time_call(device, [&](Stream& s) { attention_gpu(*s.gpu(), call, v); }, o.timing);
    std::printf("%4lldx%-4lld %-52s %s %9.1f GFLOP/s %7.1f GB/s  error %.1e  first run %.0f ms%s\n",
                static_cast<long long>(batch), static_cast<long long>(length), text(v).c_str(),
                bench::to_string(time).c_str(), flop / time.wall * 1e-9, read / time.wall * 1e-9, error,
                first_run * 1e3, first ? "  (chosen)" : "");
    std::fflush(stdout);
    first = false;
  }
  device.trim();
}

}  // namespace

int main(int argc, char** argv) try {
  Options o;
  CLI::App app(
      "Times the variants of the attention kernel over shapes on one GPU, as weft_bench times, and checks "
      "each result's first and last sequence.");
  app.add_option("--device", o.device.adapter, "GPU: number, backend or part of its name");
  app.add_option("--shapes", o.shapes, "batch x length, separated by commas")->delimiter(',');
  app.add_option("--heads", o.heads);
  app.add_option("--kv-heads", o.kv_heads, "Heads of keys and values (default: as many as --heads)");
  app.add_option("--dim", o.dim, "Of a head");
  app.add_option("--queries", o.queries, "Over caches of as many keys as the shape says (default: as many as keys)");
  app.add_option("--dtype", o.dtype, "Storage")->check(CLI::IsMember({"f32", "f16", "bf16"}));
  app.add_option("--mask", o.mask, "keys: boolean [batch, 1, 1, keys], as encoders use; none")
      ->check(CLI::IsMember({"keys", "none"}));
  app.add_option("--only", o.only, "Variants whose text holds this, beside the chosen one");
  app.add_option("--budget", o.budget, "Start nothing new after so many seconds")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  bench::add_seconds_option(app, o.timing);
  bench::add_warm_up_option(app, o.timing);
  app.add_option("--variants", o.variants,
                 "These only: staged|direct:threads:rows:splits:chunk:tile:row_threads, "
                 "decode:threads:rows:lanes:chunk:splits, "
                 "tiled:threads:rows:splits, subgroup_matrix:m:n:rows:tile:buffers:splits")
      ->delimiter(',');
  app.add_flag("--causal", o.causal);
  app.add_flag("--all", o.all, "More variants on a software adapter");
  app.add_flag("--minimum", o.device.minimum, "No optional feature, smallest limits");
  app.add_flag("!--no-robustness", o.device.robustness, "Without Dawn's bounds checks in shaders");
  CLI11_PARSE(app, argc, argv);
  if (o.kv_heads == 0) o.kv_heads = o.heads;

  gpu::Device device = gpu::Device::open(o.device);
  std::printf("%s, %s; %d heads (%d of keys) of %d, %s, mask %s%s\n", device.reason().c_str(),
              device.adapter().driver.c_str(), o.heads, o.kv_heads, o.dim, o.dtype.c_str(), o.mask.c_str(),
              o.causal ? ", causal" : "");
  bench::wake(device);
  const auto start = Clock::now();
  for (const std::string& shape : o.shapes) {
    long long batch = 0, length = 0;
    if (std::sscanf(shape.c_str(), "%lldx%lld", &batch, &length) != 2 || batch < 1 || length < 1) {
      throw InvalidArgument("--shapes: '{}' is not batch x length, such as 32x128", shape);
    }
    sweep(device, o, batch, length, start);
  }
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "attention_sweep: %s\n", e.what());
  return 1;
}
