// Runs graphs on every available device and compares their results.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "graph/graph.h"
#include "support/devices.h"
#include "weft/compile.h"

namespace weft::test {

inline std::vector<std::string> all_devices() {
  std::vector<std::string> names{"cpu"};
  for (const std::string& n : device_names()) names.push_back(n);
  return names;
}

inline Device device_named(const std::string& name) {
  return name == "cpu" ? Device::cpu() : Device(test::device(name));
}

inline TensorData numbers(const Shape& shape, float first = 0, float step = 1) {
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = first + step * static_cast<float>(i);
  return TensorData::of<float>(DType::f32, shape, values);
}

inline TensorData noise(const Shape& shape, unsigned seed, float scale = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> d(-scale, scale);
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  for (float& v : values) v = d(random);
  return TensorData::of<float>(DType::f32, shape, values);
}

inline std::span<const float> floats_of(const TensorData& d) {
  return {reinterpret_cast<const float*>(d.bytes.data()), d.bytes.size() / sizeof(float)};
}

// Inputs and outputs of a graph on a device. Tensors start `shift` bytes into their buffers; outputs are poisoned.
struct Bound {
  Bound(const Device& device, const Graph& graph, const std::map<std::string, TensorData>& data,
        std::uint64_t shift = 0)
      : device_(device), shift_(shift) {
    for (const auto& [name, d] : data) {
      inputs_.emplace_back(name, tensor(d.dtype, d.shape));
      inputs_.back().second.write(d.bytes);
    }
    for (const GraphPort& o : graph.impl().outputs) {
      outputs_.emplace_back(o.name, tensor(o.value.dtype(), o.value.shape()));
      const std::uint64_t bytes =
          byte_size(o.value.dtype(), static_cast<std::uint64_t>(element_count(o.value.shape())));
      outputs_.back().second.write(std::vector<std::byte>(bytes, std::byte{0xff}));
    }
  }
  Tensor tensor(DType dtype, const Shape& shape) const {
    if (shift_ == 0) return {device_, dtype, shape};
    const std::uint64_t bytes = byte_size(dtype, static_cast<std::uint64_t>(element_count(shape)));
    return {device_, View(device_.allocate(shift_ + bytes + 16), shift_, dtype, shape)};
  }
  static std::vector<NamedTensor> named(const std::vector<std::pair<std::string, Tensor>>& list) {
    std::vector<NamedTensor> result;
    for (const auto& [name, t] : list) result.push_back({name, t});
    return result;
  }
  void run(Executable& exe) const {
    const auto in = named(inputs_);
    const auto out = named(outputs_);
    exe.run(in, out);
  }
  void compare(const std::map<std::string, TensorData>& expected, const std::string& what,
               float tolerance = 2e-5f) const {
    for (const auto& [name, t] : outputs_) {
      const auto got = t.read<float>();
      const auto want = floats_of(expected.at(name));
      ASSERT_EQ(got.size(), want.size());
      float largest = 1;
      for (const float w : want) largest = std::max(largest, std::abs(w));
      for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_NEAR(got[i], want[i], tolerance * largest)
            << what << ": output " << name << " [" << i << "] of " << got.size();
      }
    }
  }

  Device device_;
  std::uint64_t shift_;
  std::vector<std::pair<std::string, Tensor>> inputs_, outputs_;
};

}  // namespace weft::test
