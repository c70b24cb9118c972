// Tensor: the one handle to tensors, whether they are still to be computed or not.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/dtype.h"
#include "weft/future.h"
#include "weft/shape.h"
#include "weft/tensor_type.h"

namespace weft {

class Device;
class Node;  // src/graph
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
  Tensor& operator=(Tensor other) noexcept {
    std::swap(node_, other.node_);
    std::swap(index_, other.index_);
    return *this;
  }
  ~Tensor();

  // False for a handle that stands for no tensor, as optional operands may. Everything below throws InvalidArgument on
  // such a one.
  bool defined() const { return node_ != nullptr; }
  const TensorType& type() const;
  DType dtype() const { return type().dtype; }
  const Shape& shape() const { return type().shape; }
  int rank() const { return shape().rank(); }

  // The last two axes exchanged.
  Tensor T() const;

  // What people call it (weft/label.h); empty: nothing. Setting it replaces the label that it had, and puts the
  // thread's scopes in front.
  std::string label() const;
  Tensor& set_label(std::string_view label);

  // ---- Data.
  // False if it is still to be computed (weft/evaluate.h). Then the next three throw InvalidArgument.
  bool has_data() const;
  const Device& device() const;
  const View& view() const;
  // Uploads nothing if the tensor was last written with the same bytes, and by nothing else since (Flag::always_upload:
  // always). Throws InvalidArgument unless the bytes are exactly the tensor's.
  void write(std::span<const std::byte> bytes);
  // Evaluates the tensor if it has no data, waits for pending writes and copies the elements to the host. T's size must
  // be the element's. Throws what eval() does.
  template <class T>
  std::vector<T> read() const {
    std::vector<T> values(checked_count(sizeof(T)));
    read_bytes(std::as_writable_bytes(std::span(values)));
    return values;
  }
  // With Flag::dispatch_only it waits and returns zeros.
  void read_bytes(std::span<std::byte> target) const;
  // The same without waiting: the values that the tensor has when everything submitted so far is done.
  template <class T>
  Future<std::vector<T>> async_read() const {
    const std::size_t count = checked_count(sizeof(T));
    return async_read_into().map([count](const ReadInto& copy_to) {
      std::vector<T> values(count);
      copy_to(std::as_writable_bytes(std::span(values)));
      return values;
    });
  }
  Future<std::vector<std::byte>> async_read_bytes() const;

  // Which result of which node it is; null if it is not defined.
  const Node* node() const { return node_; }
  int index() const { return index_; }

 private:
  using ReadInto = std::function<void(std::span<std::byte>)>;
  std::size_t checked_count(std::size_t element_size) const;
  Future<ReadInto> async_read_into() const;

  const Node* node_ = nullptr;
  int index_ = 0;
};

// True if both are the same tensor: the same result of the same operation, not only an equal one.
inline bool same(const Tensor& a, const Tensor& b) { return a.node() == b.node() && a.index() == b.index(); }

}  // namespace weft
