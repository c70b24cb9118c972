// Wrong calls of kernels: random problems with one corrupted view. Every kernel must do what it is asked or throw a
// typed error, the same on every device; it must never crash, hang or touch memory outside of its outputs.
#include "cpu/executor.h"
#include "support/differential.h"
#include "weft/error.h"

namespace weft::test {
namespace {

constexpr DType kAll[] = {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i8,     DType::i16,     DType::i32,
                          DType::i64, DType::u8,  DType::u16,  DType::u32, DType::u64,    DType::boolean, DType::c64,
                          DType::i4,  DType::u4,  DType::i2,   DType::u2,  DType::f8e4m3, DType::f8e5m2};

enum class Spoilt { type, size, rank, no_buffer, elsewhere, overlap_self, overlap_input, past_end, exchanged };
constexpr Spoilt kSpoilt[] = {Spoilt::type,          Spoilt::size,      Spoilt::rank,
                              Spoilt::no_buffer,     Spoilt::elsewhere, Spoilt::overlap_self,
                              Spoilt::overlap_input, Spoilt::past_end,  Spoilt::exchanged};

enum class Outcome { done, invalid, unsupported, broken };
struct Result {
  Outcome outcome = Outcome::done;
  std::string message;
};
Result outcome(const std::function<void()>& run) {
  try {
    run();
    return {};
  } catch (const InvalidArgument& e) {
    return {Outcome::invalid, e.what()};
  } catch (const Unsupported& e) {
    return {Outcome::unsupported, e.what()};
  } catch (const std::exception& e) {
    return {Outcome::broken, e.what()};
  }
}

// Whether every kernel must refuse the corrupted call.
enum class Must { nothing, refuse };

Must spoil(Rng& rng, Spoilt how, std::vector<View>& inputs, std::vector<View>& outputs, std::size_t& moved) {
  const bool is_output = inputs.empty() || how == Spoilt::overlap_self || how == Spoilt::overlap_input || rng() % 2;
  std::vector<View>& views = is_output ? outputs : inputs;
  const std::size_t k = rng() % views.size();
  View& v = views[k];
  const int axis = v.rank() ? random_int(rng, 0, v.rank() - 1) : 0;
  Shape shape = v.shape();
  moved = 0;
  switch (how) {
    case Spoilt::type:
      v = random_view(rng, shape, pick(rng, kAll), Kind::dense, Values::special);
      return Must::nothing;
    case Spoilt::size:
      if (v.rank() == 0) return Must::nothing;
      shape[axis] = std::array{shape[axis] + 1, std::max<std::int64_t>(shape[axis] - 1, 0), std::int64_t{0},
                               shape[axis] * 2}[rng() % 4];
      v = random_view(rng, shape, v.dtype);
      return Must::nothing;
    case Spoilt::rank:
      if (rng() % 2 && v.rank())
        shape.erase(axis);
      else if (v.rank() < kMaxRank)
        shape.insert(axis, 1 + static_cast<std::int64_t>(rng() % 2));
      v = random_view(rng, shape, v.dtype);
      return Must::nothing;
    case Spoilt::no_buffer:
      v.buffer = {};
      return v.count() ? Must::refuse : Must::nothing;
    case Spoilt::elsewhere:
      moved = 1 + k + (is_output ? inputs.size() : 0);
      return v.count() ? Must::refuse : Must::nothing;
    case Spoilt::overlap_self:
      if (v.rank() == 0 || shape[axis] < 2) return Must::nothing;
      v.layout.strides[axis] = 0;
      return v.count() ? Must::refuse : Must::nothing;
    case Spoilt::overlap_input: {
      if (inputs.empty()) return Must::nothing;
      View& x = inputs[rng() % inputs.size()];
      if (v.count() < 2 || x.count() < 2) return Must::nothing;
      // One buffer with x's elements at its start and v's elements from x's second element on.
      const auto bytes = [](const View& w) { return byte_size(w.dtype, static_cast<std::uint64_t>(w.count()) + 16); };
      const View memory = random_view(rng, {static_cast<std::int64_t>(bytes(x) + bytes(v))}, DType::u8);
      const std::uint64_t from = static_cast<std::uint64_t>(std::max({bits(v.dtype) / 8, bits(x.dtype) / 8, 1}));
      const View whole(memory.buffer, 0, x.dtype, x.shape());
      for (std::int64_t i = 0; i < x.count(); ++i) set_element_bits(whole, i, element_bits(x, i));
      x = whole;
      v = View(memory.buffer, from, v.dtype, v.shape());
      const bool meet = byte_size(x.dtype, static_cast<std::uint64_t>(x.count())) > from;
      return meet ? Must::refuse : Must::nothing;
    }
    case Spoilt::past_end:
      if (v.count() == 0) return Must::nothing;
      v.offset = v.buffer.size() / 16 * 16;
      return Must::refuse;
    case Spoilt::exchanged:
      if (inputs.size() > 1)
        std::swap(inputs[0], inputs[1]);
      else if (!inputs.empty())
        std::swap(inputs[0], outputs[0]);
      return Must::nothing;
  }
  return Must::nothing;
}

class Hostile : public testing::TestWithParam<std::string> {
 protected:
  gpu::Device& device() { return test::device(GetParam()); }

  // Views for a GPU call; views that share a buffer still share one.
  std::vector<View> on_device(std::span<const View> views, std::map<std::uint64_t, Buffer>& buffers) {
    std::vector<View> result;
    for (View v : views) {
      if (v.buffer) {
        Buffer& b = buffers[v.buffer.id()];
        if (!b) b = to_device(device(), v).buffer;
        v.buffer = b;
      }
      result.push_back(v);
    }
    return result;
  }

  void check(const std::string& kernel, Spoilt how, std::uint64_t seed) {
    Rng rng(seed);
    Problem p = random_problem(kernel, rng);
    std::size_t moved = 0;
    const Must must = spoil(rng, how, p.inputs, p.outputs, moved);
    std::map<std::uint64_t, Buffer> buffers;
    std::vector<View> inputs = on_device(p.inputs, buffers), outputs = on_device(p.outputs, buffers);
    struct Memory {
      Buffer host, gpu;
      std::vector<std::byte> before;
    };
    std::vector<Memory> memory;
    for (const auto* views : {&p.inputs, &p.outputs}) {
      for (const View& v : *views) {
        const bool seen = !v.buffer || std::ranges::any_of(memory, [&](const Memory& m) { return m.host == v.buffer; });
        if (!seen)
          memory.push_back({v.buffer, buffers[v.buffer.id()], {v.buffer.data(), v.buffer.data() + v.buffer.size()}});
      }
    }
    const std::vector<View> results = p.outputs;
    // On the wrong device: a view in host memory for the GPU, one in GPU memory for the CPU.
    if (moved) {
      const std::size_t k = moved - 1;
      if (k < inputs.size())
        std::swap(inputs[k], p.inputs[k]);
      else
        std::swap(outputs[k - inputs.size()], p.outputs[k - inputs.size()]);
    }
    const Result on_gpu = outcome([&] {
      gpu::Encoder encoder(device());
      p.call(encoder, inputs, outputs);
      encoder.submit();
      device().wait();
    });
    const Result on_cpu = outcome([&] {
      cpu::Executor executor;
      p.call(executor, p.inputs, p.outputs);
    });
    const std::string what =
        std::format("{} spoilt {} seed {}: {}\n  gpu: {} {}\n  cpu: {} {}", kernel, static_cast<int>(how), seed, p.what,
                    static_cast<int>(on_gpu.outcome), on_gpu.message, static_cast<int>(on_cpu.outcome), on_cpu.message);
    EXPECT_NE(on_gpu.outcome, Outcome::broken) << what;
    EXPECT_NE(on_cpu.outcome, Outcome::broken) << what;
    // A refused call has written nothing.
    for (const Memory& m : memory) {
      const auto written = [&](const Result& r) {
        return std::span(results).first(r.outcome == Outcome::done ? results.size() : 0);
      };
      const Buffer now =
          to_host(device(), View(m.gpu, 0, DType::u8, {static_cast<std::int64_t>(m.before.size())})).buffer;
      expect_untouched(m.before, {now.data(), m.before.size()}, written(on_gpu), m.host, what + " (gpu)");
      expect_untouched(m.before, {m.host.data(), m.before.size()}, written(on_cpu), m.host, what + " (cpu)");
    }
    if (must == Must::refuse) {
      EXPECT_NE(on_gpu.outcome, Outcome::done) << what;
      EXPECT_NE(on_cpu.outcome, Outcome::done) << what;
    }
    // A GPU may not support a type.
    const bool alike = on_gpu.outcome == on_cpu.outcome || on_gpu.outcome == Outcome::unsupported;
    EXPECT_TRUE(alike) << what;
    for (const Result& r : {on_gpu, on_cpu}) {
      EXPECT_TRUE(r.outcome == Outcome::done || r.message.find(": ") != std::string::npos) << what;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, Hostile, testing::ValuesIn(device_names()), [](const auto& i) { return i.param; });

TEST_P(Hostile, SpoiltViews) {
  const char* text = std::getenv("WEFT_HOSTILE_CASES");
  const int cases = text ? std::atoi(text) : 1;
  for (const std::string& kernel : differential_kernels()) {
    for (Spoilt how : kSpoilt) {
      for (int i = 0; i < cases; ++i) check(kernel, how, static_cast<std::uint64_t>(100 + i));
    }
  }
}

}  // namespace
}  // namespace weft::test
