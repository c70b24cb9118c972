// Tensor: the one handle to tensors, whether they are still to be computed or not.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <new>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/axes.h"
#include "weft/dtype.h"
#include "weft/element.h"
#include "weft/future.h"
#include "weft/number.h"
#include "weft/shape.h"
#include "weft/tensor_type.h"

namespace weft {

class Device;
class Graph;
class Indices;  // weft/indexing.h
class Node;     // src/graph
class Operand;
class TensorLike;
struct View;

// One result of one operation, an input or a constant of a graph, or data in a device's memory. A small handle: copies
// are the same tensor, which lives as long as any of them. Handles may be copied and dropped by any thread; one handle
// may not be assigned to while another thread reads it.
class Tensor {
 public:
  Tensor() = default;
  // Data on a device, its content undefined. Throws OutOfMemory.
  Tensor(const Device& device, DType dtype, const Shape& shape);
  // Data in the caller's memory: `view` is dense and on `device`. Throws InvalidArgument.
  Tensor(const Device& device, const View& view);
  Tensor(const Node* node, int index);  // src/graph
  Tensor(const Tensor& other);
  Tensor(Tensor&& other) noexcept : node_(std::exchange(other.node_, nullptr)), index_(other.index_) {}
  // (Not to what a function returns: x[0] = y would change nothing.)
  Tensor& operator=(Tensor other) & noexcept {
    std::swap(node_, other.node_);
    std::swap(index_, other.index_);
    return *this;
  }
  ~Tensor();

  // False for a handle that stands for no tensor, as optional operands may. Everything below throws InvalidArgument on
  // such a one.
  bool defined() const { return node_ != nullptr; }
  const TensorType& type() const { return type_for("type"); }
  DType dtype() const { return type_for("dtype").dtype; }
  const Shape& shape() const { return type_for("shape").shape; }
  int rank() const { return type_for("rank").shape.rank(); }
  std::int64_t size() const { return element_count(type_for("size").shape); }  // elements

  // ---- The same as the functions of these names (weft/graph.h, weft/array.h). Each twice: of a tensor, and of a
  // temporary, whose values need not be stored (Operand).
#define WEFT_METHOD(name, ...)     \
  Tensor name(__VA_ARGS__) const&; \
  Tensor name(__VA_ARGS__) &&;
#define WEFT_REDUCTION(name) WEFT_METHOD(name, const Axes& axes = {}, bool keep_dims = false)
  WEFT_REDUCTION(sum)
  WEFT_REDUCTION(mean)
  WEFT_REDUCTION(prod)
  WEFT_REDUCTION(any)
  WEFT_REDUCTION(all)
  WEFT_REDUCTION(max)
  WEFT_REDUCTION(min)
  WEFT_REDUCTION(argmax)
  WEFT_REDUCTION(argmin)
  WEFT_REDUCTION(count_nonzero)
  WEFT_METHOD(variance, const Axes& axes = {}, double correction = 0, bool keep_dims = false)
  WEFT_METHOD(deviation, const Axes& axes = {}, double correction = 0, bool keep_dims = false)
  WEFT_METHOD(cumsum, int axis)
  WEFT_METHOD(sort, int axis = -1, bool descending = false)
  WEFT_METHOD(argsort, int axis = -1, bool descending = false)
  WEFT_METHOD(softmax, int axis = -1)
  WEFT_METHOD(log_softmax, int axis = -1)
  WEFT_METHOD(T)  // the last two axes exchanged
  WEFT_METHOD(reshape, const Shape& shape)
  WEFT_METHOD(flatten)
  WEFT_METHOD(permute, std::initializer_list<int> order)
  WEFT_METHOD(permute, std::span<const int> order)
  WEFT_METHOD(moveaxis, const Axes& from, const Axes& to)
  WEFT_METHOD(broadcast_to, const Shape& shape)
  WEFT_METHOD(expand_dims, int axis)
  WEFT_METHOD(squeeze, int axis)
  WEFT_METHOD(flip, const Axes& axes = {})
  WEFT_METHOD(roll, std::int64_t shift)
  WEFT_METHOD(roll, std::initializer_list<std::int64_t> shifts, const Axes& axes)
  WEFT_METHOD(tile, std::initializer_list<std::int64_t> counts)
  WEFT_METHOD(repeat, std::int64_t count)
  WEFT_METHOD(repeat, std::int64_t count, int axis)
  WEFT_METHOD(diagonal, std::int64_t offset = 0)
  WEFT_METHOD(tril, std::int64_t diagonal = 0)
  WEFT_METHOD(triu, std::int64_t diagonal = 0)
  WEFT_METHOD(cast, DType dtype)
  WEFT_METHOD(matmul, const Operand& b)
  WEFT_METHOD(pow, const TensorLike& exponent)
  WEFT_METHOD(clamp, const TensorLike& low, const TensorLike& high)
  WEFT_METHOD(abs)
  WEFT_METHOD(sign)
  WEFT_METHOD(square)
  WEFT_METHOD(sqrt)
  WEFT_METHOD(rsqrt)
  WEFT_METHOD(reciprocal)
  WEFT_METHOD(exp)
  WEFT_METHOD(log)
  WEFT_METHOD(sin)
  WEFT_METHOD(cos)
  WEFT_METHOD(tan)
  WEFT_METHOD(tanh)
  WEFT_METHOD(sigmoid)
  WEFT_METHOD(relu)
  WEFT_METHOD(floor)
  WEFT_METHOD(ceil)
  WEFT_METHOD(trunc)
  WEFT_METHOD(round)
  WEFT_METHOD(conj)
  // A view, or for indices in tensors a lookup (weft/indexing.h).
  WEFT_METHOD(operator[], const Indices& at)
#undef WEFT_REDUCTION
#undef WEFT_METHOD

  // ---- Put a new value into this handle, in which the chosen elements are replaced by or combined with `value`, which
  // broadcasts to them. Other handles keep the old value, also views made before. The memory is used again if no
  // other handle has it. Throw IndexError, ShapeError, and TypeError for an integer outside of the range of the type.

  // The elements become the value: x.set({all, 0}, 1) is NumPy's x[:, 0] = 1.
  Tensor& set(const Indices& at, const TensorLike& value) &;
  // The value is added, as often as index tensors name an element: NumPy's add.at.
  Tensor& add_at(const Indices& at, const TensorLike& value) &;
  // The elements become the greater of themselves and the value; NaN if one is NaN.
  Tensor& max_at(const Indices& at, const TensorLike& value) &;
  // The elements become the lesser of themselves and the value; NaN if one is NaN.
  Tensor& min_at(const Indices& at, const TensorLike& value) &;
  // (x.max(0, 9) is neither: not a reduction that keeps its axes, and an update is max_at.)
  template <class T>
    requires(!std::is_same_v<T, bool>)
  void max(const Indices& at, const T& value) const& = delete;
  template <class T>
    requires(!std::is_same_v<T, bool>)
  void min(const Indices& at, const T& value) const& = delete;
  // The handle keeps its type: the result is converted to it where NumPy does ("same kind": f32 to f16, i64 to i32),
  // and otherwise (i32 += 0.5) refused; x = x + 0.5 changes it. Throw TypeError, ShapeError (b is larger).
  Tensor& operator+=(const TensorLike& b) &;
  // b is subtracted.
  Tensor& operator-=(const TensorLike& b) &;
  // The elements are multiplied by b.
  Tensor& operator*=(const TensorLike& b) &;
  // The elements are divided by b, as operator/ divides.
  Tensor& operator/=(const TensorLike& b) &;

  // Its label in schedules, profiles and messages (weft/label.h); empty: none. Setting it replaces the label that it
  // had, and puts the thread's scopes in front.
  std::string label() const;
  // Sets the label, and returns the tensor.
  Tensor& set_label(std::string_view label);

  // ---- Data. A view of another tensor (T(), slices, broadcasts) has that one's.
  // False if it is still to be computed (weft/evaluate.h). Then device() and view() throw InvalidArgument.
  bool has_data() const;
  // Whether the host has its values, too, so that reading moves nothing: it was read before, or is on the cpu.
  bool on_host() const;
  // Where its data are.
  const Device& device() const;
  // Its elements in memory. Of a view of a tensor in whose memory no strides find them (a reshape of a transposed one)
  // it throws InvalidArgument, too; contiguous() copies them.
  View view() const;
  // Puts bytes into the tensor's memory, for all handles to it: copies of this one, and executables and compiled
  // functions that captured it read them from now on. (set() and its kin put another tensor into this one handle.) What
  // was described before and is not evaluated does not take them: evaluating it throws Error, unless the tensor held
  // nothing before. Uploads nothing if the tensor was last written with the same bytes, and by nothing else since
  // (Flag::always_upload: always). Throws InvalidArgument unless the bytes are exactly the tensor's, and for views and
  // constants (zeros(…)), which have no memory of their own.
  void write(std::span<const std::byte> bytes);
  // Evaluates the tensor if it has no data, waits for pending writes and copies the elements to the host. A broadcast
  // is read as what it repeats, and repeated on the host. Throws what eval() does, OutOfMemory, and TypeError unless
  // they are T's values (holds<T>): to_vector() converts them.
  template <class T>
  std::vector<T> read() const {
    require_type("read", holds<T>(type_for("read").dtype), dtype_of<T>);
    std::vector<T> values = host_values<T>("read", type());
    read_bytes(std::as_writable_bytes(std::span(values)));
    return values;
  }
  // With Flag::dispatch_only it waits and returns zeros.
  void read_bytes(std::span<std::byte> target) const;
  // The same without waiting: the values that the tensor has when everything submitted so far is done.
  template <class T>
  Future<std::vector<T>> async_read() const {
    require_type("async_read", holds<T>(type_for("async_read").dtype), dtype_of<T>);
    return async_read_into().map([type = type()](const ReadInto& copy_to) {
      std::vector<T> values = host_values<T>("async_read", type);
      copy_to(std::as_writable_bytes(std::span(values)));
      return values;
    });
  }
  // Of any type, as bytes.
  Future<std::vector<std::byte>> async_read_bytes() const;
  // The elements converted to T, as cast() does it; T is bool, a C++ number or a float16, bfloat16, float8_….
  template <class T>
  std::vector<T> to_vector() const {
    if constexpr (std::is_same_v<T, bool>) {
      const auto bytes = to_vector<std::uint8_t>(DType::boolean);
      return {bytes.begin(), bytes.end()};
    } else {
      return to_vector<T>(dtype_of<T>);
    }
  }
  // The element of a tensor that has one. Throws ShapeError if it has more or none.
  template <class T>
  T item() const {
    require_one();
    return to_vector<T>()[0];
  }
  // The same without waiting.
  template <class T>
  Future<std::vector<T>> async_to_vector() const {
    return async_read_bytes().map([type = type_for("async_to_vector")](const std::vector<std::byte>& bytes) {
      return converted<T>(type, bytes);
    });
  }
  // item() without waiting.
  template <class T>
  Future<T> async_item() const {
    require_one();
    return async_to_vector<T>().map([](const std::vector<T>& values) { return static_cast<T>(values[0]); });
  }

  // What would run if the tensor was evaluated now: `tensor.graph().to_dot()` draws it. Its inputs are the tensors with
  // data.
  Graph graph() const;

  // Which result of which node it is; null if it is not defined.
  const Node* node() const { return node_; }
  int index() const { return index_; }

 private:
  using ReadInto = std::function<void(std::span<std::byte>)>;
  // Throws InvalidArgument, naming the method, if it is not defined.
  const TensorType& type_for(std::string_view method) const;
  void require_type(std::string_view method, bool fits, DType as) const;
  void require_one() const;
  // As many elements of T as the type has. Throws OutOfMemory.
  template <class T>
  static std::vector<T> host_values(std::string_view method, const TensorType& type) {
    const std::size_t count = host_count(method, type, sizeof(T));
    try {
      return std::vector<T>(count);
    } catch (const std::bad_alloc&) {
      refuse_host_memory(method, type, sizeof(T));
    }
  }
  static std::size_t host_count(std::string_view method, const TensorType& type, std::size_t element);
  [[noreturn]] static void refuse_host_memory(std::string_view method, const TensorType& type, std::size_t element);
  // Elements of `type` as those of `to`, of which `target` has as many.
  static void convert(const TensorType& type, std::span<const std::byte> bytes, DType to, std::span<std::byte> target);
  template <class T>
  static std::vector<T> converted(const TensorType& type, std::span<const std::byte> bytes) {
    if constexpr (std::is_same_v<T, bool>) {
      std::vector<std::uint8_t> values = host_values<std::uint8_t>("async_to_vector", type);
      convert(type, bytes, DType::boolean, std::as_writable_bytes(std::span(values)));
      return {values.begin(), values.end()};
    } else {
      std::vector<T> values = host_values<T>("async_to_vector", type);
      convert(type, bytes, dtype_of<T>, std::as_writable_bytes(std::span(values)));
      return values;
    }
  }
  template <class T>
  std::vector<T> to_vector(DType as) const {
    std::vector<T> values = host_values<T>("to_vector", type_for("to_vector"));
    read_converted(as, std::as_writable_bytes(std::span(values)));
    return values;
  }
  void read_converted(DType as, std::span<std::byte> target) const;
  Future<ReadInto> async_read_into() const;

  const Node* node_ = nullptr;
  int index_ = 0;
};

// A tensor as functions take it; any Tensor is one. It takes over what another function returned, and is not a
// handle that keeps values: so of print((exp(x) * 2).sum()) only the sum is stored (weft/evaluate.h), though C++
// keeps the results of calls until the end of the statement. It knows the line that called, for messages. It is made
// for the time of a call; keep a Tensor instead.
class Operand : public Tensor {
 public:
  Operand() = default;  // undefined, as optional operands may be
  Operand(const Tensor& tensor, std::source_location line = std::source_location::current())  // NOLINT: implicit
      : Tensor(tensor) {
    begin(line);
  }
  Operand(Tensor&& tensor, std::source_location line = std::source_location::current())  // NOLINT
      : Tensor(std::move(tensor)) {
    begin(line);
  }
  Operand(const Operand& other) : Tensor(other) { begin({}); }
  Operand& operator=(const Operand&) = delete;
  ~Operand() { end(); }

 private:
  void begin(const std::source_location& line);
  void end();
  bool counted_ = false;
};

// What an elementwise function takes: a tensor, or a number. A number is weak: it takes the type of the tensors beside
// it, and only its kind counts in promotion (result_type).
class TensorLike {
 public:
  TensorLike(const Tensor& tensor, std::source_location line = std::source_location::current())  // NOLINT: implicit,
      : tensor_(tensor, line) {}                                                                 // as are the next
  TensorLike(Tensor&& tensor, std::source_location line = std::source_location::current())       // NOLINT
      : tensor_(std::move(tensor), line) {}
  TensorLike(const Operand& tensor) : tensor_(tensor) {}  // NOLINT
  template <class T>
    requires std::is_arithmetic_v<T>
  TensorLike(T value)  // NOLINT
      : number_(value),
        is_number_(true),
        kind_(std::is_same_v<T, bool>       ? DTypeKind::boolean
              : std::is_floating_point_v<T> ? DTypeKind::floating
                                            : DTypeKind::signed_integer) {}
  TensorLike(const Number& number)  // NOLINT
      : number_(number), is_number_(true), kind_(number.integral() ? DTypeKind::signed_integer : DTypeKind::floating) {}

  const Tensor* tensor() const { return is_number_ ? nullptr : &tensor_; }  // null: it is a number
  const Number& number() const { return number_; }
  DTypeKind kind() const { return kind_; }  // of the number

 private:
  Operand tensor_;
  Number number_;
  bool is_number_ = false;
  DTypeKind kind_ = DTypeKind::floating;
};

// True if both are the same tensor: the same result of the same operation, not only an equal one.
inline bool same(const Tensor& a, const Tensor& b) { return a.node() == b.node() && a.index() == b.index(); }

}  // namespace weft
