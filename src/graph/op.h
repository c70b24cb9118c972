// An operation of the graph: what its results are, and which kernel computes them.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph.h"
#include "weft/stream.h"
#include "weft/view.h"
#include "weft/work.h"

namespace weft {

// An op's attributes as text, from which printing, hashing and equality come: "axis=1, keep_dims=true".
class Fields {
 public:
  Fields& add(std::string_view name, std::int64_t value) { return put(name, std::to_string(value)); }
  Fields& add(std::string_view name, int value) { return add(name, std::int64_t{value}); }
  Fields& add(std::string_view name, bool value) { return put(name, value ? "true" : "false"); }
  Fields& add(std::string_view name, double value);
  Fields& add(std::string_view name, const Number& value) { return put(name, to_string(value)); }
  Fields& add(std::string_view name, std::string_view value) { return put(name, value); }
  Fields& add(std::string_view name, const char* value) { return put(name, value); }
  Fields& add(std::string_view name, const Dims& value) { return put(name, to_string(value)); }
  Fields& add(std::string_view name, std::span<const int> value);
  // Part of the op's identity that people need not see.
  Fields& hide(std::string_view name, std::string_view value);

  const std::string& shown() const { return shown_; }
  const std::string& hidden() const { return hidden_; }

 private:
  Fields& put(std::string_view name, std::string_view value);
  std::string shown_, hidden_;
};

// A layout whose first element lies `offset` elements past the operand's first.
struct Placement {
  std::int64_t offset = 0;
  Layout layout;
};

// A kernel call in the making: the op's operands as memory.
struct Launch {
  Stream& stream;
  std::span<const View> inputs;
  std::span<const View> outputs;
};

class Op {
 public:
  virtual ~Op() = default;

  virtual std::string_view name() const = 0;
  virtual void fields(Fields&) const {}

  // Types of the results. Throws InvalidArgument when the operands do not fit.
  virtual std::vector<TensorType> infer(std::span<const TensorType> inputs) const = 0;

  // A view op computes nothing: its result is operand 0's memory under another layout. `place` gives that layout when
  // the operand lies as `x`; nothing if strides cannot say it, and then a copy must come first.
  virtual bool is_view() const { return false; }
  virtual std::optional<Placement> place(const Layout& x) const;

  // False if it wants its operands dense and stores its results so: a copy comes first where they are not.
  virtual bool takes_strides() const { return true; }
  // Whether a result may overwrite an operand that lies the very same way: each element is written by whoever read it.
  virtual bool works_in_place() const { return false; }
  // False if it cannot run on the CPU, so that nothing may be folded through it.
  virtual bool has_twin() const { return true; }

  // Input and constant: they come from outside.
  virtual bool is_leaf() const { return false; }

  // The same call on every device. Views may have any strides.
  virtual void lower(const Launch& call) const;
  // Called once for each step of a schedule before anything runs: the time to throw Unsupported.
  virtual void check(const Launch&) const {}

  // What `call` does, for profiles and estimates: by default it touches its operands once and computes nothing. The
  // kernel's dispatches say the same.
  virtual Work work(const Launch& call) const;
  // How long an element of the largest operand takes, as Expression::cost counts; rough.
  virtual double cost() const { return 0; }

  // What people call it in schedules and profiles: "matmul+bias+gelu_erf".
  virtual std::string label(std::span<const TensorType>) const { return std::string(name()); }

  // "softmax{axis=1}"; with the hidden fields the op's identity.
  std::string to_string() const;
  std::string identity() const;
};

// The work of a kernel that touches the call's operands once.
Work with_bytes(const Launch& call, Work work);

using OpPtr = std::shared_ptr<const Op>;

}  // namespace weft
