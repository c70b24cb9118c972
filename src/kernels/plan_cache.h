// Kernel calls by operands and options: how the functions of weft/kernels.h reuse the plan of an earlier call.
#pragma once

#include <bit>
#include <functional>
#include <mutex>
#include <span>
#include <string_view>
#include <unordered_map>

#include "core/host_memory.h"
#include "kernels/common/memory.h"
#include "kernels/plan_state.h"
#include "weft/expression.h"

namespace weft::kernels {

// All that a call's plan depends on, as plain bytes: the kernel's name and its options; call() adds the operands.
class CallKey {
 public:
  template <class... Options>
  explicit CallKey(std::string_view kernel, const Options&... options) : kernel_(kernel) {
    add(kernel);
    (add(options), ...);
  }

  template <class T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  CallKey& add(T value) {
    return raw(&value, sizeof value);
  }
  CallKey& add(std::string_view text) { return add(text.size()).raw(text.data(), text.size()); }
  CallKey& add(const Number& number) { return add(to_string(number)); }
  CallKey& add(const Expression& expression);
  CallKey& add(const Expression* expression) { return expression ? add(true).add(*expression) : add(false); }
  CallKey& add(const PlannedOperand& operand);
  template <class T>
  CallKey& add(const std::optional<T>& option) {
    add(option.has_value());
    return option ? add(*option) : *this;
  }
  template <class T>
  CallKey& add(std::span<T> list) {
    add(list.size());
    for (const auto& value : list) add(value);
    return *this;
  }
  template <class T>
  CallKey& add(const std::vector<T>& list) {
    return add(std::span(list));
  }
  CallKey& add(const Dims& dims) {
    const auto rank = static_cast<std::uint8_t>(dims.rank());
    return add(rank).raw(dims.begin(), rank * sizeof(std::int64_t));
  }

  std::string_view kernel() const { return kernel_; }
  std::string_view bytes() const { return heap_.empty() ? std::string_view(inline_.data(), size_) : heap_; }

 private:
  CallKey& raw(const void* bytes, std::size_t size);
  std::string_view kernel_;
  std::array<char, 760> inline_;
  std::size_t size_ = 0;
  std::string heap_;  // all bytes, once they exceed inline_
};

// The plans of one device, for any thread. Plans that were not used for long are dropped.
class PlanCache {
 public:
  explicit PlanCache(gpu::PipelineCache& pipelines) : pipelines_(pipelines) {}
  static PlanCache& of(const gpu::Device& device);

  std::shared_ptr<const Plan::State> find(std::string_view key);
  void add(std::string_view key, std::shared_ptr<const Plan::State> plan);
  std::size_t size() const;
  // Drops all plans, and pipelines that are referenced nowhere else.
  static void clear(const gpu::Device& device);

  // Plans in each of two generations: a plan of the older one moves to the recent one when used, and when that is full,
  // or as many pipelines were made as these have in a generation, the older one is dropped.
  static constexpr std::size_t kGeneration = 4096;

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  using Plans = std::unordered_map<std::string, std::shared_ptr<const Plan::State>, Hash, std::equal_to<>>;
  void keep(std::string_view key, std::shared_ptr<const Plan::State> plan);
  gpu::PipelineCache& pipelines_;
  std::uint64_t generation_ = 0;  // of the pipelines
  mutable std::mutex mutex_;
  Plans recent_, older_;
};

// A call's operands as one list, which launchers get.
class OperandList {
 public:
  OperandList(std::initializer_list<NamedViews> groups);
  std::span<const View* const> views() const { return heap_.empty() ? std::span(inline_.data(), size_) : heap_; }
  // The number of views of each group.
  std::string_view sizes() const { return {sizes_.data(), groups_}; }

 private:
  std::array<const View*, 12> inline_;
  std::array<char, 16> sizes_;
  std::size_t size_ = 0, groups_ = 0;
  std::vector<const View*> heap_;
};

// Makes the call: on the CPU at once; on a GPU by a plan, for which `launch` is called if there is none for such a call
// yet. `operands` must list all memory that the call uses. Throws OutOfMemory in the kernel's name if the host's memory
// does not hold what the launcher makes on the way.
template <class Launch>
void call(Stream& stream, CallKey&& key, std::initializer_list<NamedViews> operands, const Launch& launch);

// For calls that are made once, such as a test's in a forced form: the plan is not cached.
template <class Launch>
void call_once(Stream& stream, std::initializer_list<NamedViews> operands, const Launch& launch);

// ---- implementation

// Makes the call by the plan of that key and these operands; `launch` makes the plan if there is none.
void call_by_plan(gpu::Commands& commands, CallKey& key, const OperandList& operands,
                  const std::function<void(Stream&)>& launch);

template <class Launch>
void call(Stream& stream, CallKey&& key, std::initializer_list<NamedViews> operands, const Launch& launch) {
  // Kernels of the cpu and launchers hold lists that are as long as the caller's tensors.
  in_host_memory(key.kernel(), [&] {
    if (stream.cpu()) return launch(stream);
    call_by_plan(*stream.gpu(), key, OperandList(operands), std::ref(launch));
  });
}

template <class Launch>
void call_once(Stream& stream, std::initializer_list<NamedViews> operands, const Launch& launch) {
  if (stream.cpu() || stream.gpu()->planning()) return launch(stream);
  const OperandList list(operands);
  Planner planner(stream.gpu()->device(), list.views(), PlanFor::recording);
  launch(planner);
  planner.finish()->record(*stream.gpu(), list.views(), {});
}

}  // namespace weft::kernels
