// The head of a generated shader: uniform block, bindings, and the accessors of operands that call.h describes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/gpu.h"

namespace weft::kernels {

struct ShaderHead {
  struct BoundOperand {
    std::string name;
    DType dtype;
    int width;  // elements of a load or store; 0: no accessors
    bool loads, stores;
    std::string element;  // the array's element type
    int binding;          // index into bindings
    bool updates = false;
    std::uint32_t pair_stride = 1;  // between the two words of a group of four 16-bit elements
    int element_bytes = 0;          // of the array's elements
    bool number = false;            // a parameter instead of memory; it has no binding
  };
  struct Binding {  // perhaps of several operands
    gpu::Binding range;
    std::string element;
    std::uint64_t first, last;  // bytes
  };
  struct Param {
    std::string name;
    char type;  // 'u', 'i', 'f'
  };

  // The number of elements in which an operand's offset and strides are counted.
  int unit(std::string_view operand) const;
  // The name of the parameter that holds an operand's offset.
  std::string offset_param(const BoundOperand& operand) const;
  // Gives each operand a binding: a range of its buffer that starts at the device's alignment. Operands of a buffer
  // that is written share a binding, or, if one would exceed the device's limit, several, which must not overlap; so do
  // those of a buffer that is only read if the device has too few bindings for one each. `views` are the operands'.
  // Returns their offsets within the bindings, in units, those of numbers 0; appends to `key` what the shader depends
  // on. Throws Unsupported if the device's limits do not allow it, InvalidArgument for views that no binding can hold.
  std::vector<std::int64_t> assign_bindings(std::string_view kernel, std::span<const View> views,
                                            const gpu::Capabilities& capabilities, std::string& key);
  std::string wgsl() const;

  std::vector<BoundOperand> operands;
  std::vector<Binding> bindings;
  std::vector<Param> params;
  std::vector<std::string> enables;
  std::vector<std::pair<std::string, int>> strided;  // operand, rank
  int iterate_rank = -1;                             // -1: no coords()
  int aligned_elements = 1;                          // Call::assume_aligned

 private:
  void check_bindings(std::string_view kernel, std::span<const View> views,
                      const gpu::Capabilities& capabilities) const;
};

}  // namespace weft::kernels
