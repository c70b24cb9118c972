// Models of ONNX for tests, written as the format has them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onnx/proto.h"
#include "onnx/wire_writer.h"
#include "weft/tensor_data.h"

namespace weft::test {

using onnx::WireWriter;

inline WireWriter onnx_tensor(std::string_view name, onnx::ElementType type, std::span<const std::int64_t> dims,
                              std::string_view raw) {
  WireWriter w;
  for (const std::int64_t d : dims) w.integer(1, d);
  return w.integer(2, static_cast<std::int64_t>(type)).text(8, name).text(9, raw);
}
template <class T>
WireWriter onnx_tensor(std::string_view name, onnx::ElementType type, std::span<const std::int64_t> dims,
                       std::span<const T> values) {
  return onnx_tensor(name, type, dims,
                     std::string_view(reinterpret_cast<const char*>(values.data()), values.size_bytes()));
}

class OnnxGraph {
 public:
  struct Attribute {
    std::string name;
    WireWriter value;
  };
  static Attribute integer(std::string name, std::int64_t v) {
    return {std::move(name), WireWriter().integer(3, v).integer(20, 2)};
  }
  static Attribute number(std::string name, float v) {
    return {std::move(name), WireWriter().number(2, v).integer(20, 1)};
  }
  static Attribute text(std::string name, std::string_view v) {
    return {std::move(name), WireWriter().text(4, v).integer(20, 3)};
  }
  static Attribute integers(std::string name, std::initializer_list<std::int64_t> v) {
    WireWriter w;
    for (const std::int64_t i : v) w.integer(8, i);
    return {std::move(name), w.integer(20, 7)};
  }
  static Attribute graph(std::string name, const OnnxGraph& g) {
    return {std::move(name), WireWriter().message(6, g.graph_).integer(20, 5)};
  }
  static Attribute tensor(std::string name, const WireWriter& t) {
    return {std::move(name), WireWriter().message(5, t).integer(20, 4)};
  }

  // A size below 0 has the name "n", "m", … of -1, -2, ….
  OnnxGraph& input(std::string_view name, onnx::ElementType type, std::initializer_list<std::int64_t> dims) {
    return port(11, name, type, dims);
  }
  OnnxGraph& output(std::string_view name, onnx::ElementType type, std::initializer_list<std::int64_t> dims) {
    return port(12, name, type, dims);
  }
  OnnxGraph& initializer(const WireWriter& tensor) {
    graph_.message(5, tensor);
    return *this;
  }
  OnnxGraph& sparse_initializer(const WireWriter& tensor) {
    graph_.message(15, tensor);
    return *this;
  }
  OnnxGraph& node(std::string_view op, std::initializer_list<std::string_view> inputs,
                  std::initializer_list<std::string_view> outputs, std::initializer_list<Attribute> attributes = {},
                  std::string_view domain = {}) {
    WireWriter w;
    for (const auto& i : inputs) w.text(1, i);
    for (const auto& o : outputs) w.text(2, o);
    w.text(4, op).text(7, domain);
    for (const Attribute& a : attributes) w.text(5, WireWriter().text(1, a.name).bytes() + a.value.bytes());
    graph_.message(1, w);
    return *this;
  }
  const WireWriter& wire() const { return graph_; }

 private:
  OnnxGraph& port(int field, std::string_view name, onnx::ElementType type, std::initializer_list<std::int64_t> dims) {
    WireWriter shape;
    for (const std::int64_t d : dims) {
      if (d < 0)
        shape.message(1, WireWriter().text(2, std::string(1, static_cast<char>('n' - 1 - d))));
      else
        shape.message(1, WireWriter().integer(1, d));
    }
    const WireWriter tensor = WireWriter().integer(1, static_cast<std::int64_t>(type)).message(2, shape);
    graph_.message(field, WireWriter().text(1, name).message(2, WireWriter().message(1, tensor)));
    return *this;
  }
  WireWriter graph_;
};

// The file of a model of that graph.
inline std::string onnx_model(const OnnxGraph& graph, std::int64_t opset = 21, const WireWriter& more = {}) {
  return WireWriter()
             .integer(1, 10)
             .message(8, WireWriter().text(1, "").integer(2, opset))
             .message(7, graph.wire())
             .bytes() +
         more.bytes();
}

}  // namespace weft::test
