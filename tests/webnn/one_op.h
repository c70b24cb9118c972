// WebNN's operations one at a time: a graph of a single one is built on a device, dispatched and read.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "compiler/bound.h"
#include "support/kernel_test.h"
#include "support/quick.h"
#include "weft/small_float.h"
#include "weft/webnn.h"

namespace weft::test {

// Numbers keep all digits of 64-bit integers.
struct WebnnArray {
  DType type = DType::f32;
  webnn::Sizes shape;
  std::vector<Number> values;
};
using WebnnOperands = std::vector<std::pair<std::string, WebnnArray>>;  // by the names of their arguments

inline Number number_of(DType type, std::uint64_t bits) {
  if (type == DType::f16) return Number(static_cast<float>(float16::from_bits(static_cast<std::uint16_t>(bits))));
  if (type == DType::f32) return Number(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  const int unused = 64 - weft::bits(type);
  return is_signed(type) ? Number(static_cast<std::int64_t>(bits << unused) >> unused) : Number(bits);
}

inline View host_view(DType type, const webnn::Sizes& shape) {
  const Shape dims{std::span<const std::int64_t>(shape)};
  return {Buffer::host(byte_size(type, static_cast<std::uint64_t>(element_count(dims)))), 0, type, dims};
}

class OneOp {
 public:
  explicit OneOp(const Device& device) : context_(webnn::Context::create(device)) {}

  // Operands are inputs of the graph, or its constants.
  std::vector<WebnnArray> operator()(const std::string& op, const WebnnOperands& operands,
                                     webnn::Arguments arguments = {}, bool constants = false) {
    webnn::GraphBuilder builder(context_);
    webnn::NamedTensors inputs, outputs;
    for (const auto& [name, array] : operands) {
      const View host = host_view(array.type, array.shape);
      for (std::size_t i = 0; i < array.values.size(); ++i) {
        set_element_bits(host, static_cast<std::int64_t>(i), array.values[i].bits(array.type));
      }
      const std::span<const std::byte> bytes(host.buffer.data(),
                                             static_cast<std::size_t>(byte_size(array.type, array.values.size())));
      if (constants) {
        arguments.emplace_back(name, builder.constant({array.type, array.shape}, bytes));
        continue;
      }
      arguments.emplace_back(name, builder.input(name, {array.type, array.shape}));
      inputs.emplace_back(name,
                          context_.create_tensor({.data_type = array.type, .shape = array.shape, .writable = true}));
      context_.write_tensor(inputs.back().second, bytes);
    }
    const std::vector<webnn::Operand> results = builder.call(op, arguments);
    webnn::NamedOperands named;
    for (std::size_t i = 0; i < results.size(); ++i) {
      named.emplace_back("output" + std::to_string(i), results[i]);
      outputs.emplace_back(
          named.back().first,
          context_.create_tensor({.data_type = results[i].data_type(), .shape = results[i].shape(), .readable = true}));
    }
    const webnn::Graph graph = builder.build(named, {.constant_folding = !constants, .precision = Precision::strict});
    dispatches = graph.report().dispatches.size();
    context_.dispatch(graph, inputs, outputs);
    std::vector<WebnnArray> read;
    for (auto& [name, tensor] : outputs) {
      WebnnArray array{tensor.data_type(), tensor.shape(), {}};
      const View host = host_view(array.type, array.shape);
      context_.read_tensor(tensor, {host.buffer.data(), static_cast<std::size_t>(tensor.byte_length())}).get();
      for (std::int64_t i = 0; i < host.count(); ++i)
        array.values.push_back(number_of(array.type, element_bits(host, i)));
      read.push_back(std::move(array));
    }
    return read;
  }

  std::size_t dispatches = 0;  // of the last graph

 private:
  webnn::Context context_;
};

// Integers are equal; floats differ by that much at most, relative to the expected one if that is above 1.
inline void expect_array(const WebnnArray& got, const WebnnArray& expected, double tolerance) {
  EXPECT_EQ(webnn::data_type_name(got.type), webnn::data_type_name(expected.type));
  EXPECT_EQ(got.shape, expected.shape);
  ASSERT_EQ(got.values.size(), expected.values.size());
  for (std::size_t i = 0; i < got.values.size(); ++i) {
    if (!is_floating(expected.type)) {
      EXPECT_EQ(got.values[i].bits(got.type), expected.values[i].bits(expected.type))
          << "element " << i << ": " << to_string(got.values[i]) << ", expected " << to_string(expected.values[i]);
      continue;
    }
    const double x = got.values[i].value(), y = expected.values[i].value();
    const bool same =
        x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= tolerance * std::max(1.0, std::abs(y));
    EXPECT_TRUE(same) << "element " << i << ": " << x << ", expected " << y;
  }
}

struct WebnnCase {
  std::string op;
  WebnnOperands operands;
  webnn::Arguments arguments = {};
  WebnnArray expected = {};
  double tolerance = 2e-6;
};

class WebnnOps : public testing::TestWithParam<std::string> {
 protected:
  void check(const WebnnCase& c) {
    if (leave_out_problem()) return;
    SCOPED_TRACE(c.op + " of " + (c.operands.empty() ? "nothing" : std::string(name(c.operands[0].second.type))));
    const std::vector<WebnnArray> results = run(c.op, c.operands, c.arguments);
    ASSERT_EQ(results.size(), 1u);
    expect_array(results[0], c.expected, c.tolerance);
  }
  OneOp run{device_named(GetParam())};
};

// A call that is refused, and what the message says behind "op: ".
struct WebnnRefusal {
  std::string op;
  std::vector<std::pair<std::string, webnn::OperandDescriptor>> operands;
  webnn::Arguments arguments;
  std::string message;
};

inline void expect_refused(const WebnnRefusal& c) {
  SCOPED_TRACE(c.op + ": " + c.message);
  webnn::GraphBuilder builder(webnn::Context::create(Device::cpu()));
  webnn::Arguments arguments = c.arguments;
  for (const auto& [name, descriptor] : c.operands) arguments.emplace_back(name, builder.input(name, descriptor));
  arguments.emplace_back("label", std::string("here"));
  try {
    builder.call(c.op, arguments);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const webnn::TypeError& e) {
    EXPECT_EQ(e.what(), c.op + " [here]: " + c.message);
  }
}

}  // namespace weft::test
