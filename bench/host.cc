// The host's time for a kernel call that was made before, compared with the same dispatches encoded with Dawn alone.
#include <algorithm>
#include <array>
#include <bit>
#include <nlohmann/json.hpp>
#include <random>

#include "bench.h"
#include "core/format.h"
#include "gpu/device_impl.h"
#include "kernels/plan_state.h"
#include "weft/error.h"

namespace weft::bench {
namespace {

using Views = std::vector<View>;  // inputs, then y

constexpr std::int64_t kRows = 64, kColumns = 256;
constexpr int kSets = 16, kSample = 16;  // calls

// Adds µs of a call to `samples`, kSample calls at a time, so that disturbances spoil few samples.
void time_calls(int calls, const auto& call, std::vector<double>& samples) {
  for (int i = 0; i < calls; i += kSample) {
    const auto start = Clock::now();
    for (int k = 0; k < kSample; ++k) call();
    samples.push_back(seconds_since(start) * 1e6 / kSample);
  }
}

struct HostCase {
  std::string_view name;
  std::vector<TensorType> (*operands)(std::int64_t rows);  // inputs, then y
  void (*call)(Stream&, std::span<const View>);
};

TensorType matrix(std::int64_t rows, std::int64_t columns = kColumns) { return {DType::f32, {rows, columns}}; }
const TensorType kRow{DType::f32, {kColumns}};
using Tensors = std::vector<TensorType>;
using Given = std::span<const View>;

const HostCase kCases[] = {
    {"unary", [](std::int64_t n) { return Tensors{matrix(n), matrix(n)}; },
     [](Stream& s, Given v) { kernels::unary(s, ScalarOp::tanh, v[0], v[1]); }},
    {"binary", [](std::int64_t n) { return Tensors{matrix(n), matrix(n), matrix(n)}; },
     [](Stream& s, Given v) { kernels::binary(s, ScalarOp::add, v[0], v[1], v[2]); }},
    {"copy", [](std::int64_t n) { return Tensors{matrix(n), matrix(n)}; },
     [](Stream& s, Given v) { kernels::copy(s, v[0], v[1]); }},
    {"reduce", [](std::int64_t n) { return Tensors{matrix(n), matrix(n, 1)}; },
     [](Stream& s, Given v) { kernels::reduce(s, kernels::ReduceKind::sum, v[0], v[1], std::array{1}); }},
    {"softmax", [](std::int64_t n) { return Tensors{matrix(n), matrix(n)}; },
     [](Stream& s, Given v) { kernels::softmax(s, v[0], v[1], -1); }},
    {"layer norm", [](std::int64_t n) { return Tensors{matrix(n), kRow, kRow, matrix(n)}; },
     [](Stream& s, Given v) { kernels::layer_norm(s, v[0], v[1], v[2], v[3], 1, 1e-5f); }},
    {"matmul", [](std::int64_t n) { return Tensors{matrix(n), matrix(kColumns), matrix(n)}; },
     [](Stream& s, Given v) { kernels::matmul(s, v[0], v[1], v[2]); }},
    {"gather", [](std::int64_t n) { return Tensors{matrix(kRows), {DType::i32, {n}}, matrix(n)}; },
     [](Stream& s, Given v) { kernels::gather(s, v[0], v[1], v[2], 0); }},
};

// The dispatches of a call on views of one layout, encoded with Dawn alone.
class BareDispatches {
 public:
  BareDispatches(const gpu::Device& device, const HostCase& c, const Views& views) : device_(device) {
    std::vector<const View*> pointers;
    for (const View& v : views) pointers.push_back(&v);
    kernels::Planner planner(device, pointers, kernels::PlanFor::recording);
    c.call(planner, views);
    plan_ = planner.finish();
    if (plan_->scratch > 0) scratch_ = device.allocate(plan_->scratch);
    gpu::Device::Impl& impl = device.impl();
    for (const auto& planned : plan_->dispatches) {
      const std::vector<std::byte>& params = planned.prepared->params;
      impl.pipelines.finish(*planned.prepared->pipeline);
      Dispatch d{.pipeline = planned.prepared->pipeline->pipeline,
                 .layout = planned.prepared->pipeline->layout->group,
                 .bindings = planned.bindings,
                 .workgroups = planned.prepared->run.workgroups};
      if (!params.empty()) {
        d.window = gpu::param_range(*impl.context, params.size());
        d.params = gpu::make_uniform_buffer(*impl.context, std::uint64_t{d.window} * kParamSlots, "weft_bench");
        for (std::uint32_t i = 0; i < kParamSlots; ++i) {
          std::vector<std::byte> words = params;
          words.resize((words.size() + 3) / 4 * 4);
          device.queue().WriteBuffer(d.params, std::uint64_t{d.window} * i, words.data(), words.size());
        }
      }
      dispatches_.push_back(std::move(d));
    }
  }

  std::size_t size() const { return dispatches_.size(); }

  // Adds µs of all dispatches of a call, for `calls` calls that rotate through the views. `new_groups`: makes a bind
  // group for each dispatch, else uses those that were made before.
  void time(std::span<const Views> turns, int calls, bool new_groups, std::vector<double>& samples) const {
    std::vector<wgpu::BindGroup> groups;
    if (!new_groups) {
      for (const Views& views : turns) {
        for (const Dispatch& d : dispatches_) groups.push_back(group(d, views));
      }
    }
    wgpu::CommandEncoder commands = device_.webgpu().CreateCommandEncoder();
    wgpu::ComputePassEncoder pass = commands.BeginComputePass();
    std::size_t turn = 0;
    std::uint32_t window = 0;
    const auto encode = [&] {
      for (std::size_t k = 0; k < dispatches_.size(); ++k) {
        const Dispatch& d = dispatches_[k];
        const std::uint32_t offset = d.window * window;
        pass.SetPipeline(d.pipeline);
        if (new_groups)
          pass.SetBindGroup(0, group(d, turns[turn]), d.window > 0, &offset);
        else
          pass.SetBindGroup(0, groups[turn * dispatches_.size() + k], d.window > 0, &offset);
        pass.DispatchWorkgroups(d.workgroups[0], d.workgroups[1], d.workgroups[2]);
      }
      turn = turn + 1 == turns.size() ? 0 : turn + 1;
      window = (window + 1) % kParamSlots;
    };
    encode();
    time_calls(calls, encode, samples);
    pass.End();
    const wgpu::CommandBuffer buffer = commands.Finish();
    device_.queue().Submit(1, &buffer);
    device_.wait();
  }

 private:
  static constexpr std::uint32_t kParamSlots = 64;  // ranges of parameters, selected in rotation by dynamic offsets

  struct Dispatch {
    wgpu::ComputePipeline pipeline;
    wgpu::BindGroupLayout layout;
    std::span<const kernels::Plan::State::Binding> bindings;
    std::array<std::uint32_t, 3> workgroups;
    wgpu::Buffer params = {};
    std::uint32_t window = 0;  // bytes; 0: no parameters
  };

  wgpu::BindGroup group(const Dispatch& d, const Views& views) const {
    using State = kernels::Plan::State;
    std::array<wgpu::BindGroupEntry, 16> entries;
    std::size_t count = 0;
    if (d.window > 0) {
      entries[count].buffer = d.params;
      entries[count++].size = d.window;
    }
    for (std::size_t i = 0; i < d.bindings.size(); ++i) {
      const State::Binding& b = d.bindings[i];
      wgpu::BindGroupEntry& e = entries[count++];
      e.binding = static_cast<std::uint32_t>(i + 1);
      std::int64_t start = 0;
      if (b.operand >= 0) {
        const View& v = views[static_cast<std::size_t>(b.operand)];
        e.buffer = v.buffer.gpu();
        start = static_cast<std::int64_t>(v.offset);
      } else {
        e.buffer = (b.operand == State::kScratch ? scratch_ : b.buffer).gpu();
      }
      e.offset = static_cast<std::uint64_t>(start + b.offset);
      e.size = b.size;
    }
    wgpu::BindGroupDescriptor descriptor;
    descriptor.layout = d.layout;
    descriptor.entries = entries.data();
    descriptor.entryCount = count;
    return device_.webgpu().CreateBindGroup(&descriptor);
  }

  gpu::Device device_;
  std::shared_ptr<const kernels::Plan::State> plan_;
  std::vector<Dispatch> dispatches_;
  Buffer scratch_;
};

enum class Met : std::uint8_t { seen, new_buffers, new_sizes };

class HostBench {
 public:
  HostBench(const gpu::Device& device, const Options& options, Report& report)
      : device_(device),
        options_(options),
        report_(report),
        calls_(options.calls / kSample * kSample),
        flush_(device.impl().flush) {
    device.impl().flush = {~0u, ~0u};  // a submit among the calls would be timed with them
  }
  ~HostBench() { device_.impl().flush = flush_; }
  HostBench(const HostBench&) = delete;
  HostBench& operator=(const HostBench&) = delete;

  void measure(const HostCase& c, Met met) {
    const char* const operands = met == Met::seen          ? "buffers seen before"
                                 : met == Met::new_buffers ? "new buffers"
                                                           : "new sizes";
    const std::string name = std::format("host {} f32 [{}, {}], {}", c.name, kRows, kColumns, operands);
    if (!asked(options_, name)) return;
    ++cases_;
    const OperandSets known = sets(c, kSets, kRows);
    const OperandSets large = met == Met::new_sizes ? sets(c, kSets, kRows + calls_ + 1) : OperandSets();
    const BareDispatches bare(device_, c, known[0]);
    std::vector<double> own, alone;
    bool right = true;
    const double warm_up = std::min(options_.timing.seconds, 0.1);
    const auto start = Clock::now();
    // Alternates, so that disturbances affect both alike.
    for (int turn = 0; own.empty() || seconds_since(start) < warm_up + options_.timing.seconds; ++turn) {
      const bool warm = turn > 0 && seconds_since(start) >= warm_up;
      time(c, turns(c, met, known, large), turn == 0 ? &right : nullptr, own);
      bare.time(met == Met::new_buffers ? turns(c, met, known, large) : known, calls_, met != Met::seen, alone);
      if (!warm) own.clear(), alone.clear();
    }
    const double us = median(own), bare_us = median(alone);
    report_.add(name, us, "us", false,
                {{"device", device_.adapter().name},
                 {"bare_us", bare_us},
                 {"times_bare", us / bare_us},
                 {"dispatches", bare.size()},
                 {"samples", own.size()},
                 {"right", right}},
                std::format("{:52} {:7.1f} us   Dawn alone{} {:6.1f} us {:6.1f}x{}", name, us,
                            met == Met::seen ? "                    " : ", with a bind group", bare_us, us / bare_us,
                            right ? "" : "   WRONG RESULT"));
    wrong_ |= !right;
  }

  int cases() const { return cases_; }
  bool wrong() const { return wrong_; }

 private:
  using OperandSets = std::vector<Views>;

  // Tensors with memory of their own.
  OperandSets sets(const HostCase& c, int count, std::int64_t rows) const {
    OperandSets result(static_cast<std::size_t>(count));
    for (Views& views : result) {
      for (const TensorType& t : c.operands(rows))
        views.emplace_back(device_.allocate(byte_size(t)), 0, t.dtype, t.shape);
    }
    return result;
  }

  // Operands for --calls calls and one more, so that all of them are new.
  OperandSets turns(const HostCase& c, Met met, const OperandSets& known, const OperandSets& large) const {
    if (met == Met::seen) return known;
    const int count = calls_ + 1;
    if (met == Met::new_buffers) {
      device_.trim();  // frees those of earlier calls, which the pool would reuse
      return sets(c, count, kRows);
    }
    // The same sizes repeat, so plans and bind groups are cleared; pipelines stay.
    device_.impl().plans = nullptr;
    device_.impl().bind_groups.clear();
    OperandSets result;
    for (int i = 0; i < count; ++i) {
      Views& views = result.emplace_back();
      const Views& memory = large[static_cast<std::size_t>(i % kSets)];
      for (const TensorType& t : c.operands(kRows + 1 + i)) {
        views.emplace_back(memory[views.size()].buffer, 0, t.dtype, t.shape);
      }
    }
    return result;
  }

  // Adds µs of a call. `right`, if not null: set to whether the last call's result is correct.
  void time(const HostCase& c, const OperandSets& turns, bool* right, std::vector<double>& samples) const {
    const Views& last = turns[static_cast<std::size_t>(calls_) % turns.size()];
    if (right) fill(last);
    gpu::Encoder encoder(device_);
    std::size_t turn = 0;
    const auto call = [&] {
      c.call(encoder, turns[turn]);
      turn = turn + 1 == turns.size() ? 0 : turn + 1;
    };
    call();  // also opens a command encoder and a pass
    time_calls(calls_, call, samples);
    encoder.submit();
    device_.wait();
    if (right) {
      const auto operation = [&](Stream& s, std::span<const View> inputs, const View& y) {
        Views views(inputs.begin(), inputs.end());
        views.push_back(y);
        c.call(s, views);
      };
      *right = agrees(device_, std::span(last).first(last.size() - 1), last.back(), operation, {1e-5, 1e-6});
    }
  }

  // Random inputs, an output of NaN.
  void fill(const Views& views) const {
    std::mt19937 rng(7);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (const View& v : views) {
      std::vector<std::uint32_t> words(static_cast<std::size_t>(v.count()), ~0u);
      for (std::uint32_t& word : words) {
        if (v.dtype == DType::i32)
          word = rng() % kRows;
        else if (&v != &views.back())
          word = std::bit_cast<std::uint32_t>(uniform(rng));
      }
      device_.upload(v.buffer, 0, std::as_bytes(std::span(words)));
    }
  }

  gpu::Device device_;
  const Options& options_;
  Report& report_;
  int calls_;  // of a submit
  gpu::FlushPolicy flush_;
  int cases_ = 0;
  bool wrong_ = false;
};

}  // namespace

void bench_host(const Device& device, const Options& options, Report& report) {
  if (!device.is_gpu()) {
    throw InvalidArgument("host: on the cpu kernels run within their calls; name a GPU with --device");
  }
  HostBench bench(device.gpu(), options, report);
  for (const HostCase& c : kCases) {
    for (const Met met : {Met::seen, Met::new_buffers, Met::new_sizes}) bench.measure(c, met);
  }
  if (bench.cases() == 0) throw InvalidArgument("no case's name holds '{}'", options.only);
  if (bench.wrong()) throw InternalError("a kernel gave a wrong result (see above)");
}

}  // namespace weft::bench
