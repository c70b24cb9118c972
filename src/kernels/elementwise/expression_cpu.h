// Expressions on the CPU: each operation runs over a block of elements at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "kernels/elementwise/block_memory.h"
#include "weft/expression.h"

namespace weft::kernels {

// An expression compiled for the CPU. Threads may share it; each needs its own Registers.
class CpuExpression {
 public:
  static constexpr int kBlock = 512;  // most elements of one run

  explicit CpuExpression(const Expression& expression);

  class Registers {
   public:
    explicit Registers(const CpuExpression& expression);

   private:
    friend class CpuExpression;
    struct alignas(64) Block {
      std::byte bytes[kBlock * 8];
    };
    std::unique_ptr<Block[]> blocks_;  // written before they are read
    std::vector<const void*> values_;  // of each node, in this run
  };

  int input_count() const { return static_cast<int>(inputs_.size()); }
  int output_count() const { return static_cast<int>(outputs_.size()); }

  // Loads `n` elements of input `k` to at…at+n-1 of the block: from element `first` of `data` on, `stride` apart (in
  // elements of the input's type; 0 repeats one). Without data, of 32-bit integers: the numbers first + i · stride. All
  // inputs of a block must be loaded before run().
  void load(Registers& registers, int k, int at, const std::byte* data, std::int64_t first, std::int64_t stride,
            int n) const;
  // Computes the first `n` elements of the block.
  void run(Registers& registers, int n) const { run(registers, n, nullptr); }
  // Stores output `k` from at…at+n-1 of the block, converted to its type.
  void store(const Registers& registers, int k, int at, std::byte* data, std::int64_t first, std::int64_t stride,
             int n) const;

  // The first elements of output `k` where they are as in memory of its type; null if the registers have another
  // format.
  const std::byte* result(const Registers& registers, int k) const;
  // Whether it is not null.
  bool has_result(int k) const;

  // Elements first + offsets[i], or first + i * stride, of `data`. An input without data is a ramp, as for load():
  // these numbers themselves.
  struct Row {
    std::byte* data = nullptr;
    std::int64_t first = 0;
    std::int64_t stride = 1;
    const std::int64_t* offsets = nullptr;
  };
  // The block's input `k`: the row's elements from `begin` on, at most a block. Elements whose memory has the
  // register's format stay where they are until run() reads them.
  void load(Registers& registers, int k, const Row& row, std::int64_t begin, int n) const;
  void store(const Registers& registers, int k, const Row& row, std::int64_t begin, int n) const;

  // Loads, computes and stores rows: outputs[k][i] = expression(inputs…[i])[k] for i < n, any n. An output without data
  // is not stored. The last operation's result is computed where it is stored, if its memory has the register's format.
  void evaluate(Registers& registers, std::span<const Row> inputs, std::span<const Row> outputs, std::int64_t n) const;

  using Function = void (*)(const void* a, const void* b, const void* c, void* out, int n);

 private:
  // Computes the block; the last step's result at `last`, unless that is null.
  void run(Registers& registers, int n, std::byte* last) const;
  // Where in `output`, that of the last step, it can compute elements begin…begin+n-1 of rows. Null if elements are
  // apart, or if there are elements of an input, which loops may read after they have stored a result.
  std::byte* in_place(const Registers& registers, std::span<const Row> inputs, const Row& output, std::int64_t begin,
                      int n) const;

  // The conversion of a result to a type that is narrower than its register.
  enum class After : std::uint8_t { nothing, wrap, saturate, round };
  struct Step {
    Function function = nullptr;
    int out = -1;             // node
    int args[3]{-1, -1, -1};  // nodes
    int block = -1;           // of the result
    After after = After::nothing;
    int bits = 0;  // of the integer type
    bool has_sign = false;
    DType round = DType::f32;
  };
  struct Port {
    int node;  // whose registers are loaded or stored
    DType type;
    int block;  // of inputs
    BlockMemory memory;
  };
  struct Constant {
    int node;
    int block;
    DType type;
    std::uint64_t bits;
  };

  std::vector<Step> steps_;
  std::vector<Port> inputs_, outputs_;
  std::vector<Constant> constants_;
  std::vector<int> register_bytes_;  // of each node's type
  int blocks_ = 0;
  bool passes_input_ = false;  // an output is an unchanged input
  int last_output_ = -1;       // which the last step computes as it is stored; -1: none
};

}  // namespace weft::kernels
